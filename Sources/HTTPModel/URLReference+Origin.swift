extension URLReference {
    /// The URL of a target under the origin's base: `https://host/api` and `/items?x=1` give `https://host/api/items?x=1`.
    /// Targets begin with `/` or `?`, or are empty.
    package static func url(of target: some StringProtocol, under base: String) -> String {
        let isSlashDoubled = base.utf8.last == UInt8(ascii: "/") && target.utf8.first == UInt8(ascii: "/")
        return (isSlashDoubled ? String(base.dropLast()) : base) + target
    }

    /// A reference found in an answer for `target` (Location, Content-Location, a link) as an absolute URL. It may be
    /// absolute, begin with `//host` or `/`, be relative to the target, or be a query alone. A fragment is dropped.
    package static func resolve(_ reference: String, at target: String, under base: String) -> String {
        let reference = String(reference.trimmingFieldSpace)
        var url = URLReference(reference).resolved(against: URLReference(Self.url(of: target, under: base)))
        url.fragment = nil
        return url.text
    }

    /// The target of an absolute URL that lies under the origin's base: what stands behind the base, beginning with `/` or
    /// `?`, or empty. nil where scheme, host or port differ (a default port equals none), where the path does not begin with
    /// the base's at the end of a segment once dot segments are gone, or where the text could not stand in a request line.
    package static func originForm(of url: String, under base: String) -> String? {
        let location = URLReference(url)
        let root = URLReference(base)
        guard location.hasSameOrigin(as: root), !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            return nil
        }
        let path = removingDotSegments(location.path)
        let prefix = root.path.utf8.last == UInt8(ascii: "/") ? root.path.dropLast() : root.path[...]
        guard path.utf8.starts(with: prefix.utf8) else { return nil }
        let rest = path.utf8.dropFirst(prefix.utf8.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { return nil }
        return String(Substring(rest)) + (location.query.map { "?" + $0 } ?? "")
    }
}
