import CacheCore

/// What a block holds before its bytes.
struct HitHeader {
    let partition: PartitionID
    let bornAt: Double
    let freshUntil: Double
    /// Where in the bytes the last fields of the head begin, which a 304 has too.
    let notModifiedFrom: UInt32
    /// Where key, head, body, etag, cacheStatus and selecting end: each begins where the one before ends.
    let ends: InlineArray<6, UInt32>
    let route: Route
}

/// One hit in one allocation: the header and, behind it, the bytes of its key and its parts.
///
/// Unchecked Sendable, for ManagedBuffer is not: nothing of the buffer changes once `init` has returned.
struct HitBlock: @unchecked Sendable {
    /// What an allocation and a place in the table take beyond header and bytes.
    private static let overhead = 64

    private let buffer: ManagedBuffer<HitHeader, UInt8>

    /// nil where the parts are longer than offsets can tell.
    init?(_ hit: PreparedHit, partition: PartitionID, route: Route, target: [UInt8]) {
        var selecting: [UInt8] = []
        for field in hit.selecting {
            selecting += field.name
            selecting.append(0)
            selecting += field.value
            selecting.append(0)
        }
        let parts = [target, hit.head, hit.body, hit.etag, hit.cacheStatus, selecting]
        var ends = InlineArray<6, UInt32>(repeating: 0)
        var length = 0
        for (index, part) in parts.enumerated() {
            length += part.count
            guard let end = UInt32(exactly: length) else { return nil }
            ends[index] = end
        }
        let header = HitHeader(
            partition: partition, bornAt: hit.bornAt, freshUntil: hit.freshUntil,
            notModifiedFrom: UInt32(target.count + hit.notModifiedFrom), ends: ends, route: route)
        buffer = ManagedBuffer.create(minimumCapacity: length) { _ in header }
        unsafe buffer.withUnsafeMutablePointerToElements { bytes in
            var rest = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: length)
            for part in parts {
                unsafe rest.copyBytes(from: part)
                unsafe rest = unsafe UnsafeMutableRawBufferPointer(rebasing: rest[part.count...])
            }
        }
    }

    /// What the block counts for against the limit, in bytes.
    var size: Int { Int(buffer.header.ends[5]) + MemoryLayout<HitHeader>.size + Self.overhead }

    /// Whether the block is for the key; compares bytes where they lie.
    func isFor(_ key: HitKey, underAnyRoute: Bool = false) -> Bool {
        unsafe buffer.withUnsafeMutablePointers { header, bytes in
            let length = unsafe key.target.count
            let isOfRoute = unsafe header.pointee.route == key.route
            guard unsafe header.pointee.ends[0] == length, isOfRoute || underAnyRoute,
                unsafe header.pointee.partition == key.partition
            else { return false }
            return unsafe UnsafeRawBufferPointer(start: bytes, count: length).elementsEqual(key.target)
        }
    }

    /// Lends the selecting fields, as in `HitParts`, for the length of the call.
    func withSelecting<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe buffer.withUnsafeMutablePointers { header, bytes in
            let start = unsafe Int(header.pointee.ends[4])
            let count = unsafe Int(header.pointee.ends[5]) - start
            return unsafe body(UnsafeRawBufferPointer(start: bytes + start, count: count))
        }
    }

    /// Lends the parts for the length of the call.
    func withParts(_ body: (HitParts) -> Bool) -> Bool {
        unsafe buffer.withUnsafeMutablePointers { header, bytes in
            func part(_ index: Int, from start: UInt32? = nil) -> UnsafeRawBufferPointer {
                let start = unsafe Int(start ?? header.pointee.ends[index - 1])
                return unsafe UnsafeRawBufferPointer(
                    start: bytes + start, count: Int(header.pointee.ends[index]) - start)
            }
            return unsafe body(
                HitParts(
                    head: part(1), notModifiedFields: part(1, from: header.pointee.notModifiedFrom), body: part(2),
                    etag: part(3), cacheStatus: part(4),
                    bornAt: header.pointee.bornAt, freshUntil: header.pointee.freshUntil))
        }
    }
}
