package import HTTPModel

/// What a request asks for under /resources or /files, taken apart and checked (design 1, "target"; 2, last paragraph).
package struct ParsedTarget: Sendable, Hashable {
    package var route: Route
    /// For the origin: byte for byte, without the parameters that are for Holdfast.
    package var target: Target
    /// The flag as parameter or field; nil where absent.
    package var saveIfOffline: Bool?
    package var deleteIfOffline: Bool?
    /// Whether GET or HEAD asks for the server copy.
    package var persistentState: Bool

    /// nil: neither under /resources nor under /files. Takes origin-form and, whatever its host, absolute-form. Throws
    /// `bad-target`: for control characters, space, `#`, a backslash, a dot segment (also `%2e`), `//` at the start, and for a
    /// flag that is neither true nor false or says both. `reservedParameters`: whether the query may hold the flags.
    package static func parse(
        rawTarget: String, method: HTTPMethod, fields: HTTPFields, reservedParameters: Bool
    ) throws(Problem) -> ParsedTarget? {
        let origin = originForm(of: rawTarget)
        guard let (route, rest) = split(origin) else { return nil }
        try check(rest)
        let isRead = method == .get || method == .head
        var flags = Flags()
        var target = String(rest)
        if reservedParameters {
            target = try flags.take(from: rest, includingPersistentState: isRead)
        }
        for value in fields.values("Save-If-Offline") { try flags.set(\.save, to: value, name: "Save-If-Offline") }
        for value in fields.values("Delete-If-Offline") {
            try flags.set(\.delete, to: value, name: "Delete-If-Offline")
        }
        return ParsedTarget(
            route: route, target: Target(unchecked: target), saveIfOffline: flags.save,
            deleteIfOffline: flags.delete, persistentState: flags.persistent ?? false)
    }

    /// Without scheme and authority of absolute-form (RFC 9112 3.2.2).
    private static func originForm(of target: String) -> Substring {
        guard target.utf8.first != UInt8(ascii: "/") else { return target[...] }
        for scheme in ["http://", "https://"] where target.prefix(scheme.count).equalsIgnoringASCIICase(scheme) {
            let rest = target.utf8.dropFirst(scheme.utf8.count)
            return Substring(rest.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") })
        }
        return target[...]
    }

    private static func split(_ target: Substring) -> (Route, Substring)? {
        for route in [Route.resources, .files] where target.utf8.starts(with: route.prefix.utf8) {
            let rest = Substring(target.utf8.dropFirst(route.prefix.utf8.count))
            guard let first = rest.utf8.first else { return (route, rest) }
            return first == UInt8(ascii: "/") || first == UInt8(ascii: "?") ? (route, rest) : nil
        }
        return nil
    }

    fileprivate static func check(_ target: Substring) throws(Problem) {
        guard !target.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "#") }) else {
            throw Problem(.badTarget, "Spaces, control characters and # must be percent-encoded in the target.")
        }
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard !path.contains(UInt8(ascii: "\\")) else {
            throw Problem(.badTarget, "A backslash in the path must be written as %5C.")
        }
        guard !path.starts(with: "//".utf8) else {
            throw Problem(.badTarget, "The target must not begin with //.")
        }
        guard path.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") }) else { return }
        for segment in path.split(separator: UInt8(ascii: "/")) where isDotSegment(Substring(segment)) {
            throw Problem(.badTarget, "Segments . and .. are not resolved here, also not as %2e. Resolve them first.")
        }
    }

    private static func isDotSegment(_ segment: Substring) -> Bool {
        guard segment.utf8.count <= 6 else { return false }
        let plain = Percent.decode(segment)
        return plain == "." || plain == ".."
    }
}

extension Target {
    /// Whether a client could ask for it: what `ParsedTarget.parse` would take under /resources.
    var isAskable: Bool {
        do throws(Problem) {
            try ParsedTarget.check(text[...])
            return true
        } catch {
            return false
        }
    }
}

/// The parameters that are for Holdfast.
private struct Flags {
    var save: Bool?
    var delete: Bool?
    var persistent: Bool?

    /// Takes the flags out of the query; a `?` that nothing follows then goes with them.
    mutating func take(from target: Substring, includingPersistentState: Bool) throws(Problem) -> String {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return String(target) }
        let query = target.utf8[target.utf8.index(after: mark)...]
        var kept: [Substring.UTF8View] = []
        var isChanged = false
        for piece in query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
            let name = String(Substring(piece[..<equals]))
            let value = String(Substring(piece[equals...].dropFirst()))
            switch name {
            case "saveIfOffline": try set(\.save, to: value, name: name)
            case "deleteIfOffline": try set(\.delete, to: value, name: name)
            case "persistentState" where includingPersistentState: try set(\.persistent, to: value, name: name)
            default:
                kept.append(piece)
                continue
            }
            isChanged = true
        }
        guard isChanged else { return String(target) }
        let path = String(target[..<mark])
        return kept.isEmpty ? path : path + "?" + kept.map { String(Substring($0)) }.joined(separator: "&")
    }

    mutating func set(_ flag: WritableKeyPath<Flags, Bool?>, to text: String, name: String) throws(Problem) {
        guard text == "true" || text == "false" else {
            throw Problem(.badTarget, "\(name) is true or false.")
        }
        let value = text == "true"
        guard self[keyPath: flag].map({ $0 == value }) ?? true else {
            throw Problem(.badTarget, "\(name) is given twice, as true and as false.")
        }
        self[keyPath: flag] = value
    }
}
