import CacheCore
import HTTPModel
import Synchronization

/// Whose requests are that carry credentials, as far as the slow way has found out: so the hot path needs no keyed hash. Only for
/// credentials that alone name the partition, byte for byte and in the order in which they came. Safe from any thread.
final class HitIdentities: Sendable {
    private struct Known {
        /// `name:value` and a line feed for each field, the name in lower case.
        var credentials: [UInt8]
        var partition: PartitionID
    }

    private struct State {
        var table: [UInt64: Known] = [:]
        /// What was learnt counts under these alone.
        var settings: HotSettings?
    }

    private static let limit = 4096

    private let state = Mutex(State())

    /// Remembers the partition of a request that the slow way has answered.
    func learn(_ request: ResourceRequest, _ settings: HotSettings) {
        // A rule may take another part of the same credentials for another path; further fields are not known to the hot path.
        guard request.key.partition != .none, request.settings.partitionBy.isEmpty,
            request.settings.credentialFields.isEmpty
        else { return }
        var credentials: [UInt8] = []
        for field in request.credentials {
            credentials += field.name.asciiLowercased.utf8
            credentials.append(UInt8(ascii: ":"))
            credentials += field.value.fieldBytes
            credentials.append(UInt8(ascii: "\n"))
        }
        let hash = credentials.reduce(Self.start) { Self.fold($0, $1) }
        let known = Known(credentials: credentials, partition: request.key.partition)
        state.withLock { state in
            if state.settings !== settings || state.table.count >= Self.limit { state = State(settings: settings) }
            state.table[hash] = known
        }
    }

    /// The partition of a request with credentials; nil where it is not known.
    func partition(
        of fields: UnsafeBufferPointer<RawRequest.FieldSlices>, in bytes: UnsafeRawBufferPointer,
        _ settings: HotSettings
    ) -> PartitionID? {
        var hash = Self.start
        Self.eachByte(of: fields, in: bytes) { hash = Self.fold(hash, $0) }
        return state.withLock { state in
            guard state.settings === settings, let known = state.table[hash] else { return nil }
            var isSame = true
            var place = 0
            Self.eachByte(of: fields, in: bytes) { byte in
                isSame = isSame && place < known.credentials.count && known.credentials[place] == byte
                place += 1
            }
            return isSame && place == known.credentials.count ? known.partition : nil
        }
    }

    private static let start: UInt64 = 0xCBF2_9CE4_8422_2325

    /// FNV-1a: a collision costs the slow way, since the bytes are compared.
    private static func fold(_ hash: UInt64, _ byte: UInt8) -> UInt64 { (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }

    private static func eachByte(
        of fields: UnsafeBufferPointer<RawRequest.FieldSlices>, in bytes: UnsafeRawBufferPointer,
        _ body: (UInt8) -> Void
    ) {
        for field in fields where PlainFields.isCredential(bytes[field.name]) {
            for byte in bytes[field.name] { body(byte.asciiLowercased) }
            body(UInt8(ascii: ":"))
            for byte in bytes[field.value] { body(byte) }
            body(UInt8(ascii: "\n"))
        }
    }
}
