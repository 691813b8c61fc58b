import CacheCore
import Synchronization
import Testing

@testable import Storage

@Suite struct `Hit view` {
    private let view = ShardedHitView(memoryLimit: 64 << 20)

    @Test func `A hit is lent part by part as it was published`() {
        var hit = sampleHit("body")
        hit.selecting = [(Array("accept".utf8), Array("a/b".utf8)), (Array("x".utf8), [])]
        view.offer(hit, "/a")
        var seen: [String] = []
        var selecting = ""
        let isLent = view.look(
            "/a",
            selects: {
                selecting = String(decoding: $0, as: UTF8.self)
                return true
            }
        ) { parts in
            let all = [parts.head, parts.notModifiedFields, parts.body, parts.etag, parts.earlierCaches]
            seen = all.map { String(decoding: $0, as: UTF8.self) }
            return parts.bornAt == 1.5 && parts.freshUntil == 9
        }
        #expect(isLent)
        #expect(seen == ["HEAD\r\n\"t\"\r\n", "\"t\"\r\n", "body", "\"t\"", "other; hit, "])
        #expect(selecting == "accept\0a/b\0x\0\0")
    }

    private func variant(_ language: String) -> PreparedHit {
        var hit = sampleHit(language)
        hit.selecting = [(Array("accept-language".utf8), Array(language.utf8))]
        return hit
    }

    private func body(of language: String) -> String? {
        var found: String?
        _ = view.look("/a", selects: { $0.elementsEqual("accept-language\0\(language)\0".utf8) }) { parts in
            found = String(decoding: parts.body, as: UTF8.self)
            return true
        }
        return found
    }

