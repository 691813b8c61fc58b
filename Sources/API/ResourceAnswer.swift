package import CacheCore
package import HTTPModel

/// Makes the fields of an answer under /resources and /files (design 3, 13), whether it comes from the origin or the store.
package struct ResourceAnswer: Sendable {
    private let request: ResourceRequest
    /// The origin's base URL.
    private let base: String

    package init(_ request: ResourceRequest, base: String) {
        self.request = request
        self.base = base
    }

    /// The head to send. `fields` as the origin sent or the store kept them: hop-by-hop fields and Content-Length go, Date stays,
    /// `Cache-Status` is appended to what the chain wrote, links under the origin become ours, and browsers are told not to
    /// guess. `age` in seconds: nil leaves the origin's own Age; `syncState` nil for what is not stored.
    package func head(
        status: Int, fields: HTTPFields, cacheStatus: CacheStatus, syncState: String? = nil, age: Int? = nil
    ) -> ResponseHead {
        var fields = fields
        HopByHop.remove(from: &fields)
        fields.remove("Content-Length")
        rewriteLinks(&fields)
        if let age { fields["Age"] = String(age) }
        fields["Cache-Status"] = cacheStatus.appended(to: fields.values("Cache-Status"))
        fields["Sync-State"] = syncState
        Self.harden(&fields)
        return ResponseHead(status: status, fields: fields)
    }

    /// An interim answer of the origin as it is sent on.
    package func interim(status: Int, fields: HTTPFields) -> ResponseHead {
        var fields = fields
        HopByHop.remove(from: &fields)
        fields.remove("Content-Length")
        rewriteLinks(&fields)
        return ResponseHead(status: status, fields: fields)
    }

    /// Gives a problem thrown on the way the Cache-Status that every answer carries.
    package static func marked(_ problem: Problem, _ cacheStatus: CacheStatus, syncState: String? = nil) -> Problem {
        var problem = problem
        problem.fields["Cache-Status"] = cacheStatus.text
        if let syncState { problem.fields["Sync-State"] = syncState }
        return problem
    }

    /// `nosniff`, and a sandbox for what a browser would run: the origin's pages have no power over /cache (design 13).
    package static func harden(_ fields: inout HTTPFields) {
        fields["X-Content-Type-Options"] = "nosniff"
        // Most answers of Holdfast's own: no look at what it means is needed.
        guard let text = fields["Content-Type"], text != "application/json", let type = MediaType(text) else { return }
        let isActive =
            type.type == "text" && type.subtype == "html" || type.subtype == "xml" || type.subtype.hasSuffix("+xml")
            || type.subtype == "xslt"
        // A policy of the origin's own stays: browsers enforce both.
        if isActive { fields.append("Content-Security-Policy", "sandbox") }
    }

    /// Location, Content-Location, Link and `urlFields`: what lies under the origin as `/resources/…` or `/files/…`.
    private func rewriteLinks(_ fields: inout HTTPFields) {
        for index in fields.indices {
            let name = fields[index].name
            if name.equalsIgnoringASCIICase("Link") {
                fields[index].value = rewritingLink(fields[index].value)
            } else if name.equalsIgnoringASCIICase("Location") || name.equalsIgnoringASCIICase("Content-Location")
                || request.settings.urlFields.contains(where: { $0.equalsIgnoringASCIICase(name) })
            {
                fields[index].value = local(fields[index].value)
            }
        }
    }

    /// Each `<target>` of a Link value (RFC 8288 3).
    private func rewritingLink(_ value: String) -> String {
        var bytes: [UInt8] = []
        var isQuoted = false
        var rest = Array(value.utf8)[...]
        while let byte = rest.first {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == UInt8(ascii: "<"), !isQuoted, let end = rest.firstIndex(of: UInt8(ascii: ">")) {
                let target = String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)
                bytes.append(contentsOf: "<\(local(target))>".utf8)
                rest = rest[(end + 1)...]
            } else {
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A reference as it is known here: unchanged where it does not lie under the origin.
    package func local(_ reference: String) -> String {
        let url = URLReference.resolve(reference, at: request.target.text, under: base)
        guard let target = URLReference.originForm(of: url, under: base) else { return reference }
        return request.route.prefix + target + (URLReference(reference).fragment.map { "#" + $0 } ?? "")
    }
}
