package import HTTPModel

/// What kind of conflict (design 6).
package enum ConflictKind: String, Sendable, Hashable {
    /// Both sides changed it.
    case edited
    case deletedAtOrigin = "deleted-at-origin"
    case existsAtOrigin = "exists-at-origin"
    /// A POST that was refused with 409 or 412: never repeated.
    case refused
    /// It can't be told whether the write took effect.
    case outcomeUnknown = "outcome-unknown"
}

/// One of the three versions of a conflict.
package struct ConflictVersion: Sendable, Hashable {
    /// Whether the version is "there is nothing" (deleted, gone, or never there).
    package var isAbsent: Bool
    package var etag: String?
    package var lastModified: String?
    package var mediaType: String?
    package var content: Content?

    package init(
        isAbsent: Bool = false, etag: String? = nil, lastModified: String? = nil, mediaType: String? = nil,
        content: Content? = nil
    ) {
        self.isAbsent = isAbsent
        self.etag = etag
        self.lastModified = lastModified
        self.mediaType = mediaType
        self.content = content
    }

    /// As what a further edit starts from.
    package var base: Base { Base(etag: etag, lastModified: lastModified, mediaType: mediaType, content: content) }
}

/// A write that the origin refused with 409 or 412: base, client and server versions are kept until it is resolved.
package struct Conflict: Sendable, Hashable {
    package var id: String
    package var key: EntryKey
    package var kind: ConflictKind
    /// The queued operation that stopped; nil where an online write was refused.
    package var operationID: OperationID?
    package var method: HTTPMethod
    /// Fields of the refused write that a resolution sends again (Content-Type and the like).
    package var fields: HTTPFields
    package var base: ConflictVersion?
    package var client: ConflictVersion
    /// nil until it could be fetched.
    package var server: ConflictVersion?
    /// Whether `server` is what the origin had when last asked after the refusal.
    package var serverIsLatest: Bool
    package var originAnswer: KeptAnswer?
    /// Counts changes; the ETag of /cache/conflicts/ID.
    package var revision: Int
    package var policy: Policy
    package var createdAt: Double
    /// Set once resolved.
    package var closedAt: Double?

    package init(
        id: String, key: EntryKey, kind: ConflictKind, operationID: OperationID?, method: HTTPMethod,
        fields: HTTPFields, base: ConflictVersion?, client: ConflictVersion, server: ConflictVersion?,
        serverIsLatest: Bool, originAnswer: KeptAnswer?, policy: Policy, createdAt: Double
    ) {
        self.id = id
        self.key = key
        self.kind = kind
        self.operationID = operationID
        self.method = method
        self.fields = fields
        self.base = base
        self.client = client
        self.server = server
        self.serverIsLatest = serverIsLatest
        self.originAnswer = originAnswer
        self.revision = 1
        self.policy = policy
        self.createdAt = createdAt
    }
}

extension Operation {
    /// What it wants to be at the target, as one of the versions of a conflict.
    package var clientVersion: ConflictVersion {
        ConflictVersion(
            isAbsent: method == .delete, mediaType: effectiveType,
            content: method == .delete ? nil : effective ?? body)
    }
}
