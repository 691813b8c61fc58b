import HTTPModel

/// One line of a snapshot (design 9): a JSON object with one member that says what it is, and last `check`, the first 64 bits of
/// the SHA-256 of all bytes before that, so that a damaged line is told from the others.
///
/// A snapshot is the header, then each entry followed by the bodies of its copies in pieces, then the end.
package enum SnapshotLine: Sendable {
    case header(SnapshotHeader)
    /// The contents of its copies have length and digest alone. `partitionKey`: where it is not the header's.
    case entry(Entry, partitionKey: [UInt8]?)
    /// The next bytes of the body that is not whole yet.
    case body([UInt8])
    /// How many entries there are, and the digest of all lines before.
    case end(entries: Int64, digest: Digest)

    /// What later versions may raise; lines of an earlier one are read by each later one.
    package static let version = 1
    /// Bytes of a body that one line holds; divisible by three, so that all but the last have no padding.
    package static let pieceLength = 48 << 10
    /// Bytes of a line, its end included.
    package static let lineLimit = 8 << 20
}

package struct SnapshotHeader: Sendable, Hashable {
    /// Seconds since 1970.
    package var createdAt: Double
    /// The secret that the partitions of the entries are made with; nil where it holds what is nobody's alone.
    package var partitionKey: [UInt8]?

    package init(createdAt: Double, partitionKey: [UInt8]?) {
        self.createdAt = createdAt
        self.partitionKey = partitionKey
    }
}

/// Why a snapshot can't be taken.
package struct SnapshotFlaw: Error, Sendable, Hashable {
    package var line: Int
    package var reason: String

    package init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }
}

extension SnapshotLine {
    /// The bytes with the newline. `digest`: SHA-256.
    package func bytes(_ digest: ([UInt8]) -> Digest) -> [UInt8] {
        var bytes = json.bytes
        bytes.removeLast()
        bytes += Self.checkMember(of: bytes, digest)
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    private static func checkMember(of bytes: [UInt8], _ digest: ([UInt8]) -> Digest) -> [UInt8] {
        Array(",\"check\":\"\(Hex.encode(digest(bytes).bytes.prefix(8)))\"}".utf8)
    }

    private static let checkLength = 28

    /// Reads the line with that number, without its newline.
    package init(_ bytes: [UInt8], number: Int, _ digest: ([UInt8]) -> Digest) throws(SnapshotFlaw) {
        let content = Array(bytes.dropLast(Self.checkLength))
        guard Self.checkMember(of: content, digest).elementsEqual(bytes.suffix(Self.checkLength)) else {
            throw SnapshotFlaw(line: number, reason: "it is cut or corrupt")
        }
        let json: JSONValue
        do { json = try JSONValue(parsing: content + [UInt8(ascii: "}")]) } catch {
            throw SnapshotFlaw(line: number, reason: "it is no JSON: \(error)")
        }
        do { self = try Self(json: json) } catch {
            throw SnapshotFlaw(line: number, reason: error.detail)
        }
    }

    private var json: JSONValue {
        switch self {
        case .header(let header):
            .object([
                "holdfast": .object(omittingNil: [
                    "snapshot": JSONValue(Self.version), "createdAt": .string(Timestamp.format(header.createdAt)),
                    "partitionKey": header.partitionKey.map { .string(Base64.encode($0)) },
                ])
            ])
        case .entry(let entry, let key):
            .object(omittingNil: [
                "entry": entry.snapshotJSON, "partitionKey": key.map { .string(Base64.encode($0)) },
            ])
        case .body(let bytes): .object(["body": .string(Base64.encode(bytes))])
        case .end(let entries, let digest):
            .object(["end": .object(["entries": JSONValue(entries), "sha256": .string(digest.hex)])])
        }
    }

    private init(json: JSONValue) throws(Problem) {
        if let header = json["holdfast"] {
            guard let version = header["snapshot"]?.int, version <= Self.version else {
                throw Self.flaw("it is of a later version than \(Self.version)")
            }
            let createdAt = header["createdAt"]?.string.flatMap { Timestamp.parse($0) }
            self = .header(
                SnapshotHeader(createdAt: createdAt ?? 0, partitionKey: try Self.bytes(header["partitionKey"])))
        } else if let entry = json["entry"] {
            self = .entry(try Entry(snapshot: entry), partitionKey: try Self.bytes(json["partitionKey"]))
        } else if let body = json["body"], let bytes = try Self.bytes(body) {
            self = .body(bytes)
        } else if let entries = json["end"]?["entries"]?.int, let digest = Digest(hex: json["end"]?["sha256"]?.string) {
            self = .end(entries: Int64(entries), digest: digest)
        } else {
            throw Self.flaw("it is no line of a snapshot")
        }
    }

    private static func bytes(_ json: JSONValue?) throws(Problem) -> [UInt8]? {
        guard let json else { return nil }
        guard let bytes = json.string.flatMap({ Base64.decode($0) }) else {
            throw flaw("it has text that is no Base64")
        }
        return bytes
    }

    static func flaw(_ reason: String) -> Problem { Problem(.badSnapshot, reason) }
}
