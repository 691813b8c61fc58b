package import CacheCore
package import HTTPModel

/// A sign that an answer is a captive portal's and not the origin's (design 8).
package enum PortalSign: Sendable, Hashable {
    case redirectToOtherHost
    /// 511 Network Authentication Required (RFC 6585 6).
    case networkAuthentication
    /// text/html where JSON is expected, over http and without an identity check.
    case unexpectedHTML

    /// The sign that an answer shows; nil where it shows none.
    /// - Parameters:
    ///   - base: the origin's base URL.
    ///   - target: what was asked for.
    ///   - expectsJSON: whether the entry, the client's Accept or the request says JSON.
    ///   - hasIdentityCheck: whether `probe.header` is configured: then a page proves nothing either way.
    package static func of(
        status: Int, fields: HTTPFields, base: String, target: String, expectsJSON: Bool, hasIdentityCheck: Bool
    ) -> PortalSign? {
        if status == 511 { return .networkAuthentication }
        if (300...399).contains(status), status != 304, let location = fields["Location"] {
            let url = URLReference(URLReference.resolve(location, at: target, under: base))
            if url.host != URLReference(base).host { return .redirectToOtherHost }
        }
        let isPlain = base.asciiLowercased.hasPrefix("http:")
        if expectsJSON, isPlain, !hasIdentityCheck, isHTML(fields) { return .unexpectedHTML }
        return nil
    }

    /// Whether the answer says text/html or XHTML.
    package static func isHTML(_ fields: HTTPFields) -> Bool {
        guard let type = fields["Content-Type"].flatMap({ MediaType($0) }) else { return false }
        return type.essence == "text/html" || type.essence == "application/xhtml+xml"
    }
}

/// What the answer to a probe or to a confirming look says.
package enum ProbeVerdict: Sendable, Hashable {
    case origin(status: Int)
    case notOrigin

    /// Judges an answer to a GET of `probe.target`, or of the base where none is set.
    ///
    /// 5xx but 511, and 429, are a site in trouble and not a portal: they count as the origin's whatever else they lack.
    /// `suspected`: what a former answer showed; a page counts against the origin only then.
    package static func judge(
        status: Int, fields: HTTPFields, base: String, probe: ProbeSettings, suspected: PortalSign?
    ) -> ProbeVerdict {
        let sign = PortalSign.of(
            status: status, fields: fields, base: base, target: probe.target?.text ?? "",
            expectsJSON: suspected == .unexpectedHTML, hasIdentityCheck: probe.headerName != nil)
        if sign == .networkAuthentication || sign == .redirectToOtherHost { return .notOrigin }
        if status >= 500 || status == 429 { return .origin(status: status) }
        if let name = probe.headerName {
            guard fields.values(name).contains(probe.headerValue) else { return .notOrigin }
        }
        if sign != nil { return .notOrigin }
        if let wanted = probe.status, status != wanted, probe.target != nil { return .notOrigin }
        return .origin(status: status)
    }
}
