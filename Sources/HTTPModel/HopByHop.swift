/// Fields that are meant for one connection only (RFC 9110 7.6.1).
package enum HopByHop {
    /// Always removed, whether Connection names them or not.
    private static let names = [
        "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
    ]

    /// Removes Connection, the fields that it names, and those that never go further. Proxy-Authorization and
    /// Proxy-Authenticate stay: they pass between the client and the origin that Holdfast stands for.
    package static func remove(from fields: inout HTTPFields) {
        let named = fields.values("Connection").flatMap { FieldList.split($0) }.map { String($0) }
        fields.removeAll { field in
            names.contains { $0.equalsIgnoringASCIICase(field.name) }
                || named.contains { $0.equalsIgnoringASCIICase(field.name) }
        }
    }
}
