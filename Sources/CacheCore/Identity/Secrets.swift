package import HTTPModel

/// What may never be on disk, in logs or under /cache (design 10, last paragraph).
package enum Secrets {
    /// Whether a field's value is a secret.
    package static func isSecret(field: String, settings: Settings) -> Bool {
        func isAmong(_ names: [String]) -> Bool { names.contains { $0.equalsIgnoringASCIICase(field) } }
        return isAmong(CredentialFields.builtIn) || isAmong(always) || isAmong(settings.credentialFields)
            || isAmong(settings.secretFields)
    }

    /// Whether the query holds a secret parameter, its name written plain or percent-encoded, in any case. Such a target is
    /// neither stored nor queued.
    package static func hasSecretParameter(_ target: Target, settings: Settings) -> Bool {
        guard let query = target.query else { return false }
        return QueryParameter.split(query).contains { parameter in
            settings.secretParameters.contains { $0.equalsIgnoringASCIICase(parameter.name) }
        }
    }

    /// The fields of a write that are kept and sent at replay: end-to-end ones but secrets, preconditions, what belongs to the
    /// one transfer or the browser, and what is for Holdfast itself.
    package static func replayable(_ fields: HTTPFields, settings: Settings) -> HTTPFields {
        var kept = fields
        HopByHop.remove(from: &kept)
        kept.removeAll { field in
            notReplayed.contains { $0.equalsIgnoringASCIICase(field.name) }
                || field.name.hasPrefixIgnoringASCIICase("if-") || field.name.hasPrefixIgnoringASCIICase("sec-")
                || isSecret(field: field.name, settings: settings)
        }
        return kept
    }

    /// The fields of an answer that may be kept: none that are secrets, which only the one who asked may have.
    package static func removed(from fields: HTTPFields, settings: Settings) -> HTTPFields {
        var kept = fields
        kept.removeAll { isSecret(field: $0.name, settings: settings) }
        return kept
    }

    /// The fields for people and logs: secrets as `•`.
    package static func redacted(_ fields: HTTPFields, settings: Settings) -> HTTPFields {
        HTTPFields(
            fields.map { field in
                isSecret(field: field.name, settings: settings) ? HTTPField(field.name, "•") : field
            })
    }

    private static let always = ["Set-Cookie", "Set-Cookie2", "X-CSRF-Token", "X-XSRF-Token", "Holdfast-Token"]

    private static let notReplayed = [
        "host", "content-length", "date", "expect", "range", "accept-encoding", "origin", "referer", "traceparent",
        "tracestate", "sync-policy", "save-if-offline", "delete-if-offline", "sync-filter", "sync-sort",
        "idempotency-key", "upload",
    ]
}
