package import CacheCore
package import HTTPModel

/// What a GET of a target found (design 5, "look").
package struct Sighting: Sendable {
    /// 200, or 404 and 410 for nothing there.
    package var status: Int
    package var fields: HTTPFields
    /// The whole body, kept by the store.
    package var content: Content
    package var requestTime: Double
    package var responseTime: Double
    /// The fields that the request had, for Vary.
    package var requestFields: HTTPFields

    package init(
        status: Int, fields: HTTPFields, content: Content, requestTime: Double, responseTime: Double,
        requestFields: HTTPFields
    ) {
        self.status = status
        self.fields = fields
        self.content = content
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.requestFields = requestFields
    }

    package var isGone: Bool { status == 404 || status == 410 }
    package var etag: String? { fields.etag?.text }
    package var lastModified: String? { fields["Last-Modified"] }

    /// As the base of a further edit.
    package var base: Base {
        isGone
            ? .unknown
            : Base(
                etag: etag, lastModified: lastModified, mediaType: fields["Content-Type"], content: content)
    }

    /// As one of the versions of a conflict.
    package var version: ConflictVersion {
        isGone
            ? ConflictVersion(isAbsent: true)
            : ConflictVersion(
                etag: etag, lastModified: lastModified, mediaType: fields["Content-Type"], content: content)
    }
}

/// What a look brought.
package enum LookResult: Sendable {
    case seen(Sighting)
    /// No connection, or a portal's answer: it is offline now.
    case unreachable
    /// Now or soon: no complete answer, 5xx, 408, 425, 429.
    case notNow
    /// 401, 407, or no credential of the identity.
    case noCredential
    /// The origin does not let the target be read (403, 405, a redirect …).
    case unreadable(status: Int)
}
