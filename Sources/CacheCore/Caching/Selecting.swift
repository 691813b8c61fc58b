package import HTTPModel

/// Which variant of an entry answers a request (RFC 9111 4.1).
package enum Selecting {
    /// The selecting fields of an answer: each name that `vary` (the values of all Vary lines) lists, in lower case and sorted,
    /// with the request's normalised value, "" where absent. `Vary: *` gives the one field `*`.
    package static func fields(vary: [String], request: HTTPFields) -> [HTTPField] {
        let names = names(vary: vary)
        guard !names.contains("*") else { return [HTTPField("*", "")] }
        return names.sorted().map { HTTPField($0, normalised($0, of: request)) }
    }

    /// The names that the values of all Vary lines hold, in lower case.
    static func names(vary: [String]) -> Set<String> {
        Set(vary.flatMap { FieldList.split($0) }.map(\.asciiLowercased))
    }

    /// The first in order of those whose selecting fields are the request's. A copy of `Vary: *` never matches.
    package static func choose(_ copies: [ServerCopy], request: HTTPFields) -> ServerCopy? {
        inOrder(copies).first { matches($0, request: request) }
    }

    /// Whether each request with the copy's own selecting values is answered with it: none that goes before it varies by other
    /// fields and could be selected in its place.
    package static func isDecided(_ copy: ServerCopy, among copies: [ServerCopy]) -> Bool {
        guard copies.count > 1 else { return true }
        let names = copy.selecting.map(\.name)
        return inOrder(copies).prefix { $0 != copy }.allSatisfy { $0.selecting.map(\.name) == names }
    }

    /// Those that are not invalidated first, then the most recent one by Date (RFC 9111 4), where that is not ahead of our clock,
    /// then the one that came last. `copies`: those that came last first.
    private static func inOrder(_ copies: [ServerCopy]) -> [ServerCopy] {
        guard copies.count > 1 else { return copies }
        let dated = copies.enumerated().map { place, copy in
            (copy: copy, date: min(Freshness.date(of: copy), copy.responseTime), place: place)
        }
        return dated.sorted { one, other in
            if one.copy.isExpired != other.copy.isExpired { return other.copy.isExpired }
            return one.date != other.date ? one.date > other.date : one.place < other.place
        }.map(\.copy)
    }

    package static func matches(_ copy: ServerCopy, request: HTTPFields) -> Bool {
        copy.selecting.allSatisfy { $0.name != "*" && normalised($0.name, of: request).hasSameBytes(as: $0.value) }
    }

    /// The request's value of a field, made alike for requests that mean the same: lines combined, no space around commas;
    /// for Accept-Encoding and Accept-Language also case, order, repeats and `q=1`. "" where it is absent.
    package static func normalised(_ name: String, of request: HTTPFields) -> String {
        guard let value = request.combined(name) else { return "" }
        let elements = FieldList.split(value)
        switch name {
        case "accept-encoding", "accept-language":
            return Set(elements.map(preference)).sorted().joined(separator: ",")
        default:
            return elements.joined(separator: ",")
        }
    }

    /// One member of a list of preferences: lower case, without space and without a weight of 1. `x-gzip` is `gzip`
    /// (RFC 9110 8.4.1.3).
    private static func preference(_ element: Substring) -> String {
        var parts = FieldList.split(String(element), separator: UInt8(ascii: ";")).map { part in
            String(decoding: part.utf8.filter { !$0.isFieldSpace }.map(\.asciiLowercased), as: UTF8.self)
        }
        parts.removeAll { ["q=1", "q=1.", "q=1.0", "q=1.00", "q=1.000"].contains($0) }
        if parts.first == "x-gzip" { parts[0] = "gzip" }
        if parts.first == "x-compress" { parts[0] = "compress" }
        return parts.joined(separator: ";")
    }
}
