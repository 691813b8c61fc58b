extension PathPattern {
    /// Whether the pattern covers a path (relative to the origin's base, without a query). `*` is one whole segment, which may
    /// be empty; a trailing `**` any rest, also none: `/items/**` covers `/items` and `/items/`. Bytes are compared as they
    /// are. A missing `/` at the start, of the pattern or of the path, counts as there.
    package func matches(_ path: Substring) -> Bool {
        let pattern = Self.segments(of: text[...])
        let path = Self.segments(of: path)
        let isOpen = pattern.last.map { $0.elementsEqual("**".utf8) } ?? false
        let fixed = isOpen ? pattern.dropLast() : pattern[...]
        guard isOpen ? path.count >= fixed.count : path.count == fixed.count else { return false }
        return zip(fixed, path).allSatisfy { part, segment in
            part.elementsEqual("*".utf8) || part.elementsEqual(segment)
        }
    }

    /// How narrow the pattern is, to find the most specific of several: segments that are given count most, then `*`.
    package var specificity: Int {
        Self.segments(of: text[...]).reduce(0) { sum, part in
            sum + (part.elementsEqual("**".utf8) ? 0 : part.elementsEqual("*".utf8) ? 1 : 1000)
        }
    }

    private static func segments(of path: Substring) -> [Substring.UTF8View] {
        let bytes = path.utf8.first == UInt8(ascii: "/") ? path.utf8.dropFirst() : path.utf8
        return bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }
}

extension PolicyTable {
    /// What the configuration says of a target: the fields of the first pattern that matches, missing ones from the default.
    package func layer(for target: Target) -> PolicyLayer {
        let path = target.path
        guard var layer = rules.first(where: { $0.pattern.matches(path) })?.layer else { return defaultLayer }
        layer.merge(over: defaultLayer)
        return layer
    }
}
