package import HTTPModel

/// How copies are validated, refreshed and stored (RFC 9111 3.1, 3.2, 4.3).
package enum Validation {
    /// The precondition that asks the origin whether one of the copies is still right for the request: If-None-Match with the
    /// tags of all variants, and If-Modified-Since with the Last-Modified of the one that the request selects, byte for byte.
    /// A date speaks for no other variant, and where the selected one has nothing else the tags of the others would hide it.
    package static func conditionalFields(for copies: [ServerCopy], request: HTTPFields) -> HTTPFields {
        let usable = askable(copies)
        let selected = Selecting.choose(usable, request: request)
        let hasDateAlone = selected?.lastModified != nil && selected?.fields.etag == nil
        let tags = hasDateAlone ? [] : tags(of: usable)
        var fields = HTTPFields()
        if !tags.isEmpty { fields["If-None-Match"] = tags.map(\.text).joined(separator: ", ") }
        if let modified = selected?.lastModified { fields["If-Modified-Since"] = modified }
        return fields
    }

    /// The copy that a 304 to the request speaks of (RFC 9111 4.3.4): by a tag the one that has it, a strong match before a
    /// weak one; by Last-Modified the selected one that has it; without a validator the selected one, where no other was asked
    /// about. nil: none can be told.
    package static func confirmed(_ copies: [ServerCopy], by fields: HTTPFields, request: HTTPFields) -> ServerCopy? {
        let usable = askable(copies)
        let selected = usable.filter { Selecting.matches($0, request: request) }
        if let tag = fields.etag {
            // A server that compresses may weaken the tag of a whole answer and send the strong one in its 304.
            return usable.first { $0.fields.etag?.strongMatches(tag) ?? false }
                ?? (selected + usable).first { $0.fields.etag?.weakMatches(tag) ?? false }
        }
        if let modified = fields["Last-Modified"] {
            return selected.first { $0.lastModified?.hasSameBytes(as: modified) ?? false }
        }
        guard tags(of: usable).count <= 1 || selected.first?.fields.etag == nil else { return nil }
        return selected.first ?? (usable.count == 1 ? usable[0] : nil)
    }

    /// Copies that the origin may be asked about. Invalidated ones are not: after a change that may have happened within the
    /// second or behind a weak tag, only the bytes tell (design 4).
    private static func askable(_ copies: [ServerCopy]) -> [ServerCopy] {
        copies.filter { !$0.isExpired && !$0.isGone }
    }

    private static func tags(of copies: [ServerCopy]) -> [ETag] {
        var tags: [ETag] = []
        for tag in copies.compactMap(\.fields.etag) where !tags.contains(tag) { tags.append(tag) }
        return tags
    }

    /// The copy after the origin confirmed it with these fields (of a 304, or of a HEAD answer that agrees): each field of the
    /// answer replaces the stored ones of its name, but for those that the stored bytes depend on (RFC 9111 3.2). It is no
    /// longer expired, listed or without heuristics. Where the origin chose it for a request that did not select it, or changed
    /// its Vary, it is from now on for requests like this one (`request` nil: that stays).
    package static func refreshed(
        _ copy: ServerCopy, by fields: HTTPFields, request: HTTPFields?, requestTime: Double, responseTime: Double,
        epoch: Int64, isShared: Bool = false, targetedFields: [String] = []
    ) -> ServerCopy {
        var copy = copy
        var update = stripped(fields, isShared: isShared, targetedFields: targetedFields)
        // A tag that matched weakly does not prove the stored bytes.
        update.removeAll { field in
            boundToBytes.contains(field.name.asciiLowercased)
                || copy.etag != nil && field.name.equalsIgnoringASCIICase("ETag")
        }
        // They told of the answer before.
        copy.fields.remove("Age")
        copy.fields.remove("Date")
        let vary = Selecting.names(vary: copy.fields.values("Vary"))
        for name in Set(update.map { $0.name.asciiLowercased }) { copy.fields.remove(name) }
        copy.fields.append(contentsOf: update)
        // The directives that hold now may be the stored ones, and name fields that came with this answer.
        copy.fields = stripped(copy.fields, isShared: isShared, targetedFields: targetedFields)
        if !copy.fields.contains("Date") { copy.fields["Date"] = HTTPDate(responseTime).text }
        if let request,
            Selecting.names(vary: copy.fields.values("Vary")) != vary || !Selecting.matches(copy, request: request)
        {
            copy.selecting = Selecting.fields(vary: copy.fields.values("Vary"), request: request)
        }
        copy.requestTime = requestTime
        copy.responseTime = responseTime
        copy.isExpired = false
        copy.isListed = false
        copy.explicitFreshnessOnly = false
        copy.epoch = epoch
        return copy
    }

    /// The fields of a 304 that are for the one who asked alone: what the copy refreshed by it may not keep, Set-Cookie above all.
    package static func unstored(_ fields: HTTPFields, in copy: ServerCopy) -> HTTPFields {
        var own = fields
        HopByHop.remove(from: &own)
        own.removeAll { field in
            let name = field.name.asciiLowercased
            return copy.fields.contains(name) || boundToBytes.contains(name) || name == "content-length"
        }
        return own
    }

    /// The copies that an answer of 200 to HEAD says something of (RFC 9111 4.3.5): of those that the request selects, the ones
    /// whose validators and length agree are refreshed, and others expired.
    package static func judged(
        _ copies: [ServerCopy], byHead fields: HTTPFields, request: HTTPFields, requestTime: Double,
        responseTime: Double, epoch: Int64, isShared: Bool, targetedFields: [String]
    ) -> [ServerCopy] {
        let length = fields["Content-Length"].flatMap { Int64($0) }
        return copies.filter { Selecting.matches($0, request: request) }.map { copy in
            let agrees =
                !copy.isExpired && !copy.isGone && (length == nil || length == copy.content.length)
                && fields.etag.map { copy.fields.etag?.weakMatches($0) ?? false } ?? true
                && fields["Last-Modified"].map { copy.lastModified?.hasSameBytes(as: $0) ?? false } ?? true
            guard !agrees else {
                return refreshed(
                    copy, by: fields, request: request, requestTime: requestTime, responseTime: responseTime,
                    epoch: epoch, isShared: isShared, targetedFields: targetedFields)
            }
            var copy = copy
            copy.isExpired = true
            return copy
        }
    }

    /// What is stored of an answer's fields (RFC 9111 3.1): no hop-by-hop or proxy fields, no Set-Cookie, no Content-Length
    /// and Content-Range (content and parts have them), and not the fields that `no-cache="…"` names, which only a validated answer may show.
    /// In a shared partition not those of `private="…"` either.
    package static func stripped(
        _ fields: HTTPFields, isShared: Bool = false, targetedFields: [String] = []
    ) -> HTTPFields {
        let control = Directives(of: fields, targetedFields: targetedFields).control
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
        "set-cookie", "set-cookie2", "content-length", "content-range", "proxy-authenticate", "proxy-authorization",
        "proxy-authentication-info",
    ]

    /// Fields that a 304 can't change: what the stored bytes are read by or proven with.
    private static let boundToBytes: Set<String> = [
        "content-encoding", "content-range", "content-digest", "repr-digest", "digest",
    ]
}