    @Test func `Variants stand side by side and go together`() {
        for language in ["de", "en", "fr"] { view.offer(variant(language), "/a") }
        view.offer(variant("en"), "/a")
        for language in ["de", "en", "fr"] { #expect(body(of: language) == language) }
        #expect(body(of: "it") == nil)
        view.invalidate(entryKey("/a"))
        #expect(["de", "en", "fr"].allSatisfy { body(of: $0) == nil })
        #expect(view.bytes == 0)
    }

    @Test func `Of many variants the view keeps a few`() {
        for number in 0..<50 { view.offer(variant("\(number)"), "/a") }
        #expect((0..<50).count { body(of: "\($0)") != nil } == 8)
        #expect(body(of: "49") == "49")
    }

    @Test func `What the borrower returns is what the view returns`() {
        view.offer(sampleHit("a"), "/a")
        #expect(!view.look("/a") { _ in false })
        #expect(!view.look("/b") { _ in true })
    }

    @Test(arguments: ["", "/", "/a", "/aa", "/a?b", "/12345678", "/1234567", "/\u{65}\u{301}", "/\u{e9}"])
    func `Targets are told apart by their bytes`(target: String) {
        let all = ["", "/", "/a", "/aa", "/a?b", "/12345678", "/1234567", "/\u{65}\u{301}", "/\u{e9}"]
        view.offer(sampleHit(target), target)
        for other in all { #expect(view.body(other) == (other.utf8.elementsEqual(target.utf8) ? target : nil)) }
    }

    @Test func `Another partition or route never answers`() {
        let one = PartitionID(high: 1, low: 2)
        view.offer(sampleHit("one"), "/a", partition: one)
        view.offer(sampleHit("file"), "/b", route: .files)
        #expect(view.body("/a", partition: one) == "one")
        #expect(view.body("/a") == nil)
        #expect(view.body("/a", partition: PartitionID(high: 1, low: 3)) == nil)
        #expect(view.body("/a", partition: PartitionID(high: 2, low: 1)) == nil)
        #expect(view.body("/b") == nil)
        #expect(view.body("/b", route: .files) == "file")
    }

    @Test func `A later hit takes the place of the former`() {
        view.offer(sampleHit("first"), "/a")
        let bytes = view.bytes
        view.offer(sampleHit("later"), "/a")
        #expect(view.body("/a") == "later")
        #expect(view.bytes == bytes)
    }

    @Test func `Invalidation forgets both routes of the target and nothing else`() {
        for route in [Route.resources, .files] {
            view.offer(sampleHit("a"), "/a", route: route)
            view.offer(sampleHit("b"), "/b", route: route)
        }
        view.invalidate(entryKey("/a"))
        #expect(view.body("/a") == nil)
        #expect(view.body("/a", route: .files) == nil)
        #expect(view.body("/b") == "b")
        #expect(view.body("/b", route: .files) == "b")
    }

    @Test(arguments: [Route.resources, .files])
    func `A use is told once, under whichever route it was`(route: Route) {
        view.offer(sampleHit("a"), "/a", route: route)
        #expect(!view.takeUse(of: entryKey("/a")))
        #expect(view.body("/a", route: route) == "a")
        #expect(view.takeUse(of: entryKey("/a")))
        #expect(!view.takeUse(of: entryKey("/a")))
        #expect(view.body("/a", route: route) == "a")
    }

    @Test func `What answers is counted, under both routes and whatever becomes of the hit`() {
        let key = entryKey("/a")
        view.offer(sampleHit("a"), "/a")
        view.offer(sampleHit("a"), "/a", route: .files)
        for _ in 0..<3 { #expect(view.body("/a") == "a") }
        #expect(view.body("/a", route: .files) == "a")
        #expect(view.uses(of: key) == EntryUses(hits: 4))
        view.offer(sampleHit("b"), "/a")
        view.invalidate(key)
        #expect(view.body("/a") == nil)
        view.offer(sampleHit("c"), "/a")
        #expect(view.body("/a") == "c")
        view.invalidateAll()
        view.note(EntryUses(hits: 1, misses: 2), of: key)
        #expect(view.uses(of: key) == EntryUses(hits: 6, misses: 2))
        #expect(view.uses(of: entryKey("/b")) == EntryUses())
    }

    @Test func `What was found and did not answer is not counted`() {
        view.offer(sampleHit("a"), "/a")
        #expect(!view.look("/a") { _ in false })
        #expect(view.body("/a") == "a")
        #expect(
            !view.look("/a") { _ in
                view.invalidate(entryKey("/a"))
                return false
            })
        #expect(view.uses(of: entryKey("/a")) == EntryUses(hits: 1))
    }

    @Test func `Counts of what is asked for stay, in bounded memory`() {
        var counts = UseCounts(limit: 10)
        for other in UInt32(1)...100 {
            counts.add(EntryUses(hits: 1), to: 0)
            counts.add(EntryUses(misses: 1), to: other)
        }
        #expect(counts[0] == EntryUses(hits: 100))
        #expect((1...100).count { counts[$0] != EntryUses() } <= 20)
    }

    @Test func `A hit read before an invalidation is not published after it`() {
        let ticket = view.ticket(entryKey("/a"))
        view.invalidate(entryKey("/a"))
        view.publish(sampleHit("old"), for: entryKey("/a"), route: .resources, ticket: ticket)
        #expect(view.body("/a") == nil)
        view.offer(sampleHit("new"), "/a")
        #expect(view.body("/a") == "new")
    }

    @Test func `Forgetting everything voids tickets too`() {
        for number in 0..<100 { view.offer(sampleHit("x"), "/\(number)") }
        let ticket = view.ticket(entryKey("/a"))
        view.invalidateAll()
        view.publish(sampleHit("old"), for: entryKey("/a"), route: .resources, ticket: ticket)
        #expect(view.bytes == 0)
        #expect(view.body("/7") == nil)
    }

    @Test func `Bytes stay within the limit and are all given back`() {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        for number in 0..<5_000 {
            view.offer(sampleHit(String(repeating: "x", count: number % 1_500)), "/\(number)")
            if number % 500 == 0 { #expect(view.bytes <= 1 << 20) }
        }
        #expect(view.bytes > 1 << 19)
        for number in 0..<5_000 { view.invalidate(entryKey("/\(number)")) }
        #expect(view.bytes == 0)
    }

    @Test func `What is looked up stays, what is not looked up goes`() {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        let filler = String(repeating: "x", count: 1_000)
        view.offer(sampleHit("wanted"), "/wanted")
        // Some twenty rounds of each shard's hand: one that moves past it, as its neighbour leaves, is met in the next.
        for number in 0..<20_000 {
            view.offer(sampleHit(filler), "/\(number)")
            #expect(view.body("/wanted") == "wanted")
        }
        #expect((0..<1_000).allSatisfy { view.body("/\($0)") == nil })
    }

    @Test func `Once the view is full, only what is asked for again is worth room`() {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        let filler = String(repeating: "x", count: 1_000)
        view.note(EntryUses(misses: 1), of: entryKey("/early"))
        #expect(view.isWorthRoom(entryKey("/early")))
        for number in 0..<5_000 { view.offer(sampleHit(filler), "/\(number)") }
        view.note(EntryUses(hits: 1), of: entryKey("/once"))
        for _ in 0..<2 { view.note(EntryUses(hits: 1), of: entryKey("/twice")) }
        #expect(!view.isWorthRoom(entryKey("/once")))
        #expect(!view.isWorthRoom(entryKey("/early")))
        #expect(view.isWorthRoom(entryKey("/twice")))
    }

    @Test func `What the view answered often and gave up for others is worth room again`() {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        view.offer(sampleHit("old"), "/a")
        for _ in 0..<2 { #expect(view.body("/a") == "old") }
        let filler = String(repeating: "x", count: 1_000)
        for number in 0..<5_000 { view.offer(sampleHit(filler), "/\(number)") }
        #expect(view.body("/a") == nil)
        #expect(view.isWorthRoom(entryKey("/a")))
    }

    @Test func `A hit too large for the view is not kept and its former is gone`() {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        view.offer(sampleHit("small"), "/a")
        view.offer(sampleHit(String(repeating: "x", count: 1 << 20)), "/a")
        #expect(view.body("/a") == nil)
        #expect(view.bytes == 0)
        let none = ShardedHitView(memoryLimit: 0)
        none.offer(sampleHit("a"), "/a")
        #expect(none.body("/a") == nil)
    }

    @Test func `It holds what a dictionary holds through many changes`() {
        let view = ShardedHitView(memoryLimit: 1 << 30)
        var model: [String: String] = [:]
        var numbers = SystemRandomNumberGenerator()
        for step in 0..<40_000 {
            let target = "/\(UInt64.random(in: 0..<3_000, using: &numbers))"
            if step % 3 == 0 {
                view.invalidate(entryKey(target))
                model[target] = nil
            } else {
                view.offer(sampleHit("\(step)"), target)
                model[target] = "\(step)"
            }
        }
        #expect((0..<3_000).allSatisfy { view.body("/\($0)") == model["/\($0)"] })
    }

    @Test func `Threads look up, publish and invalidate at once, and never see another's or a torn hit`() async {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        let wrong = Tally()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for step in 0..<4_000 {
                        let target = "/\((step &* 7 &+ worker) % 97)"
                        switch step % 4 {
                        case 0: view.offer(sampleHit(String(repeating: target, count: 40)), target)
                        case 1 where step % 64 == 1: view.invalidate(entryKey(target))
                        case 2 where step % 1_024 == 2: view.invalidateAll()
                        default:
                            if let body = view.body(target), body != String(repeating: target, count: 40) {
                                wrong.add(1)
                            }
                        }
                    }
                }
            }
        }
        #expect(wrong.value == 0)
    }

    @Test func `No stale hit is seen after its invalidation has returned`() async {
        let view = ShardedHitView(memoryLimit: 1 << 20)
        // The truth, changed before the view is told; publishers read it between ticket and publish.
        let truth = Tally()
        let stale = Tally()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<3_000 {
                        let ticket = view.ticket(entryKey("/a"))
                        let read = truth.value
                        view.publish(sampleHit("\(read)"), for: entryKey("/a"), route: .resources, ticket: ticket)
                    }
                }
            }
            group.addTask {
                for number in 1...3_000 {
                    truth.add(1)
                    view.invalidate(entryKey("/a"))
                    if let body = view.body("/a"), body != "\(number)" { stale.add(1) }
                }
            }
        }
        #expect(stale.value == 0)
    }
}

