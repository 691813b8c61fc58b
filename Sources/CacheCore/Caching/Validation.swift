package import HTTPModel

/// How copies are validated, refreshed and stored (RFC 9111 3.1, 3.2, 4.3).
package enum Validation {
    /// The precondition that asks the origin whether one of the copies is still right: If-None-Match with all tags, and
    /// If-Modified-Since with the newest copy's own Last-Modified, byte for byte. Copies that were invalidated take no part:
    /// after a change that may have happened within the second or behind a weak tag, only the bytes tell (design 4).
    package static func conditionalFields(for copies: [ServerCopy]) -> HTTPFields {
        let usable = copies.filter { !$0.isExpired && !$0.isGone }
        var tags: [String] = []
        for tag in usable.compactMap(\.etag) where !tag.isEmpty && !tags.contains(tag) { tags.append(tag) }
        var fields = HTTPFields()
        if !tags.isEmpty { fields["If-None-Match"] = tags.joined(separator: ", ") }
        if let modified = usable.first?.lastModified, tags.count <= 1 { fields["If-Modified-Since"] = modified }
        return fields
    }

    /// The copy that a 304 speaks of (RFC 9111 4.3.4): the one with its strong tag; else, by a weak tag or Last-Modified, the
    /// newest that has it; without any validator the only one. nil: none can be told.
    package static func confirmed(_ copies: [ServerCopy], by fields: HTTPFields) -> ServerCopy? {
        if let tag = fields.etag {
            return copies.first { copy in copy.fields.etag.map { tag.weakMatches($0) } ?? false }
        }
        if let modified = fields["Last-Modified"] { return copies.first { $0.lastModified == modified } }
        return copies.count == 1 ? copies[0] : nil
    }

    /// The copy after the origin confirmed it with these fields (of a 304, or of a HEAD answer that agrees): each field of the
    /// answer replaces the stored ones of its name, but for those that describe the bytes (RFC 9111 3.2). It is no longer
    /// expired, listed or without heuristics.
    package static func refreshed(
        _ copy: ServerCopy, by fields: HTTPFields, requestTime: Double, responseTime: Double, epoch: Int64
    ) -> ServerCopy {
        var copy = copy
        let update = stripped(fields)
        // They told of the answer before.
        copy.fields.remove("Age")
        copy.fields.remove("Date")
        for name in Set(update.map { $0.name.asciiLowercased }) where !boundToBytes.contains(name) {
            copy.fields.remove(name)
        }
        for field in update where !boundToBytes.contains(field.name.asciiLowercased) {
            copy.fields.append(field.name, field.value)
        }
        if !copy.fields.contains("Date") { copy.fields["Date"] = HTTPDate(responseTime).text }
        copy.requestTime = requestTime
        copy.responseTime = responseTime
        copy.isExpired = false
        copy.isListed = false
        copy.explicitFreshnessOnly = false
        copy.epoch = epoch
        return copy
    }

    /// What is stored of an answer's fields (RFC 9111 3.1): no hop-by-hop or proxy fields, no Set-Cookie, no Content-Length
    /// (the content has it), and not the fields that `no-cache="…"` names, which only a validated answer may show.
    /// In a shared partition not those of `private="…"` either.
    package static func stripped(_ fields: HTTPFields, isShared: Bool = false) -> HTTPFields {
        let control = CacheControl(response: fields)
        let withheld = control.noCacheFields + (isShared ? control.privateFields : [])
        var stored = fields
        HopByHop.remove(from: &stored)
        stored.removeAll { field in
            let name = field.name.asciiLowercased
            return neverStored.contains(name) || withheld.contains(name)
        }
        return stored
    }

    private static let neverStored: Set<String> = [
        "set-cookie", "set-cookie2", "content-length", "proxy-authenticate", "proxy-authorization",
        "proxy-authentication-info",
    ]

    /// Fields that a 304 can't change, since the stored bytes depend on them.
    private static let boundToBytes: Set<String> = [
        "content-encoding", "content-type", "content-range", "content-md5", "content-digest", "repr-digest", "digest",
        "etag",
    ]
}
