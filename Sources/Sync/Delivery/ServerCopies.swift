package import CacheCore
import HTTPModel

/// What delivery leaves in the cache (design 4, "What replaces the server copy").
package enum ServerCopies {
    /// The copy that a look brought, in place of all variants.
    package static func seen(_ sighting: Sighting, as key: EntryKey, policy: Policy, epoch: Int64) -> [StoreChange] {
        var fields = sighting.fields
        HopByHop.remove(from: &fields)
        fields.remove("Set-Cookie")
        let control = CacheControl(response: fields)
        if policy.noCache || (control.noStore && policy.respectNoStore) { return [.expire(key)] }
        let vary = (fields.combined("Vary").map { FieldList.split($0) } ?? []).map { $0.asciiLowercased }
        let selecting =
            vary.contains("*")
            ? [HTTPField("*", "")]
            : vary.map { HTTPField($0, sighting.requestFields.combined($0) ?? "") }
        let copy = ServerCopy(
            status: sighting.status, fields: fields, content: sighting.content, requestTime: sighting.requestTime,
            responseTime: sighting.responseTime, selecting: selecting, epoch: epoch)
        return [.expire(key), .putCopy(key, copy)]
    }

    /// The lists that may show the operation's target.
    package static func lists(of operation: Operation) -> [StoreChange] {
        if operation.kind == .create || operation.kind == .action {
            return [.expirePath(operation.partition, path: String(operation.target.path))]
        }
        let path = operation.target.path
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return [] }
        return [.expirePath(operation.partition, path: String(path[..<slash]))]
    }
}

extension ServerCopies {
    /// What a write left is fresh only where the origin said so.
    package static func explicitly(_ change: StoreChange) -> StoreChange {
        guard case .putCopy(let key, var copy) = change else { return change }
        copy.explicitFreshnessOnly = true
        return .putCopy(key, copy)
    }
}
