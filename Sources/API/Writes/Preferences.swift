import HTTPModel

/// What Prefer asks of a write (RFC 7240; design 4).
struct Preferences: Sendable, Hashable {
    enum Return: String, Sendable { case representation, minimal }

    var returns: Return?
    /// Seconds.
    var wait: Double?
    /// Longer waits than this are cut: a connection should not be held for ever.
    private static let longestWait = 600.0

    /// Names and values in any case; the first of a name counts, what can't be read is passed over (RFC 7240 2).
    init(_ fields: HTTPFields) {
        for element in fields.values("Prefer").flatMap({ FieldList.split($0) }) {
            let preference = FieldList.split(String(element), separator: UInt8(ascii: ";")).first ?? ""
            let parts = preference.split(separator: "=", maxSplits: 1).map { $0.trimmingFieldSpace }
            guard parts.count == 2 else { continue }
            let value = FieldList.unquote(parts[1]).asciiLowercased
            if parts[0].equalsIgnoringASCIICase("return") {
                returns = returns ?? Return(rawValue: value)
            } else if parts[0].equalsIgnoringASCIICase("wait"), wait == nil, let seconds = UInt32(value) {
                wait = min(Double(seconds), Self.longestWait)
            }
        }
    }
}
