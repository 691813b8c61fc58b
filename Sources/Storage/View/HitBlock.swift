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

/// One hit in one allocation: the header and, behind it, the bytes of its key and its parts.
///
/// Unchecked Sendable, for ManagedBuffer is not: nothing of the buffer changes once `init` has returned.
struct HitBlock: @unchecked Sendable {
    /// What an allocation and a place in the table take beyond header and bytes.
    private static let overhead = 48

    private let buffer: ManagedBuffer<HitHeader, UInt8>

    /// nil where the parts are longer than their lengths can tell: 64 KiB, and 4 GiB of the body.
    init?(_ hit: PreparedHit, partition: PartitionID, route: Route, target: [UInt8]) {
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
        let header = HitHeader(
            partition: partition, bornAt: hit.bornAt, freshUntil: hit.freshUntil, bodyLength: bodyLength,
            keyLength: keyLength, headLength: headLength, earlierCachesLength: earlierCachesLength,
            selectingLength: selectingLength, notModifiedFrom: UInt16(hit.notModifiedFrom),
            etagFrom: UInt16(hit.etag.lowerBound), etagTo: UInt16(hit.etag.upperBound), route: route)
        buffer = ManagedBuffer.create(minimumCapacity: header.length) { _ in header }
        unsafe buffer.withUnsafeMutablePointerToElements { bytes in
            var rest = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: header.length)
            for part in [target, hit.head, hit.body, hit.earlierCaches, selecting] {
                unsafe rest.copyBytes(from: part)
                unsafe rest = unsafe UnsafeMutableRawBufferPointer(rebasing: rest[part.count...])
            }
        }
    }

    /// What the block counts for against the limit, in bytes.
    var size: Int { buffer.header.length + MemoryLayout<HitHeader>.size + Self.overhead }

    /// Whether the block is for the key; compares bytes where they lie.
    func isFor(_ key: HitKey, underAnyRoute: Bool = false) -> Bool {
        unsafe buffer.withUnsafeMutablePointers { header, bytes in
            let length = unsafe key.target.count
            let isOfRoute = unsafe header.pointee.route == key.route
            guard unsafe Int(header.pointee.keyLength) == length, isOfRoute || underAnyRoute,
                unsafe header.pointee.partition == key.partition
            else { return false }
            return unsafe UnsafeRawBufferPointer(start: bytes, count: length).elementsEqual(key.target)
        }
    }

    /// Lends the selecting fields, as in `HitParts`, for the length of the call.
    func withSelecting<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe buffer.withUnsafeMutablePointers { header, bytes in
            let start = unsafe bytes + header.pointee.selectingFrom
            return unsafe body(UnsafeRawBufferPointer(start: start, count: Int(header.pointee.selectingLength)))
        }
    }

    /// Lends the parts for the length of the call.
    func withParts(_ body: (HitParts) -> Bool) -> Bool {
        unsafe buffer.withUnsafeMutablePointers { header, bytes in
            let lengths = unsafe header.pointee
            func part(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
                unsafe UnsafeRawBufferPointer(start: bytes + start, count: end - start)
            }
            let head = lengths.headFrom
            return unsafe body(
                HitParts(
                    head: part(from: head, to: lengths.bodyFrom),
                    notModifiedFields: part(from: head + Int(lengths.notModifiedFrom), to: lengths.bodyFrom),
                    body: part(from: lengths.bodyFrom, to: lengths.earlierCachesFrom),
                    etag: part(from: head + Int(lengths.etagFrom), to: head + Int(lengths.etagTo)),
                    earlierCaches: part(from: lengths.earlierCachesFrom, to: lengths.selectingFrom),
                    bornAt: lengths.bornAt, freshUntil: lengths.freshUntil))
        }
    }
}
