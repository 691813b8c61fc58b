import CacheCore
import HTTPModel

/// What Repr-Digest and Content-Digest of a message say of its body (RFC 9530), compared with the bytes as they pass by. Used from
/// one task at a time.
final class DigestCheck: Sendable {
    private struct Expectation {
        var field: String
        var algorithm: HashAlgorithm
        var bytes: [UInt8]
    }

    private let expectations: [Expectation]
    private let hashes: [HashAlgorithm: any RunningHash]

    /// nil where nothing is stated that can be checked. Throws `bad-request` for a field that can't be read.
    init?(
        _ head: HTTPFields, fields: [String] = DigestFields.names, _ makeHash: (HashAlgorithm) -> any RunningHash
    ) throws {
        var expectations: [Expectation] = []
        for field in fields {
            guard let value = head.combined(field) else { continue }
            guard let dictionary = SFDictionary(parsing: value) else {
                throw Problem(.badRequest, "\(field) is no structured dictionary (RFC 9530).")
            }
            for algorithm in HashAlgorithm.allCases {
                guard let member = dictionary[algorithm.rawValue] else { continue }
                guard case .byteSequence(let bytes)? = member.item?.value, bytes.count == algorithm.length else {
                    throw Problem(
                        .badRequest, "\(algorithm.rawValue) in \(field) is no sequence of \(algorithm.length) bytes.")
                }
                expectations.append(Expectation(field: field, algorithm: algorithm, bytes: bytes))
            }
        }
        guard !expectations.isEmpty else { return nil }
        self.expectations = expectations
        hashes = Dictionary(
            uniqueKeysWithValues: Set(expectations.map(\.algorithm)).map { ($0, makeHash($0)) })
    }

    func update(_ piece: [UInt8]) {
        for hash in hashes.values { hash.update(piece) }
    }

    /// At the end of the body, once. Throws `bad-request` where it is another one than was stated.
    func verify() throws {
        if let field = refutedField() {
            throw Problem(.badRequest, "The body is not the one that \(field) describes. Send it again.")
        }
    }

    /// At the end of the body, once, in place of `verify`: whether it is the one that was stated.
    func holds() -> Bool { refutedField() == nil }

    private func refutedField() -> String? {
        let found = hashes.mapValues { $0.finish() }
        return expectations.first { found[$0.algorithm] != $0.bytes }?.field
    }
}
