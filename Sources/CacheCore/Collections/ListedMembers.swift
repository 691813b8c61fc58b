package import HTTPModel

/// What a fresh list tells of members (design 3, "Collections").
package enum ListedMembers {
    /// Whether the answer is the whole of the collection: its target has no query, and no link leads to a next page.
    package static func isWhole(_ target: Target, fields: HTTPFields, urlFields: [String]) -> Bool {
        target.query == nil && LinkField.next(in: fields) == nil
            && !urlFields.contains { fields[$0].map { !$0.isEmpty } ?? false }
    }

    /// The page behind that one. nil: it is the last. Some nil: the next one is named and does not lie under the origin.
    package static func nextPage(
        after target: Target, fields: HTTPFields, urlFields: [String], originBase: String
    ) -> Target?? {
        var reference = LinkField.next(in: fields)
        for name in urlFields where reference == nil { reference = fields[name] }
        guard let reference, !reference.isEmpty else { return .none }
        return .some(target.resolving(reference, under: originBase))
    }

    /// The copy of a member that its list gives: as old as the list, never fresh, and with a validator only where the list
    /// gave one.
    package static func copy(
        _ member: ListMember, content: Content, from list: ServerCopy
    ) -> ServerCopy {
        var fields: HTTPFields = ["Content-Type": list.fields["Content-Type"] ?? "application/json"]
        fields["Date"] = list.fields["Date"]
        fields["ETag"] = member.etag
        return ServerCopy(
            status: 200, fields: fields, content: content, requestTime: list.requestTime,
            responseTime: list.responseTime, isListed: true, epoch: list.epoch)
    }
}

extension Entry {
    /// Takes in a copy from a list; false where nothing changes by it. It never takes the place of a copy of the entry's own,
    /// but shows by another tag that this one is out of date; and what was gone before the list was sent is there again.
    package mutating func take(listed copy: ServerCopy) -> Bool {
        let own = copies.filter { !$0.isListed }
        let isOlder = copies.contains { $0.responseTime > copy.responseTime }
        guard !isOlder else { return false }
        if own.contains(where: { !$0.isGone }) {
            guard let tag = copy.fields.etag, !own.contains(where: { $0.fields.etag?.weakMatches(tag) ?? true }),
                !own.allSatisfy(\.isExpired)
            else { return false }
            for index in copies.indices { copies[index].isExpired = true }
            return true
        }
        if own.isEmpty, let old = copies.first, old.content == copy.content, old.etag == copy.etag, !old.isExpired {
            return false
        }
        copies = [copy]
        lastSync = copy.responseTime
        return true
    }

    /// The whole list lacks the entry: it expires, or where `gone` says what it is now, is gone. False where nothing changes.
    package mutating func drop(gone: ServerCopy?) -> Bool {
        guard copies.contains(where: { !$0.isGone }) else { return false }
        if let gone {
            // A copy that came after the list was asked for may be of a member that is newer than the list.
            guard !copies.contains(where: { $0.responseTime > gone.requestTime }) else { return false }
            copies = [gone]
            lastSync = gone.responseTime
            return true
        }
        guard !copies.allSatisfy(\.isExpired) else { return false }
        for index in copies.indices { copies[index].isExpired = true }
        return true
    }
}
