package import CacheCore
import HTTPModel

/// What delivery leaves in the cache (design 4, "What replaces the server copy").
package enum ServerCopies {
    /// The copy that a look brought, in place of all variants.
    package static func seen(_ sighting: Sighting, as key: EntryKey, policy: Policy, epoch: Int64) -> [StoreChange] {
        let control = CacheControl(response: sighting.fields)
        if policy.noCache || (control.noStore && policy.respectNoStore) { return [.expire(key)] }
        let copy = ServerCopy(
            status: sighting.status, fields: Validation.stripped(sighting.fields), content: sighting.content,
            requestTime: sighting.requestTime, responseTime: sighting.responseTime,
            selecting: Selecting.fields(vary: sighting.fields.values("Vary"), request: sighting.requestFields),
            epoch: epoch)
        return [.expire(key), .putCopy(key, copy)]
    }

    /// What a DELETE leaves: "gone", in place of all variants; a mere promise (202) only expires them.
    package static func gone(
        _ key: EntryKey, status: Int, policy: Policy, at time: Double, epoch: Int64
    ) -> [StoreChange] {
        guard status != 202, !policy.noCache else { return [.expire(key)] }
        return [.expire(key), .putCopy(key, .gone(at: time, epoch: epoch))]
    }

    /// The lists that may show the operation's target.
    package static func lists(of operation: Operation) -> [StoreChange] {
        WriteEffects.lists(of: EntryKey(partition: operation.partition, target: operation.target), operation.method)
    }
}

extension ServerCopies {
    /// What a write left: fresh only where the origin said so, and without the Location that was an answer to the write.
    package static func explicitly(_ change: StoreChange) -> StoreChange {
        guard case .putCopy(let key, var copy) = change else { return change }
        copy.explicitFreshnessOnly = true
        copy.fields.remove("Location")
        return .putCopy(key, copy)
    }
}
