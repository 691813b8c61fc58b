package import HTTPModel

/// What a delivered write does to server copies (design 4, "What replaces the server copy"; RFC 9111 4.4).
package enum WriteEffects {
    /// The changes for one commit, in order.
    ///
    /// `answerBody` nil: the answer had none. `answerShowsEdit`: whether its body has what the edit set (`EditTrace`).
    /// `sentBody`: the bytes as they were sent; nil where they had a Content-Encoding.
    /// `entry`: what is stored of the key. `sentFields`: the request's, for the selecting fields of what is stored. An answer
    /// that is an error changes nothing, but for 404 and 410, which show that the target is gone.
    package static func changes(
        key: EntryKey, method: HTTPMethod, status: Int, answerFields: HTTPFields, answerBody: Content?,
        answerBodyIsComplete: Bool, answerShowsEdit: Bool = false, sentBody: Content?, sentType: String?,
        entry: Entry?, originBase: String, requestTime: Double, responseTime: Double, epoch: Int64,
        policy: Policy = Policy(), sentFields: HTTPFields = HTTPFields(), targetedFields: [String] = []
    ) -> [StoreChange] {
        guard !method.isSafe else { return [] }
        let isGone = (status == 404 || status == 410) && (method == .put || method == .patch || method == .delete)
        guard (200...399).contains(status) || isGone && entry != nil else { return [] }

        var changes = expiry(of: key, method: method)
        changes += linked(in: answerFields, key: key, originBase: originBase).map { .expire($0) }
        guard !policy.noCache else { return changes }

        let isShared = key.partition == .none
        let directives = Directives(of: answerFields, targetedFields: targetedFields)
        let isForbidden =
            policy.respectNoStore && directives.forbidsStoring(status: status)
            || policy.fetchPolicy == .httpCache && isShared && directives.control.isPrivate
        let answer = Answer(
            status: status, fields: answerFields, body: answerBodyIsComplete ? answerBody : nil,
            showsEdit: answerShowsEdit, isEmpty: answerBody.map { answerBodyIsComplete && $0.length == 0 } ?? true)
        var copy: ServerCopy?
        if isGone || method == .delete && (200...299).contains(status) && status != 202 {
            copy = .gone(status: status == 410 ? 410 : 404, at: responseTime, epoch: epoch)
        } else if !isForbidden,
            let (fields, content) = representation(
                after: answer, method: method, key: key, sentBody: sentBody, sentType: sentType, entry: entry,
                originBase: originBase),
            let selecting = selecting(of: fields, sentFields: sentFields)
        {
            copy = ServerCopy(
                status: 200,
                fields: Validation.stripped(fields, isShared: isShared, targetedFields: targetedFields),
                content: content, requestTime: requestTime, responseTime: responseTime,
                selecting: selecting, explicitFreshnessOnly: true, epoch: epoch)
        } else if method == .put || method == .patch {
            copy = outdated(
                entry?.copies ?? [], status: status, sent: isForbidden || method != .put ? nil : sentBody,
                type: sentType, requestTime: requestTime, responseTime: responseTime)
        }
        if let copy { changes.append(.putCopy(key, copy)) }
        return changes
    }

    /// What an edit is based on from now on where the origin took it (2xx but for 202) and proved no bytes: the copy that the next
    /// edit would start from, expired and without validators, which are of the version before. An edit from that one would be
    /// refused for what was written here. `sent`: the target's whole as written, nil where it is not known or not to be kept;
    /// `coding`: its Content-Encoding. nil where no copy is known.
    package static func outdated(
        _ copies: [ServerCopy], status: Int, sent: Content?, type: String?, coding: String? = nil,
        requestTime: Double, responseTime: Double
    ) -> ServerCopy? {
        guard (200...299).contains(status), status != 202,
            var copy = copies.first(where: { !$0.fields.contains("Content-Encoding") }) ?? copies.first,
            (200...299).contains(copy.status)
        else { return nil }
        let ofBytes = ["content-", "repr-digest", "digest"]
        copy.fields.removeAll { field in
            let name = field.name.asciiLowercased
            return ["etag", "last-modified", "age", "date"].contains(name)
                || sent != nil && ofBytes.contains { name.utf8.starts(with: $0.utf8) }
        }
        copy.fields["Date"] = HTTPDate(responseTime).text
        if let sent {
            copy.content = sent
            if let type { copy.fields["Content-Type"] = type }
            if let coding { copy.fields["Content-Encoding"] = coding }
        }
        copy.requestTime = requestTime
        copy.responseTime = responseTime
        copy.isExpired = true
        copy.explicitFreshnessOnly = true
        return copy
    }

    private struct Answer {
        var status: Int
        var fields: HTTPFields
        /// Only where it is complete.
        var body: Content?
        var showsEdit: Bool
        var isEmpty: Bool
    }

    /// The target itself and its lists, in the partition and among what belongs to nobody.
    private static func expiry(of key: EntryKey, method: HTTPMethod) -> [StoreChange] {
        partitions(of: key).map { .expire(EntryKey(partition: $0, target: key.target)) } + lists(of: key, method)
    }

    /// The lists that may show what a write changed, whatever their query: the target's own path after a POST or with a query,
    /// else the collection that holds it. In the partition and among what belongs to nobody.
    package static func lists(of key: EntryKey, _ method: HTTPMethod) -> [StoreChange] {
        let target = key.target
        let own = method == .post || target.query != nil ? String(target.path) : nil
        let parent = method == .post ? nil : target.parentPath.map { String($0) }
        var changes: [StoreChange] = []
        for partition in partitions(of: key) {
            if let own { changes.append(.expirePath(partition, path: own)) }
            if let parent { changes.append(.expirePath(partition, path: parent)) }
        }
        return changes
    }

    /// The key's own, and that of what belongs to nobody.
    private static func partitions(of key: EntryKey) -> [PartitionID] {
        key.partition == .none ? [.none] : [key.partition, .none]
    }

    /// The targets under the origin that Location and Content-Location name, but for the key's own.
    private static func linked(in fields: HTTPFields, key: EntryKey, originBase: String) -> [EntryKey] {
        ["Location", "Content-Location"].compactMap { name in
            target(in: fields, name, at: key.target, originBase: originBase)
        }.filter { $0 != key.target }.flatMap { target in
            partitions(of: key).map { EntryKey(partition: $0, target: target) }
        }
    }

    /// The target that a field names; nil where it is absent or lies elsewhere.
    private static func target(
        in fields: HTTPFields, _ name: String, at target: Target, originBase: String
    ) -> Target? {
        guard let reference = fields[name], !reference.isEmpty else { return nil }
        return target.resolving(reference, under: originBase)
    }

    /// What the target's representation is now, where the answer proves it: its fields and bytes.
    private static func representation(
        after answer: Answer, method: HTTPMethod, key: EntryKey, sentBody: Content?, sentType: String?, entry: Entry?,
        originBase: String
    ) -> (HTTPFields, Content)? {
        guard (200...299).contains(answer.status), answer.status != 202, answer.status != 206 else { return nil }
        let isWhole = answer.status == 200 || answer.status == 201
        if isWhole, let body = answer.body, !answer.isEmpty {
            let location = target(in: answer.fields, "Content-Location", at: key.target, originBase: originBase)
            let type = answer.fields["Content-Type"].flatMap { MediaType($0)?.essence }
            let known = entry?.copies.first { !$0.isGone }?.fields["Content-Type"] ?? sentType
            let isItsOwn =
                method != .post && location == nil && answer.fields.etag != nil && answer.showsEdit
                && type != nil && known.flatMap { MediaType($0)?.essence } == type
            if location == key.target || isItsOwn {
                var fields = answer.fields
                fields.remove("Location")
                return (fields, body)
            }
        }
        // An answer to PUT may have a strong tag only where the bytes were kept as they are (RFC 9110 9.3.4).
        if method == .put, answer.isEmpty, answer.fields.etag?.isStrong == true, let sentBody {
            var fields = answer.fields
            fields.removeAll { field in
                field.name.equalsIgnoringASCIICase("Location")
                    || field.name.asciiLowercased.hasPrefix("content-")
            }
            if let sentType { fields["Content-Type"] = sentType }
            return (fields, sentBody)
        }
        return nil
    }

    /// nil where it can't be told which requests the copy is for.
    private static func selecting(of fields: HTTPFields, sentFields: HTTPFields) -> [HTTPField]? {
        let selecting = Selecting.fields(vary: fields.values("Vary"), request: sentFields)
        guard !selecting.contains(where: { $0.name == "*" }) else { return nil }
        // Bytes without a coding are right for every Accept-Encoding.
        let isPlain = fields["Content-Encoding"].map { $0.equalsIgnoringASCIICase("identity") } ?? true
        return isPlain ? selecting.filter { $0.name != "accept-encoding" } : selecting
    }
}
