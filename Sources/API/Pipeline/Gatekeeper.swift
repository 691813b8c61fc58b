import CacheCore
import HTTPModel

/// The checks that come before anything is looked at (design 12, 13): host, web origin, access token.
struct Gatekeeper: Sendable {
    let snapshot: SettingsSnapshot
    private var settings: Settings {
        _read { yield snapshot.settings }
    }

    /// The pages that need no token.
    private static func isOpen(_ path: Substring) -> Bool {
        ["/cache/ui", "/health", "/problems"].contains { path.isOrLies(under: $0) }
    }

    private static func isManagement(_ path: Substring) -> Bool {
        ["/cache", "/metrics"].contains { path.isOrLies(under: $0) }
    }

    /// What the request may do, or the refusal as a `Problem`. `path` without query.
    func admit(_ head: RequestHead, path: Substring) throws -> Access {
        let token = token(of: head, path: path)
        if token == nil || settings.accessTokens.isEmpty { try checkHost(head) }
        try checkWebOrigin(head)
        guard !settings.accessTokens.isEmpty else { return .full }
        guard let token else {
            if Self.isOpen(path) { return .open }
            throw Self.tokenMissing(at: path)
        }
        guard token.isReadOnly else { return .full }
        guard head.method.isSafe else {
            throw Problem(.readOnlyToken, "This token may only read. Use a full one.")
        }
        return .readOnly
    }

    private static func tokenMissing(at path: Substring) -> Problem {
        guard isManagement(path) else {
            return Problem(.accessToken, "Send a configured token in Holdfast-Token.")
        }
        return Problem(
            .accessToken, "Send a configured token in Holdfast-Token, or as Authorization: Bearer.",
            fields: ["WWW-Authenticate": "Bearer realm=\"holdfast\""])
    }

    private func token(of head: RequestHead, path: Substring) -> AccessToken? {
        var given = head.fields.values("Holdfast-Token")
        if Self.isManagement(path), let value = head.fields["Authorization"], value.count > 7,
            value.prefix(7).equalsIgnoringASCIICase("Bearer ")
        {
            given.append(String(value.dropFirst(7).trimmingFieldSpace))
        }
        return settings.accessTokens.first { token in
            given.contains { ConstantTime.equal($0.utf8, token.secret.utf8) }
        }
    }

    private func checkHost(_ head: RequestHead) throws {
        let named = head.target.utf8.first == UInt8(ascii: "/") ? nil : URLReference(head.target).authority
        let authority = named ?? head.fields["Host"]
        guard let authority else {
            // HTTP/1.0 needs no Host; a browser always sends one.
            if head.minorVersion == 0 { return }
            throw Problem(.host, "Send a Host field with a name that is served here.")
        }
        guard isAllowed(host: authority) else {
            throw Problem(.host, "Use localhost, or add the name to allowedHosts, or send a valid Holdfast-Token.")
        }
    }

    /// Compares host names without port.
    private func isAllowed(host authority: String) -> Bool {
        let local = ["localhost", "127.0.0.1", "[::1]"]
        // Most name one of these, without anything that would have to be taken apart but a port.
        let end = authority.utf8.last.map { $0.isDigit } == true ? authority.utf8.lastIndex(of: UInt8(ascii: ":")) : nil
        if let end, local.contains(where: { authority[..<end].equalsIgnoringASCIICase($0) }) { return true }
        let host = URLReference("http://" + authority).host ?? ""
        return local.contains(host) || settings.listenHosts.contains(host)
            || settings.allowedHosts.contains {
                $0.equalsIgnoringASCIICase(host) || $0.equalsIgnoringASCIICase(authority)
            }
    }

    private func checkWebOrigin(_ head: RequestHead) throws {
        let refusal = Problem(.origin, "Add the web origin to allowedOrigins if its pages may use this service.")
        guard let origin = head.fields["Origin"] else {
            if head.fields["Sec-Fetch-Site"].map({ $0.equalsIgnoringASCIICase("cross-site") }) ?? false {
                throw refusal
            }
            return
        }
        let isOwn = head.fields["Host"].map { host in
            origin.equalsIgnoringASCIICase("http://" + host) || origin.equalsIgnoringASCIICase("https://" + host)
        }
        guard isOwn ?? false || settings.allowedOrigins.contains(where: { $0.equalsIgnoringASCIICase(origin) }) else {
            throw refusal
        }
    }
}

/// Comparison whose time depends on the length of what was given alone.
enum ConstantTime {
    static func equal(_ given: some Collection<UInt8>, _ secret: some Collection<UInt8>) -> Bool {
        let secret = Array(secret)
        guard !secret.isEmpty else { return false }
        var difference = UInt(bitPattern: given.count ^ secret.count)
        for (index, byte) in given.enumerated() { difference |= UInt(byte ^ secret[index % secret.count]) }
        return difference == 0
    }
}
