import CacheCore
import Testing

@Suite struct `Log of expiries` {
    private func key(_ target: String) -> EntryKey { EntryKey(partition: .none, target: Target(unchecked: target)) }

    @Test func `A ticket knows what expired after it was taken, and not before`() {
        let log = ExpiryLog()
        log.note([.expire(key("/a"))])
        let ticket = log.ticket
        #expect(!log.hasExpired(key("/a"), since: ticket))
        log.note([.expire(key("/a"))])
        #expect(log.hasExpired(key("/a"), since: ticket))
        #expect(!log.hasExpired(key("/b"), since: ticket))
        #expect(
            !log.hasExpired(EntryKey(partition: PartitionID(high: 1, low: 2), target: key("/a").target), since: ticket))
    }

    @Test func `A path expires with every query`() {
        let log = ExpiryLog()
        log.note([.expirePath(.none, path: "/a")])
        for target in ["/a", "/a?", "/a?b=c"] { #expect(log.hasExpired(key(target), since: 0)) }
        for target in ["/", "/a/", "/a/b", "/ab"] { #expect(!log.hasExpired(key(target), since: 0)) }
    }

    @Test func `What is forgotten counts as expired`() {
        let log = ExpiryLog(limit: 10)
        let before = log.ticket
        for number in 0..<25 { log.note([.removeEntry(key("/\(number)"))]) }
        let after = log.ticket
        #expect(log.hasExpired(key("/0"), since: before))
        #expect(log.hasExpired(key("/other"), since: before))
        #expect(!log.hasExpired(key("/24"), since: after))
    }
}
