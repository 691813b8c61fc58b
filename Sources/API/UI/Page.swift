import CacheCore
import HTTPModel

/// /cache/ui: a page for people, which uses what everybody can use under /cache. Open without a token, for it holds nothing.
extension ManagementService {
    func pageMethods(_ path: [String]) -> Methods? {
        guard path.count < 2, !["index.html", "openapi.yaml"].contains(path.first),
            let text = PageFile.named(path.first ?? "index.html")
        else { return nil }
        let type =
            switch path.first?.split(separator: ".").last {
            case "css": "text/css; charset=utf-8"
            case "js": "text/javascript; charset=utf-8"
            default: "text/html; charset=utf-8"
            }
        return [
            (
                .get,
                { _ in
                    var reply = ManagementReply.text(text, type: type)
                    reply.fields["Content-Security-Policy"] = Self.policy
                    reply.fields["Referrer-Policy"] = "no-referrer"
                    return reply
                }
            )
        ]
    }

    /// Nothing but the page's own files and this service; no markup or script of what it shows could do anything.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
        """
}
