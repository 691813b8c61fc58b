import CacheCore
import HTTPModel
import Testing

@Suite("Identity and secrets (design 1, 4, 10)")
struct IdentityTests {
    /// Stands for the keyed hash: equal for equal bytes.
    private func hash(_ bytes: [UInt8]) -> PartitionID {
        PartitionID(high: 1, low: bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 })
    }

    private func identity(_ fields: HTTPFields, part: IdentityPart? = nil) -> Identity {
        var settings = Settings()
        if let part { settings.partitionBy = [PartitionRule(path: PathPattern("**"), part: part)] }
        return Identity.of(fields: fields, target: Target(unchecked: "/a"), settings: settings, hash: hash)
    }

    @Test("Without credentials there is no partition; the access token is none")
    func nobody() {
        #expect(identity(["Holdfast-Token": "t", "Accept": "*/*"]).partition == .none)
    }

    @Test("Other credentials are another partition, their order and case of names is not")
    func whole() {
        let one = identity(["Authorization": "a", "cookie": "b"])
        #expect(one.partition == identity(["Cookie": "b", "authorization": "a"]).partition)
        #expect(one.partition != identity(["Authorization": "b"]).partition && !one.isPartial)
    }

    @Test("partitionBy stays through renewals")
    func parts() {
        // {"iss":"i","sub":"u"} behind two signatures
        let payload = "eyJpc3MiOiJpIiwic3ViIjoidSJ9"
        let part = IdentityPart.jwt(claims: ["iss", "sub"])
        let one = identity(["Authorization": "Bearer h.\(payload).s1"], part: part)
        #expect(
            one.isPartial
                && one.partition == identity(["Authorization": "Bearer h.\(payload).s2"], part: part).partition)
        #expect(!identity(["Authorization": "Bearer opaque"], part: part).isPartial)
        let sid = IdentityPart.cookies(names: ["sid"])
        #expect(
            identity(["Cookie": "x=1; sid=7"], part: sid).partition
                == identity(["Cookie": "sid=7; x=2"], part: sid).partition)
        let user = identity(["Authorization": "Basic dTpwMQ=="], part: .basicUser)
        #expect(user.partition == identity(["Authorization": "basic dTpwMg=="], part: .basicUser).partition)
    }

    @Test("Replayed and shown fields hold no secret")
    func secrets() {
        let fields: HTTPFields = [
            "Authorization": "a", "X-CSRF-Token": "b", "If-Match": "\"c\"", "Content-Type": "d", "Sec-Fetch-Mode": "e",
        ]
        #expect(Secrets.replayable(fields, settings: Settings()) == ["Content-Type": "d"])
        #expect(Secrets.redacted(fields, settings: Settings())["Authorization"] == "•")
        #expect(Secrets.hasSecretParameter(Target(unchecked: "/a?x=1&api%5Fkey=2"), settings: Settings()))
        #expect(!Secrets.hasSecretParameter(Target(unchecked: "/key?monkey=2"), settings: Settings()))
    }

    @Test("Ids are 26 characters and sort in the order in which they were made")
    func ids() {
        let made = (0..<1000).map { _ in IDs.operation(now: 1_700_000_000) }
        #expect(made == made.sorted() && Set(made).count == 1000 && made.allSatisfy { $0.text.utf8.count == 26 })
    }
}

@Suite("Kept credentials")
struct CredentialKeeperTests {
    private let keeper = CredentialKeeper()
    private let partition = PartitionID(high: 1, low: 1)
    private let one: HTTPFields = ["Authorization": "Bearer T1"]
    private let two: HTTPFields = ["Authorization": "Bearer T2"]

    @Test("a value that came with a queued write is used where none is known, and proves nothing")
    func offered() {
        keeper.offered(one, for: partition)
        #expect(keeper.fields(for: partition) == one)
        #expect(!keeper.isProven(one, for: partition))
    }

    @Test("a value that came with a queued write replaces none that the origin has accepted")
    func offeredLater() {
        keeper.accepted(one, for: partition)
        keeper.offered(two, for: partition)
        #expect(keeper.fields(for: partition) == one)
    }

    @Test("a refused value gives way to the newest that was accepted")
    func refused() {
        keeper.accepted(one, for: partition)
        keeper.accepted(two, for: partition)
        keeper.refused(two, for: partition)
        #expect(keeper.fields(for: partition) == one)
        keeper.refused(one, for: partition)
        #expect(keeper.fields(for: partition) == nil)
    }

    @Test("without end values are not kept: those used least recently go, but for those that are needed")
    func bounded() {
        let keeper = CredentialKeeper(limit: 1 << 20)
        @Sendable func partition(_ number: UInt64) -> PartitionID { PartitionID(high: 2, low: number) }
        func fields(_ number: UInt64) -> HTTPFields {
            ["Authorization": String(repeating: "x", count: 1_000) + "\(number)"]
        }
        keeper.keep { [partition(1)] }
        for number in 1...10_000 as ClosedRange<UInt64> {
            if number % 2 == 0 {
                keeper.accepted(fields(number), for: partition(number))
            } else {
                keeper.offered(fields(number), for: partition(number))
            }
            _ = keeper.isProven(fields(2), for: partition(2))
        }
        #expect(keeper.fields(for: partition(1)) == fields(1))
        #expect(keeper.isProven(fields(2), for: partition(2)))
        #expect(keeper.fields(for: partition(10_000)) == fields(10_000))
        let kept = (1...10_000).filter { keeper.fields(for: partition($0)) != nil }.count
        #expect(kept > 500 && kept <= 1_024)
    }

    @Test("one identity's values without end leave the others theirs")
    func manyOfOne() {
        let keeper = CredentialKeeper(limit: 1 << 20)
        keeper.accepted(one, for: partition)
        let other = PartitionID(high: 1, low: 2)
        for number in 0..<10_000 {
            keeper.accepted(["Authorization": String(repeating: "x", count: 1_000) + "\(number)"], for: other)
        }
        #expect(keeper.fields(for: partition) == one)
    }
}
