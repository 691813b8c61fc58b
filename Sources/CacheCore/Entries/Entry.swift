package import HTTPModel

/// The last complete answer of the origin for one variant of a target, or what a write proved (design 1, "server copy").
package struct ServerCopy: Sendable, Hashable {
    /// 2xx, 3xx, or 404/410 for "gone".
    package var status: Int
    /// End-to-end fields as received, without Set-Cookie; updated by 304 (RFC 9111 3.2).
    package var fields: HTTPFields
    package var content: Content
    /// When the request was sent and the head received, seconds since 1970 by our clock (RFC 9111 4.2.3).
    package var requestTime: Double
    package var responseTime: Double
    /// The selecting fields: each name that Vary lists (lower case) with the request's normalised value, "" where absent
    /// (RFC 9111 4.1). Empty where nothing varies. `Vary: *` is kept as the one field `*`.
    package var selecting: [HTTPField]
    /// Invalidated or expired by us: to be validated before use, whatever its lifetime.
    package var isExpired: Bool
    /// Made from a member of a list (design 3, "Collections").
    package var isListed: Bool
    /// Only explicit freshness counts, no heuristic (what a write left).
    package var explicitFreshnessOnly: Bool
    /// The store's start counter when it was stored (EXPIRE_ON_RESTART).
    package var epoch: Int64

    package init(
        status: Int, fields: HTTPFields, content: Content, requestTime: Double, responseTime: Double,
        selecting: [HTTPField] = [], isExpired: Bool = false, isListed: Bool = false,
        explicitFreshnessOnly: Bool = false, epoch: Int64
    ) {
        self.status = status
        self.fields = fields
        self.content = content
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.selecting = selecting
        self.isExpired = isExpired
        self.isListed = isListed
        self.explicitFreshnessOnly = explicitFreshnessOnly
        self.epoch = epoch
    }

    /// What is kept where the target was proved to be gone: 404 or 410 without a body, fresh by no heuristic.
    package static func gone(status: Int = 404, at time: Double, epoch: Int64) -> ServerCopy {
        ServerCopy(
            status: status, fields: ["Date": HTTPDate(time).text], content: .empty, requestTime: time,
            responseTime: time, explicitFreshnessOnly: true, epoch: epoch)
    }

    /// Whether both are for the same requests, byte for byte.
    func isSelectedAlike(_ other: ServerCopy) -> Bool {
        selecting.count == other.selecting.count
            && zip(selecting, other.selecting).allSatisfy { one, other in
                one.name.hasSameBytes(as: other.name) && one.value.hasSameBytes(as: other.value)
            }
    }

    /// 404 and 410 are kept as "gone".
    package var isGone: Bool { status == 404 || status == 410 }
    /// The text of ETag as received.
    package var etag: String? { fields["ETag"] }
    package var lastModified: String? { fields["Last-Modified"] }
}

/// What a store keeps for a target of one partition, but for the local edit, which the queue holds.
package struct Entry: Sendable, Hashable {
    package var key: EntryKey
    /// One per variant, newest first. Empty where only a policy or pin is kept.
    package var copies: [ServerCopy]
    /// What is here of copies that are not whole, at most one a variant.
    package var parts: [PartialCopy]
    package var policy: PolicyLayer
    package var pins: Pins
    /// When the origin last confirmed a copy, seconds since 1970.
    package var lastSync: Double?

    package init(
        key: EntryKey, copies: [ServerCopy] = [], parts: [PartialCopy] = [], policy: PolicyLayer = PolicyLayer(),
        pin: PinPriority? = nil, lastSync: Double? = nil
    ) {
        self.key = key
        self.copies = copies
        self.parts = parts
        self.policy = policy
        pins = Pins(own: pin)
        self.lastSync = lastSync
    }

    /// The priority with which it is pinned, for whatever reason.
    package var pin: PinPriority? { pins.priority }

    /// The most variants of one target: an answer that varies by what each request makes up must not fill the store.
    package static let variantLimit = 64

    /// Takes a copy in, in front, in place of the one for the same requests and of the parts of that variant; the oldest
    /// beyond the limit go.
    package mutating func keep(_ copy: ServerCopy) {
        copies.removeAll { $0.isSelectedAlike(copy) }
        copies.insert(copy, at: 0)
        copies.removeLast(max(0, copies.count - Self.variantLimit))
        parts.removeAll { $0.head.isSelectedAlike(copy) }
        lastSync = copy.responseTime
    }

    /// Takes parts: combined with those of their variant where they speak of the same bytes, else in their place. Under the
    /// same limit.
    package mutating func keep(_ partial: PartialCopy) {
        let former = parts.first { $0.head.isSelectedAlike(partial.head) }
        parts.removeAll { $0.head.isSelectedAlike(partial.head) }
        parts.insert(former?.combined(with: partial) ?? partial, at: 0)
        parts.removeLast(max(0, parts.count - Self.variantLimit))
        lastSync = partial.head.responseTime
    }

    /// Marks every copy expired. Parts go: they would have to be fetched again.
    package mutating func expire() {
        for index in copies.indices { copies[index].isExpired = true }
        parts = []
    }
}
