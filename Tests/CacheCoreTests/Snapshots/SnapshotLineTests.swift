import CacheCore
import HTTPModel
import Testing

@Suite("Lines of a snapshot")
struct SnapshotLineTests {
    /// Stands for SHA-256: other bytes, another value.
    private static func digest(_ bytes: [UInt8]) -> Digest {
        let sum = bytes.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        return Digest(bytes: (0..<32).map { UInt8(truncatingIfNeeded: sum >> (UInt64($0 % 8) * 8)) })
    }

    private func read(_ bytes: [UInt8], number: Int = 1) throws(SnapshotFlaw) -> SnapshotLine {
        try SnapshotLine(bytes, number: number, Self.digest)
    }

    private func written(_ line: SnapshotLine) -> [UInt8] {
        let bytes = line.bytes(Self.digest)
        #expect(bytes.last == UInt8(ascii: "\n"))
        return Array(bytes.dropLast())
    }

    /// A line of that text, with the check that it needs.
    private func line(_ text: String) -> [UInt8] {
        let content = Array(text.utf8.dropLast())
        return content + Array(",\"check\":\"\(Hex.encode(Self.digest(content).bytes.prefix(8)))\"}".utf8)
    }

    private func reason(_ text: String) -> String? {
        do {
            _ = try read(line(text), number: 7)
            return nil
        } catch {
            #expect(error.line == 7)
            return error.reason
        }
    }

    private static let entry: Entry = {
        var entry = Entry(key: EntryKey(partition: .none, target: Target(unchecked: "/items/%2F?a=é")))
        entry.policy.expireAfter = 7
        entry.pins = Pins(own: .high, ancillary: [Target(unchecked: "/items?a=é"): .normal])
        entry.lastSync = 1_700_000_000.5
        entry.copies = [
            ServerCopy(
                status: 200, fields: ["Content-Type": "text/plain", "ETag": "\"a\\\"", "X-Text": "grün\tund blau"],
                content: Content(digest: digest([1]), length: 9, inline: nil), requestTime: 1, responseTime: 2,
                selecting: [HTTPField("accept-language", "de")], isExpired: true, isListed: true,
                explicitFreshnessOnly: true, epoch: 0),
            ServerCopy(
                status: 404, fields: HTTPFields(), content: Content(digest: digest([]), length: 0, inline: nil),
                requestTime: 3, responseTime: 4, epoch: 0),
        ]
        return entry
    }()

    @Test("an entry is read as it was written")
    func entries() throws {
        guard case .entry(let entry, let key) = try read(written(.entry(Self.entry, partitionKey: [1, 2, 3]))) else {
            Issue.record("no entry")
            return
        }
        #expect(entry == Self.entry)
        #expect(key == [1, 2, 3])
    }

    @Test("header, body and end are read as they were written", arguments: [nil, [UInt8](repeating: 255, count: 32)])
    func others(key: [UInt8]?) throws {
        let header = SnapshotHeader(createdAt: 1_700_000_000, partitionKey: key)
        guard case .header(let read) = try read(written(.header(header))) else {
            Issue.record("no header")
            return
        }
        #expect(read == header)
        let bytes = (0...255).map { UInt8($0) }
        guard case .body(bytes) = try self.read(written(.body(bytes))) else {
            Issue.record("no body")
            return
        }
        guard case .end(3, Self.digest(bytes)) = try self.read(written(.end(entries: 3, digest: Self.digest(bytes))))
        else {
            Issue.record("no end")
            return
        }
    }

    @Test("a line with any other byte, or cut anywhere, is refused by its number")
    func damaged() throws {
        let whole = written(.entry(Self.entry, partitionKey: nil))
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 1
            for bytes in [damaged, Array(whole.prefix(index))] {
                #expect(throws: SnapshotFlaw(line: 3, reason: "it is cut or corrupt")) { try read(bytes, number: 3) }
            }
        }
    }

    @Test("what a later version wrote is told from damage")
    func later() {
        #expect(reason(#"{"holdfast":{"snapshot":2}}"#) == "it is of a later version than 1")
        #expect(reason(#"{"holdfast":{}}"#) != nil)
        #expect(reason(#"{"holdfast":{"snapshot":1,"unknown":[]}}"#) == nil)
    }

    @Test(
        "what an origin could not have sent is refused",
        arguments: [
            #"{"other":1}"#, #"{"body":"?"}"#, #"{"body":1}"#, #"{"end":{"entries":1}}"#,
            #"{"entry":{"target":"/a"}}"#, #"{"entry":{"target":"/a/../b","copies":[]}}"#,
            #"{"entry":{"target":"/a","pin":"low","copies":[]}}"#,
            #"{"entry":{"target":"/a","partition":"x","copies":[]}}"#,
            #"{"entry":{"target":"/a","policy":{"fetchPolicy":"NO"},"copies":[]}}"#,
            #"{"entry":{"target":"/a","copies":[]},"partitionKey":"?"}"#,
        ])
    func malformed(text: String) { #expect(reason(text) != nil) }

    @Test(
        "neither is a copy of",
        arguments: [
            #""status":206"#, #""status":304"#, #""status":500"#, #""length":-1"#, #""sha256":"00""#,
            #""fields":[["X-A"]]"#, #""fields":[["X A","1"]]"#, #""fields":[["X-A","1\r\nX-B: 2"]]"#,
            #""fields":[["X-A","\u0000"]]"#, #""selecting":[["a"]]"#,
        ])
    func copies(member: String) {
        let digest = String(repeating: "0", count: 64)
        let sound = [
            #""status":200"#, #""fields":[]"#, #""length":1"#, #""sha256":"\#(digest)""#, #""requestTime":1"#,
            #""responseTime":2"#,
        ]
        func entry(_ members: [String]) -> String {
            #"{"entry":{"target":"/a","copies":[{\#(members.joined(separator: ","))}]}}"#
        }
        #expect(reason(entry(sound)) == nil)
        let name = member.prefix { $0 != ":" }
        #expect(reason(entry(sound.filter { !$0.hasPrefix(name) } + [member])) != nil)
        if name != #""fields""#, name != #""selecting""# {
            #expect(reason(entry(sound.filter { !$0.hasPrefix(name) })) != nil)
        }
    }
}
