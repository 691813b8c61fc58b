import HTTPModel

/// Judges the precondition of a queued write (design 4, "Preconditions of the client"): offline, or behind a lane, Holdfast can
/// say at once what the origin would only say later.
struct ClientPrecondition {
    enum Judgement {
        /// None was sent: the guard applies.
        case guarded
        /// It names the effective copy's `hf-` tag, and follows the lane.
        case tracksLane
        /// Goes to the origin as it is, from that base (nil: the one that the lane has).
        case explicit(Precondition, Base?)
    }

    var edit: LocalEdit?
    /// When the edit was made.
    var editedAt: Double?
    var copies: [ServerCopy]
    var now: Double
    /// The server tags of delivered edits that the precondition names, by `hf-` tag.
    var delivered: [String: String]

    /// The tags of Holdfast's own that a precondition names.
    static func ownTags(in precondition: Precondition) -> [String] {
        switch precondition {
        case .ifMatch(let value), .ifNoneMatch(let value):
            guard case .tags(let tags) = EntityTagCondition(value) else { return [] }
            return tags.map(\.text).filter(isOwn)
        default: return []
        }
    }

    static func isOwn(_ tag: String) -> Bool { tag.utf8.starts(with: "\"hf-".utf8) }

    func judge(_ precondition: Precondition) throws -> Judgement {
        switch precondition {
        case .none: return .guarded
        case .ifMatch(let value): return try judgeMatch(EntityTagCondition(value))
        case .ifNoneMatch(let value): return try judgeNoneMatch(EntityTagCondition(value))
        case .ifUnmodifiedSince(let date): return try judgeUnmodified(since: date)
        }
    }

    private func judgeMatch(_ condition: EntityTagCondition) throws -> Judgement {
        guard case .tags(let named) = condition else {
            // `*`: any representation will do, and none of ours guards it.
            if edit != nil ? edit?.content == nil : copies.first?.isGone ?? false { throw refusal }
            return .explicit(.ifMatch("*"), nil)
        }
        let tags = named.compactMap { tag in
            Self.isOwn(tag.text) && tag.text != edit?.tag ? delivered[tag.text].map { ETag($0) } : tag
        }
        if let edit {
            if edit.content != nil, tags.contains(ETag(edit.tag)) { return .tracksLane }
            if let copy = copy(named: tags), copy.etag != edit.base.etag {
                return .explicit(.ifMatch(copy.etag ?? ""), Base(of: copy))
            }
            throw refusal
        }
        guard !tags.isEmpty else { throw refusal }
        if let copy = copy(named: tags) { return .explicit(.ifMatch(copy.etag ?? ""), Base(of: copy)) }
        // Where nothing is known here, or only what was made out of date, the origin judges.
        guard copies.allSatisfy(\.isExpired) else { throw refusal }
        // One tag alone says what the client started from.
        let base = Base(etag: tags.count == 1 ? tags[0].text : nil)
        return .explicit(.ifMatch(tags.map(\.text).joined(separator: ", ")), base)
    }

    private func copy(named tags: [ETag]) -> ServerCopy? {
        copies.first { copy in
            guard !copy.isGone, let etag = copy.etag else { return false }
            return tags.contains { $0.strongMatches(ETag(etag)) }
        }
    }

    private func judgeNoneMatch(_ condition: EntityTagCondition) throws -> Judgement {
        let exists = edit.map { $0.content != nil } ?? (copies.first.map { !$0.isGone } ?? false)
        guard case .tags(let tags) = condition else {
            if exists { throw refusal }
            return .explicit(.ifNoneMatch("*"), nil)
        }
        if exists {
            let current = edit.map { [$0.tag] } ?? copies.compactMap(\.etag)
            if tags.contains(where: { tag in current.contains { tag.weakMatches(ETag($0)) } }) { throw refusal }
        }
        let theirs = tags.filter { !Self.isOwn($0.text) }
        if theirs.isEmpty { return .guarded }
        return .explicit(.ifNoneMatch(theirs.map(\.text).joined(separator: ", ")), nil)
    }

    private func judgeUnmodified(since text: String) throws -> Judgement {
        guard let date = HTTPDate(text, now: now) else { return .guarded }
        if edit != nil {
            if let editedAt, HTTPDate(editedAt) > date { throw refusal }
            return .guarded
        }
        if let modified = copies.first?.lastModified.flatMap({ HTTPDate($0, now: now) }), modified > date {
            throw refusal
        }
        return .explicit(.ifUnmodifiedSince(text), nil)
    }

    private var refusal: Problem {
        Problem(
            .precondition,
            "Another version is current here. Read the target again, repeat the change on it, and send its ETag.")
    }
}

extension Base {
    /// What an edit of this copy starts from; unknown where it is gone or no representation.
    package init(of copy: ServerCopy) {
        guard (200..<300).contains(copy.status) else {
            self = .unknown
            return
        }
        self.init(
            etag: copy.etag, lastModified: copy.lastModified, mediaType: copy.fields["Content-Type"],
            content: copy.content)
    }

    /// The automatic precondition of a write from this base (design 4, "Guard").
    package func guardPrecondition(under policy: Policy) -> Precondition {
        guard policy.guardsWrites, policy.conflictResolutionPolicy != .clientWins else { return .none }
        return strictPrecondition
    }

    /// The precondition that holds only for this base, whatever the policy.
    package var strictPrecondition: Precondition {
        if let etag, ETag(etag).isStrong { return .ifMatch(etag) }
        return lastModified.map { .ifUnmodifiedSince($0) } ?? .none
    }
}
