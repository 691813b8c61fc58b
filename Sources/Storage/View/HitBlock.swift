import CacheCore

/// What a block holds before its bytes.
struct HitHeader {
    let partition: PartitionID
    let bornAt: Double
    let freshUntil: Double
    let bodyLength: UInt32
    // Of key, head, earlier caches and selecting, which stand around the body in this order.
    let keyLength: UInt16
    let headLength: UInt16
    let earlierCachesLength: UInt16
    let selectingLength: UInt16
    /// Where in the head its last fields begin, which a 304 has too.
    let notModifiedFrom: UInt16
    // Where in the head the entity tag stands.
    let etagFrom: UInt16
    let etagTo: UInt16
    let route: Route

    var headFrom: Int { Int(keyLength) }
    var bodyFrom: Int { headFrom + Int(headLength) }
    var earlierCachesFrom: Int { bodyFrom + Int(bodyLength) }
    var selectingFrom: Int { earlierCachesFrom + Int(earlierCachesLength) }
    var length: Int { selectingFrom + Int(selectingLength) }
}

/// One hit: its lengths and, in the view's memory, the bytes of its key and its parts.
///
/// Unchecked Sendable, for its bytes are a pointer: nothing of them changes once `init` has returned.
final class HitBlock: @unchecked Sendable {
    /// What a block takes beyond its bytes: the object with its allocation, and a place in the table.
    private static let overhead = 144

    private let header: HitHeader
    private let memory: HitMemory
    private let place: HitMemory.Place

    /// nil where the parts are longer than their lengths can tell: 64 KiB, and 4 GiB of the body.
    init?(_ hit: PreparedHit, partition: PartitionID, route: Route, target: [UInt8], in memory: HitMemory) {
        var selecting: [UInt8] = []
        for field in hit.selecting {
            selecting += field.name
            selecting.append(0)
            selecting += field.value
            selecting.append(0)
        }
        guard let bodyLength = UInt32(exactly: hit.body.count), let keyLength = UInt16(exactly: target.count),
            let headLength = UInt16(exactly: hit.head.count),
            let earlierCachesLength = UInt16(exactly: hit.earlierCaches.count),
            let selectingLength = UInt16(exactly: selecting.count)
        else { return nil }
        header = HitHeader(
            partition: partition, bornAt: hit.bornAt, freshUntil: hit.freshUntil, bodyLength: bodyLength,
            keyLength: keyLength, headLength: headLength, earlierCachesLength: earlierCachesLength,
            selectingLength: selectingLength, notModifiedFrom: UInt16(hit.notModifiedFrom),
            etagFrom: UInt16(hit.etag.lowerBound), etagTo: UInt16(hit.etag.upperBound), route: route)
        self.memory = memory
        place = memory.take(header.length)
        var rest = unsafe place.bytes
        for part in [target, hit.head, hit.body, hit.earlierCaches, selecting] {
            unsafe rest.copyBytes(from: part)
            unsafe rest = unsafe UnsafeMutableRawBufferPointer(rebasing: rest[part.count...])
        }
    }

    deinit { memory.giveBack(place) }

    /// What the block counts for against the limit, in bytes.
    var size: Int { unsafe place.bytes.count + Self.overhead }

    private func part(from start: Int, length: some BinaryInteger) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: place.bytes[start..<start + Int(length)])
    }

    /// Whether the block is for the key; compares bytes where they lie.
    func isFor(_ key: HitKey, underAnyRoute: Bool = false) -> Bool {
        guard unsafe Int(header.keyLength) == key.target.count, underAnyRoute || header.route == key.route,
            header.partition == key.partition
        else { return false }
        return unsafe part(from: 0, length: header.keyLength).elementsEqual(key.target)
    }

    /// Lends the selecting fields, as in `HitParts`, for the length of the call.
    func withSelecting<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe body(part(from: header.selectingFrom, length: header.selectingLength))
    }

    /// Lends the parts for the length of the call.
    func withParts(_ body: (HitParts) -> Bool) -> Bool {
        let head = unsafe part(from: header.headFrom, length: header.headLength)
        return unsafe body(
            HitParts(
                head: head,
                notModifiedFields: UnsafeRawBufferPointer(rebasing: head[Int(header.notModifiedFrom)...]),
                body: part(from: header.bodyFrom, length: header.bodyLength),
                etag: UnsafeRawBufferPointer(rebasing: head[Int(header.etagFrom)..<Int(header.etagTo)]),
                earlierCaches: part(from: header.earlierCachesFrom, length: header.earlierCachesLength),
                bornAt: header.bornAt, freshUntil: header.freshUntil))
    }
}
