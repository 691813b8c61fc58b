package import CacheCore
package import HTTPModel

/// What goes to the origin of a request's fields (design 3): end-to-end fields without what is meant for Holdfast.
package enum OriginFields {
    /// Fields that speak to Holdfast, and those that the client of the origin makes itself.
    private static let removed = [
        "Host", "Content-Length", "Expect", "Holdfast-Token", "Sync-Policy", "Sync-Filter", "Sync-Sort", "Upload",
        "Save-If-Offline", "Delete-If-Offline", "Persistent-State",
    ]

    /// The fields to send on, `Via: 1.1 holdfast` appended. Preconditions and Range stay: who sends them on must know them.
    package static func make(_ head: RequestHead, settings: Settings) -> HTTPFields {
        var fields = head.fields
        HopByHop.remove(from: &fields)
        fields.removeAll { field in removed.contains { $0.equalsIgnoringASCIICase(field.name) } }
        let via = (fields.combined("Via").map { $0 + ", " } ?? "") + "1.\(head.minorVersion) holdfast"
        fields["Via"] = via
        if let left = forwardsLeft(head) { fields["Max-Forwards"] = String(left - 1) }
        if settings.oracleSync { fields["Oracle-Mobile-Sync-Agent"] = "true" }
        return fields
    }

    /// How many more intermediaries an OPTIONS may pass (RFC 9110 7.6.2), at least 0; nil where it does not say, and for other methods.
    package static func forwardsLeft(_ head: RequestHead) -> Int? {
        guard head.method == .options, let text = head.fields["Max-Forwards"], !text.isEmpty,
            text.utf8.allSatisfy(\.isDigit)
        else { return nil }
        return Int(text) ?? .max
    }

    /// Whether the request has passed through a Holdfast before (RFC 9110 7.6.3): a loop.
    package static func isLoop(_ fields: HTTPFields) -> Bool {
        fields.values("Via").contains { line in
            FieldList.split(line).contains { element in
                let words = element.split(whereSeparator: { $0 == " " || $0 == "\t" })
                return words.count > 1 && words[1].equalsIgnoringASCIICase("holdfast")
            }
        }
    }
}
