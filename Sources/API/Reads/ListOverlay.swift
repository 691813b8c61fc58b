import CacheCore
import HTTPModel

/// Lays pending edits over a list that is read as a resource (design 3, "Collections").
struct ListOverlay: Sendable {
    let context: ServiceContext
    let request: ResourceRequest

    /// A list with edits laid over, and how the edits stand.
    struct Changes: Sendable {
        var changes = ListChanges()
        /// `Sync-State`: the first stopped edit's, else the last one's.
        var syncState = "synced"

        fileprivate mutating func note(_ edit: LocalEdit) {
            let isStopped = [OperationState.conflict, .failed].contains { $0.rawValue == syncState }
            if !isStopped { syncState = edit.syncState }
        }
    }

    private var partition: PartitionID { request.key.partition }

    /// Whether anything is pending that a list may have to show.
    var isNeeded: Bool {
        request.route == .resources && !request.persistentState && request.isProven
            && context.queue.counts.unfinished > 0
    }

    /// Whether something is pending that shows in this target, if it is a list.
    var isConcerned: Bool {
        guard isNeeded else { return false }
        let path = request.target.path
        return context.queue.hasEdits(ofMembersAt: path, of: partition)
            || !context.queue.pendingCreates(in: request.key).isEmpty
    }

    /// Whether something pending may show in a body that begins so.
    func isConcerned(start: some Collection<UInt8>) -> Bool {
        guard isNeeded else { return false }
        switch ListSign(ofStart: start) {
        case .parallel: return context.queue.hasEdits(of: partition)
        case .array: return isConcerned
        case .none: return request.settings.collection(for: request.target) != nil && isConcerned
        }
    }

    /// Whether the origin is to send the bytes without a coding: they are to be read here.
    var wantsPlainBytes: Bool { request.settings.collection(for: request.target) != nil || isConcerned }

    /// The copies that may stand for the target: where something pending may show, those whose bytes can be read.
    func usable(_ copies: [ServerCopy]) -> [ServerCopy] {
        guard copies.contains(where: { ListBytes.areCoded($0.fields) }), isConcerned else { return copies }
        return copies.filter { !ListBytes.areCoded($0.fields) }
    }

    /// What is answered in place of a list; nil where nothing pending shows in it, or it is no list.
    func composed(_ list: Representation) async throws -> Representation? {
        guard isNeeded, list.status == 200, ListBytes.areReadable(list.fields),
            isConcerned(start: try await context.store.start(of: list.content, length: ListSign.length))
        else { return nil }
        guard list.content.length <= request.settings.maxJSONSize else { throw Self.tooLarge }
        return try await composed(
            try await context.store.bytes(of: list.content, limit: request.settings.maxJSONSize), fields: list.fields)
    }

    /// The same for bytes in memory. Long lists are put together elsewhere than on the connection's thread.
    func composed(_ bytes: [UInt8], fields: HTTPFields) async throws -> Representation? {
        guard bytes.count > 64 << 10 else { return try await compose(bytes, fields: fields) }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            try await compose(bytes, fields: fields)
        }
    }

    private func compose(_ bytes: [UInt8], fields: HTTPFields) async throws -> Representation? {
        guard
            let list = ListDocument(
                bytes, at: request.target, rule: request.settings.collectionRule(for: request.target),
                originBase: context.origin.base)
        else { return nil }
        let overlay = try await changes(in: list)
        guard !overlay.changes.isEmpty else { return nil }
        let text = list.text(with: overlay.changes)
        return Representation(
            list: Content(digest: context.digest(text), length: Int64(text.count), inline: text), fields: fields,
            syncState: overlay.syncState)
    }

    /// The edits of the list's members, and the creates that are on their way into it.
    func changes(in list: ListDocument) async throws -> Changes {
        var result = Changes()
        guard context.queue.hasEdits(of: partition) else { return result }
        for member in list.members {
            guard let target = member.target, case let key = EntryKey(partition: partition, target: target),
                let edit = context.queue.localEdit(of: key)
            else { continue }
            result.note(edit)
            guard let content = edit.content else {
                result.changes.members[target] = .removed
                continue
            }
            result.changes.members[target] = .replaced(representation: try await bytes(of: content), tag: edit.tag)
        }
        for create in context.queue.pendingCreates(in: request.key) {
            guard let edit = context.queue.localEdit(of: create.lane), let content = edit.content else { continue }
            result.note(edit)
            result.changes.additions.append(
                ListChanges.Addition(
                    target: create.lane.target, representation: try await bytes(of: content), tag: edit.tag))
        }
        return result
    }

    private func bytes(of content: Content) async throws -> [UInt8] {
        do {
            return try await context.store.bytes(of: content, limit: request.settings.maxJSONSize)
        } catch StoreError.tooLarge {
            throw Self.tooLarge
        }
    }

    /// A list too large to be read must not hide what is pending.
    static let tooLarge = Problem(
        .tooLarge, "The list is larger than maxJSONSize. Raise it, or read the list's stored bytes under /files.")
}

/// Bodies that may be read as lists.
enum ListBytes {
    /// Whether they are JSON without a coding, by the fields.
    static func areReadable(_ fields: HTTPFields) -> Bool {
        !areCoded(fields) && fields["Content-Type"].flatMap { MediaType($0) }?.isJSON ?? false
    }

    /// Whether they have a content coding, such as gzip.
    static func areCoded(_ fields: HTTPFields) -> Bool {
        fields["Content-Encoding"].map { !$0.equalsIgnoringASCIICase("identity") } ?? false
    }
}

extension QueueCounts {
    fileprivate var unfinished: Int { pending + sending + unknown + failed + conflict }
}

extension Representation {
    /// A list with edits laid over: as an edit, with a tag of its own and without dates.
    init(list content: Content, fields: HTTPFields, syncState: String) {
        let tag = "\"hf-" + content.digest.hex.prefix(32) + "\""
        status = 200
        self.fields = fields
        self.fields.removeAll { Self.ofOtherBytes.contains($0.name.asciiLowercased) }
        self.fields["ETag"] = tag
        self.fields["Cache-Control"] = "no-cache"
        self.content = content
        etag = tag
        self.syncState = syncState
    }

    /// Fields that speak of the bytes or the age of the list as the origin sent it.
    private static let ofOtherBytes: Set<String> = [
        "age", "content-digest", "content-length", "content-md5", "digest", "expires", "last-modified", "repr-digest",
    ]
}
