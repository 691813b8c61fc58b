import Glibc
import Synchronization

/// Where the bytes of a view's hits lie: spans of 64 KiB from the system, each cut into places of one size. Blocks of a general
/// allocator stand between pieces that are freed while they stay; an eighth of the view was such holes. Callable from any thread.
final class HitMemory: Sendable {
    /// A part of memory, taken until it is given back.
    @safe struct Place {
        fileprivate let span: Span?
        /// As many bytes as were asked for, or a few more.
        let bytes: UnsafeMutableRawBufferPointer
    }

    /// Unchecked Sendable: who holds the lock of the memory that it belongs to has it alone.
    @safe fileprivate final class Span: @unchecked Sendable {
        static let size = 64 << 10

        let placeSize: Int
        private let start: UnsafeMutableRawPointer
        /// Places that were given back.
        private var free: [UInt16] = []
        /// Places that were ever taken: what is behind them was not touched yet and is not in memory.
        private var reached = 0
        private var used = 0
        /// Where the span stands among those of its size that have room; nil where it is full.
        var position: Int?

        /// nil where the system has no memory to give.
        init?(placeSize: Int) {
            let flags = MAP_PRIVATE | MAP_ANONYMOUS
            guard let start = unsafe mmap(nil, Self.size, PROT_READ | PROT_WRITE, flags, -1, 0),
                unsafe start != MAP_FAILED
            else { return nil }
            self.placeSize = placeSize
            unsafe self.start = start
        }

        deinit { unsafe munmap(start, Self.size) }

        var isEmpty: Bool { used == 0 }
        var isFull: Bool { used == Self.size / placeSize }

        func take() -> UnsafeMutableRawBufferPointer {
            let number: Int
            if let last = free.popLast() {
                number = Int(last)
            } else {
                number = reached
                reached += 1
            }
            used += 1
            return unsafe UnsafeMutableRawBufferPointer(start: start + number * placeSize, count: placeSize)
        }

        func giveBack(_ bytes: UnsafeMutableRawBufferPointer) {
            let distance = unsafe bytes.baseAddress.map { unsafe $0 - start } ?? 0
            free.append(UInt16(distance / placeSize))
            used -= 1
        }
    }

    /// Sizes of places differ by this much, in bytes.
    private static let step = 32
    /// The largest place of a span, in bytes: what is longer has an allocation of its own.
    private static let largest = 4 << 10

    private struct Spans {
        /// Those that have room, for each size of places.
        var roomy = [[Span]](repeating: [], count: largest / step)
        var count = 0
    }

    private let spans = Mutex(Spans())

    /// How many there are.
    var spanCount: Int { spans.withLock { $0.count } }

    func take(_ count: Int) -> Place {
        guard count <= Self.largest, let place = takeOfSpan(max(count, 1)) else {
            return unsafe Place(span: nil, bytes: .allocate(byteCount: count, alignment: 16))
        }
        return place
    }

    private func takeOfSpan(_ count: Int) -> Place? {
        let size = (count - 1) / Self.step
        return spans.withLock { spans in
            if spans.roomy[size].isEmpty {
                guard let span = Span(placeSize: (size + 1) * Self.step) else { return nil }
                spans.count += 1
                span.position = 0
                spans.roomy[size].append(span)
            }
            let span = spans.roomy[size][spans.roomy[size].count - 1]
            let bytes = unsafe span.take()
            if span.isFull {
                spans.roomy[size].removeLast()
                span.position = nil
            }
            return unsafe Place(span: span, bytes: bytes)
        }
    }

    func giveBack(_ place: Place) {
        guard let span = place.span else {
            unsafe place.bytes.deallocate()
            return
        }
        let size = span.placeSize / Self.step - 1
        spans.withLock { spans in
            unsafe span.giveBack(place.bytes)
            let position = span.position ?? spans.roomy[size].count
            if span.position == nil {
                span.position = position
                spans.roomy[size].append(span)
            }
            // The last one stays, for what comes next. Another goes when the place does.
            guard span.isEmpty, spans.roomy[size].count > 1 else { return }
            spans.count -= 1
            let last = spans.roomy[size].removeLast()
            if last !== span {
                spans.roomy[size][position] = last
                last.position = position
            }
        }
    }
}
