/// The names of all settings (design 10): keys of the file, and by case the names of options and variables.
package enum ConfigurationKeys {
    /// As the file spells them.
    package static let all: [String] = [
        "origin", "listen", "data", "config", "cacheMode", "strategy", "threads", "caFile", "insecure", "policies",
        "defaultPolicy",
        "synchronization", "maxStoreSize", "memoryLimit", "maxBodySize", "maxJSONSize", "limits", "timeouts",
        "replayConcurrency", "laneWait", "settle", "coalesce", "idempotentOrigin", "maxAttempts", "receiptRetention",
        "interimAnswers",
        "periodicRefreshPolicy", "periodicRefreshInterval", "probe", "collections", "credentials", "credentialFields",
        "secretFields", "secretParameters", "partitionBy",
        "urlFields", "targetedFields", "accessTokens", "allowedHosts", "allowedOrigins", "manageListen",
        "reservedParameters", "oracleSync", "logLevel", "stores", "storeRoots",
    ]

    /// Those of the SDK's `synchronization` node (seeds/semantics 1.4).
    static let ofNode = [
        "maxStoreSize", "periodicRefreshPolicy", "periodicRefreshInterval", "policies", "defaultPolicy",
    ]

    /// Keys whose value in the environment is text, whatever it looks like.
    static let text: Set<String> = [
        "origin", "data", "cacheMode", "strategy", "caFile", "manageListen", "logLevel", "periodicRefreshPolicy",
    ]

    static func kebabCase(_ key: String) -> String { words(key).joined(separator: "-") }
    static func upperSnakeCase(_ key: String) -> String { words(key).joined(separator: "_").uppercased() }

    /// `maxJSONSize` is max, json, size.
    private static func words(_ key: String) -> [String] {
        var words: [String] = []
        var previousIsUpper = true
        let characters = Array(key)
        for (index, character) in characters.enumerated() {
            let nextIsLower = index + 1 < characters.count && characters[index + 1].isLowercase
            if words.isEmpty || (character.isUppercase && (!previousIsUpper || nextIsLower)) {
                words.append("")
            }
            words[words.count - 1] += character.lowercased()
            previousIsUpper = character.isUppercase
        }
        return words
    }
}
