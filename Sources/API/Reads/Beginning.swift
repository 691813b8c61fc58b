/// The beginning of an answer that a stored one could stand in for: what is so short that its end is seen in time is held back
/// until it is whole (RFC 9111 4.2.4).
enum Beginning {
    case read([[UInt8]])
    case failed

    private static let limit = 64 << 10

    static func of(_ reader: SpoolReader) async -> Beginning {
        var pieces: [[UInt8]] = []
        var count = 0
        do {
            while count < limit, let piece = try await reader.next() {
                pieces.append(piece)
                count += piece.count
            }
            return .read(pieces)
        } catch {
            return .failed
        }
    }
}
