import CCurl

/// Why a text can't be the origin's base; `description` is for the operator.
package struct OriginBaseError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}

/// The origin's base URL, checked: `http` or `https`, a host, perhaps a port and a path prefix; never ends in `/`.
package struct OriginBase: Sendable, Hashable {
    /// `https://host:port/prefix`
    package let text: String
    /// The path that goes before each target: empty, or `/prefix`.
    let prefix: String
    let isTLS: Bool

    /// Reads and checks a base URL.
    package init(_ text: String) throws(OriginBaseError) {
        func refuse(_ reason: String) -> OriginBaseError {
            OriginBaseError(
                description:
                    "the origin \"\(text)\" \(reason); allowed is http://HOST[:PORT][/PATH] or the same with https")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw refuse("has a space or a letter outside ASCII")
        }
        guard let url = unsafe curl_url() else { throw refuse("could not be read") }
        defer { unsafe curl_url_cleanup(url) }
        guard unsafe curl_url_set(url, CURLUPART_URL, text, UInt32(CURLU_PATH_AS_IS)) == CURLUE_OK else {
            throw refuse("is not a URL")
        }
        func part(_ part: CURLUPart) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(url, part, &value, 0) == CURLUE_OK, let value = unsafe value else { return nil }
            defer { unsafe curl_free(value) }
            return unsafe String(cString: value)
        }
        guard let scheme = part(CURLUPART_SCHEME), scheme == "http" || scheme == "https" else {
            throw refuse("has another scheme")
        }
        guard part(CURLUPART_USER) == nil, part(CURLUPART_PASSWORD) == nil else {
            throw refuse("holds a user name (configure a credential instead)")
        }
        guard !text.utf8.contains(UInt8(ascii: "?")), !text.utf8.contains(UInt8(ascii: "#")) else {
            throw refuse("has a query or a fragment")
        }
        guard let host = part(CURLUPART_HOST), !host.isEmpty else { throw refuse("names no host") }
        var path = Substring(part(CURLUPART_PATH) ?? "")
        while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        prefix = String(path)
        isTLS = scheme == "https"
        self.text = scheme + "://" + host + (part(CURLUPART_PORT).map { ":" + $0 } ?? "") + prefix
    }
}
