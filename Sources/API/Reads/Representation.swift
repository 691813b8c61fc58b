import CacheCore
import HTTPModel

/// Something that can be answered from the store: a server copy or the effective copy of an edit.
struct Representation: Sendable {
    var status: Int
    var fields: HTTPFields
    /// Empty where there are `parts`.
    var content: Content
    /// What is here of it, where that is not all.
    var parts: PartialCopy?
    /// As sent.
    var etag: String?
    var lastModified: String?
    /// When it was received, by the origin's Date; nil for an edit.
    var received: String?
    /// Seconds; nil for an edit, which has no age.
    var age: Int?
    var syncState: String

    init(
        status: Int, fields: HTTPFields, content: Content, etag: String?, lastModified: String?, age: Int?,
        syncState: String
    ) {
        self.status = status
        self.fields = fields
        self.content = content
        self.etag = etag
        self.lastModified = lastModified
        self.age = age
        self.syncState = syncState
    }

    init(_ copy: ServerCopy, syncState: String, now: Double) {
        status = copy.status
        fields = copy.fields
        content = copy.content
        etag = copy.etag
        lastModified = copy.lastModified
        received =
            copy.fields["Date"].flatMap { HTTPDate($0, now: now) == nil ? nil : $0 } ?? HTTPDate(copy.responseTime).text
        age = Freshness.wholeSeconds(Freshness.currentAge(of: copy, now: now))
        self.syncState = syncState
    }

    /// Parts of a copy, for what they cover.
    init(_ parts: PartialCopy, syncState: String, now: Double) {
        self.init(parts.head, syncState: syncState, now: now)
        self.parts = parts
    }

    /// An edit with content (design 3): a tag of its own, to be asked for each time, without dates.
    init(_ edit: LocalEdit, content: Content) {
        status = 200
        fields = ["ETag": edit.tag, "Cache-Control": "no-cache"]
        fields["Content-Type"] = edit.mediaType
        fields["Content-Encoding"] = edit.coding
        self.content = content
        etag = edit.tag
        syncState = edit.syncState
    }

    var bytes: StoredBytes { parts.map { .parts($0) } ?? .whole(content) }

    /// Whether preconditions and ranges count: for what stands behind a 200 (RFC 9110 13.2.1).
    var exists: Bool { (200...299).contains(status) }
    var hasBody: Bool { status != 204 && status != 304 && status != 205 }

    /// What a 304 carries of the fields (RFC 9110 15.4.5). Each line costs who reads it: what tells of the server is left out too.
    var notModifiedFields: HTTPFields {
        var kept = fields
        kept.removeAll { field in
            let name = field.name.asciiLowercased
            return name.hasPrefix("content-") && name != "content-location" || name == "last-modified" && etag != nil
                || name == "server" || name == "accept-ranges"
        }
        return kept
    }
}
