extension PathPattern {
    /// Whether the pattern covers a path (relative to the origin's base, without a query). `*` is one whole segment, which may
    /// be empty; a trailing `**` any rest, also none: `/items/**` covers `/items` and `/items/`. Bytes are compared as they
    /// are. A missing `/` at the start, of the pattern or of the path, counts as there.
    package func matches(_ path: Substring) -> Bool { covers(Self.segments(of: path)[...], isOpen: false) }

    /// Whether every path that the other one matches is matched by this one too.
    package func covers(_ other: PathPattern) -> Bool {
        let other = other.shape
        return covers(other.fixed, isOpen: other.isOpen)
    }

    /// Whether there are paths that both match.
    package func overlaps(_ other: PathPattern) -> Bool {
        let (mine, its) = (shape, other.shape)
        let isLongEnough =
            mine.fixed.count == its.fixed.count || (mine.fixed.count < its.fixed.count ? mine : its).isOpen
        return isLongEnough
            && zip(mine.fixed, its.fixed).allSatisfy { one, other in
                Self.isAny(one) || Self.isAny(other) || one.elementsEqual(other)
            }
    }

    private func covers(_ segments: ArraySlice<Substring.UTF8View>, isOpen: Bool) -> Bool {
        let mine = shape
        guard mine.isOpen ? segments.count >= mine.fixed.count : !isOpen && segments.count == mine.fixed.count else {
            return false
        }
        return zip(mine.fixed, segments).allSatisfy { part, segment in
            Self.isAny(part) || part.elementsEqual(segment)
        }
    }

    /// The segments, and whether any rest may follow.
    private var shape: (fixed: ArraySlice<Substring.UTF8View>, isOpen: Bool) {
        let segments = Self.segments(of: text[...])
        let isOpen = segments.last.map { $0.elementsEqual("**".utf8) } ?? false
        return (isOpen ? segments.dropLast() : segments[...], isOpen)
    }

    private static func isAny(_ segment: Substring.UTF8View) -> Bool { segment.elementsEqual("*".utf8) }

    /// What `isWellFormed` asks for, as a text.
    package static let rules = "* is a whole segment, ** one at the end"

    /// Whether each `*` means something: in any other place it would stand for itself, and the pattern for nothing.
    package var isWellFormed: Bool {
        shape.fixed.allSatisfy { Self.isAny($0) || !$0.contains(UInt8(ascii: "*")) }
    }

    /// How narrow the pattern is, to find the most specific of several: segments that are given count most, then `*`.
    package var specificity: Int {
        Self.segments(of: text[...]).reduce(0) { sum, part in
            sum + (part.elementsEqual("**".utf8) ? 0 : Self.isAny(part) ? 1 : 1000)
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
