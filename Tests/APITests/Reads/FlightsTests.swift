import CacheCore
import HTTPModel
import TestSupport
import Testing

@testable import API

@Suite("Requests under way", .timeLimit(.minutes(1)))
struct FlightsTests {
    private func key(_ target: String) -> Flights.Key {
        Flights.Key(entry: EntryKey(partition: .none, target: Target(unchecked: target)), selecting: [], fill: nil)
    }

    @Test("a read that looked the entry up before a request ended looks again in place of asking")
    func lookAgain() async {
        let fixture = ReadFixture()
        fixture.originSays(200, ["Cache-Control": "max-age=60"], "one")
        let (hasLooked, mayGoOn) = (Latch(), Latch())
        fixture.store.afterLookUp = {
            hasLooked.open()
            await mayGoOn.wait()
        }
        let late = fixture.start(fixture.exchange("/resources/a"))
        await hasLooked.wait()
        fixture.store.afterLookUp = nil
        #expect(await fixture.ask("/resources/a").text == "one")
        await eventually { fixture.flights.count == 0 }
        mayGoOn.open()
        #expect(await late.answer().text == "one")
        #expect(fixture.origin.requests.count == 1)
        #expect(fixture.counters[.misses] == 1)
    }

    @Test("only a request for the same entry that ended since the ticket counts, or one that is forgotten")
    func endings() throws {
        let flights = Flights(expiries: ExpiryLog())
        let ticket = flights.ticket
        let (flight, isNew) = try #require(flights.join(key("/a"), since: ticket))
        #expect(isNew)
        #expect(flights.join(key("/a"), since: ticket)?.isNew == false)
        flight.finish()
        #expect(flights.join(key("/a"), since: ticket) == nil)
        #expect(flights.join(key("/b"), since: ticket)?.isNew == true)
        try #require(flights.join(key("/a"), since: flights.ticket)).flight.finish()
        try #require(flights.join(key("/a"))).flight.finish()
        for _ in 0..<Flights.memory { try #require(flights.join(key("/c"))).flight.finish() }
        #expect(flights.join(key("/d"), since: ticket) == nil)
        #expect(flights.join(key("/a"), since: flights.ticket - Flights.memory)?.isNew == true)
    }
}
