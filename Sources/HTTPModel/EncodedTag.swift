/// Tags that servers decorate for a content coding: Apache sends `"abc-gzip"` for `"abc"` and compares the plain one
/// (RFC 9110 8.8.3.3 asks for different tags, and for these servers to know them).
package enum EncodedTag {
    private static let endings = ["-gzip", "-br", ";gzip"]

    /// The tag without its ending; nil where it has none.
    package static func plain(_ tag: String) -> String? {
        for ending in endings {
            let decorated = ending + "\""
            guard tag.hasSuffix(decorated), tag.utf8.count > decorated.utf8.count + 1 else { continue }
            return String(tag.dropLast(decorated.count)) + "\""
        }
        return nil
    }

    /// Whether both name one representation, weak marks and endings aside.
    package static func same(_ one: String, _ other: String) -> Bool {
        ETag(plain(one) ?? one).weakMatches(ETag(plain(other) ?? other))
    }
}