/// A number that threads share.
final class Tally: Sendable {
    private let number = Mutex(0)
    var value: Int { number.withLock { $0 } }
    func add(_ count: Int) { number.withLock { $0 += count } }
}

func sampleHit(_ body: String) -> PreparedHit {
    PreparedHit(
        head: Array("HEAD\r\n\"t\"\r\n".utf8), notModifiedFrom: 6, body: Array(body.utf8),
        etag: 6..<9, bornAt: 1.5, freshUntil: 9, earlierCaches: Array("other; hit, ".utf8))
}

func entryKey(_ target: String, partition: PartitionID = .none) -> EntryKey {
    EntryKey(partition: partition, target: Target(unchecked: target))
}

extension ShardedHitView {
    func offer(_ hit: PreparedHit, _ target: String, route: Route = .resources, partition: PartitionID = .none) {
        let key = entryKey(target, partition: partition)
        publish(hit, for: key, route: route, ticket: ticket(key))
    }

    func look(
        _ target: String, route: Route = .resources, partition: PartitionID = .none,
        selects: (UnsafeRawBufferPointer) -> Bool = { _ in true }, _ body: (HitParts) -> Bool
    ) -> Bool {
        Array(target.utf8).withUnsafeBytes {
            withHit(HitKey(partition: partition, route: route, target: $0), selects: selects, body)
        }
    }

    func body(_ target: String, route: Route = .resources, partition: PartitionID = .none) -> String? {
        var found: String?
        _ = look(target, route: route, partition: partition) { parts in
            found = String(decoding: parts.body, as: UTF8.self)
            return true
        }
        return found
    }
}
