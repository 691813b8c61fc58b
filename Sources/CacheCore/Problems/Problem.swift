package import HTTPModel

/// Every refusal that Holdfast itself makes (design 12): one table. The raw value is the `CODE` of `/problems/CODE`.
package enum ProblemCode: String, Sendable, Hashable, CaseIterable {
    case badRequest = "bad-request"
    case badTarget = "bad-target"
    case badPolicy = "bad-policy"
    case badQuery = "bad-query"
    case badConfiguration = "bad-configuration"
    case badJSON = "bad-json"
    case badSnapshot = "bad-snapshot"
    case host
    case origin
    case accessToken = "access-token"
    case readOnlyToken = "read-only-token"
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case cacheDisabled = "cache-disabled"
    case storeDetached = "store-detached"
    case storeExists = "store-exists"
    case storeUnusable = "store-unusable"
    case locationNotAllowed = "location-not-allowed"
    case keyReused = "key-reused"
    case offlineUpdateRejected = "offline-update-rejected"
    case methodNotQueueable = "method-not-queueable"
    case lanePending = "lane-pending"
    case precondition
    case contentType = "content-type"
    case patchType = "patch-type"
    case patchConflict = "patch-conflict"
    case laneStopped = "lane-stopped"
    case tooLarge = "too-large"
    case storeFull = "store-full"
    case storeFailed = "store-failed"
    case mirrorFailed = "mirror-failed"
    case notCached = "not-cached"
    case offline
    case offlineGateway = "offline-gateway"
    case onlyIfCached = "only-if-cached"
    case originTimeout = "origin-timeout"
    case outcomeUnknown = "outcome-unknown"
    case badAnswer = "bad-answer"
    case loop
    case conflict
    case credentialUnproven = "credential-unproven"
    case hasDependents = "has-dependents"
    case operationBusy = "operation-busy"
    case uploadOffset = "upload-offset"
    case uploadIncomplete = "upload-incomplete"
    case uploadSealed = "upload-sealed"
    case operationsPending = "operations-pending"
    case notFailed = "not-failed"
    case tooManyActions = "too-many-actions"
    case expectation
    case requestTimeout = "request-timeout"
    case lineTooLong = "line-too-long"
    case headTooLarge = "head-too-large"
    case busy
    case transferCoding = "transfer-coding"
    case version
    case internalError = "internal-error"

    /// What the table says of a code: its usual status and a short title.
    package var meaning: (status: Int, title: String) {
        switch self {
        case .badRequest: (400, "The request is malformed")
        case .badTarget: (400, "The target can't be used")
        case .badPolicy: (400, "The policy can't be read")
        case .badQuery: (400, "The filter or order of a list can't be used")
        case .badConfiguration: (400, "The configuration can't be used")
        case .badJSON: (400, "The body is not the JSON that is expected")
        case .badSnapshot: (400, "The snapshot can't be loaded")
        case .host: (421, "This host name is not served here")
        case .origin: (403, "Requests from this web origin are refused")
        case .accessToken: (401, "An access token is required")
        case .readOnlyToken: (403, "This access token only reads")
        case .notFound: (404, "There is nothing here")
        case .methodNotAllowed: (405, "The method is not allowed here")
        case .cacheDisabled: (503, "The cache is switched off")
        case .storeDetached: (503, "The store of this target is detached")
        case .storeExists: (409, "A store of this name is attached")
        case .storeUnusable: (409, "The store can't be opened")
        case .locationNotAllowed: (403, "Nothing may be kept there")
        case .keyReused: (422, "The Idempotency-Key belongs to another request")
        case .offlineUpdateRejected: (503, "The origin is unreachable and the write may not be queued")
        case .methodNotQueueable: (503, "The origin is unreachable and this method can't be queued")
        case .lanePending: (409, "Queued writes of this target come first")
        case .precondition: (412, "The precondition does not hold")
        case .contentType: (400, "Content-Type is missing")
        case .patchType: (415, "The patch format is not supported")
        case .patchConflict: (409, "The patch can't be applied")
        case .laneStopped: (409, "An earlier write of this target has stopped")
        case .tooLarge: (413, "The body is too large")
        case .storeFull: (507, "The store is full")
        case .storeFailed: (507, "The store can't write")
        case .mirrorFailed: (500, "The mirror has not taken the write")
        case .notCached: (404, "There is no cached copy")
        case .offline: (503, "The origin is unreachable")
        case .offlineGateway: (504, "The origin is unreachable and nothing usable is cached")
        case .onlyIfCached: (504, "Nothing usable is cached")
        case .originTimeout: (504, "The origin did not answer in time")
        case .outcomeUnknown: (504, "It is not known whether the write took effect")
        case .badAnswer: (502, "The origin's answer can't be used")
        case .loop: (502, "The request has passed through here before")
        case .conflict: (409, "The write conflicts with a newer version")
        case .credentialUnproven: (401, "The origin has not accepted this credential yet")
        case .hasDependents: (409, "Other queued writes depend on this one")
        case .operationBusy: (409, "The write is under way")
        case .uploadOffset: (409, "The upload stands at another offset")
        case .uploadIncomplete: (409, "The upload is not complete")
        case .uploadSealed: (409, "The upload takes no more bytes")
        case .operationsPending: (409, "Queued writes are pending")
        case .notFailed: (409, "The write has not stopped")
        case .tooManyActions: (503, "Too many actions are waiting")
        case .expectation: (417, "The expectation can't be met")
        case .requestTimeout: (408, "The request took too long")
        case .lineTooLong: (414, "The request line is too long")
        case .headTooLarge: (431, "The request's fields are too large")
        case .busy: (503, "Too many connections")
        case .transferCoding: (501, "The transfer coding is not supported")
        case .version: (505, "The HTTP version is not supported")
        case .internalError: (500, "Something went wrong here")
        }
    }

    /// What a 401 asks for, where its case does not say more: `Authorization` is the origin's but under /cache.
    fileprivate var challenge: String? {
        switch self {
        case .accessToken: "Holdfast-Token realm=\"holdfast\""
        case .credentialUnproven: "Bearer realm=\"origin\""
        default: nil
        }
    }

    /// The code in the problem's type: `offline` stands for both of its statuses.
    package var slug: String { self == .offlineGateway ? "offline" : rawValue }
}

/// A refusal as a value: thrown anywhere, answered in one place as application/problem+json (RFC 9457).
package struct Problem: Error, Sendable {
    /// A further member of the body: its value as JSON text.
    package struct Member: Sendable, Hashable {
        package var name: String
        package var json: String

        package init(_ name: String, json: String) {
            self.name = name
            self.json = json
        }
    }

    package var code: ProblemCode
    /// What to do about it, for a person. No paths of the host, no secrets.
    package var detail: String
    /// The table's status, unless the case has its own (409 or 412 of a conflict).
    package var status: Int
    /// Extra fields: Retry-After, Allow, …; WWW-Authenticate is there where it has to be.
    package var fields: HTTPFields
    /// Further members of the body.
    package var members: [Member]

    package init(
        _ code: ProblemCode, _ detail: String, status: Int? = nil, fields: HTTPFields = HTTPFields(),
        members: [Member] = []
    ) {
        self.code = code
        self.detail = detail
        self.status = status ?? code.meaning.status
        self.fields = fields
        self.members = members
        // Every 401 names a scheme (RFC 9110 15.5.2).
        if let challenge = code.challenge, !fields.contains("WWW-Authenticate") {
            self.fields["WWW-Authenticate"] = challenge
        }
    }
}
