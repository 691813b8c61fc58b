/// The Link field (RFC 8288).
package enum LinkField {
    /// The target of the first link whose relation is `next`.
    package static func next(in fields: HTTPFields) -> String? {
        for value in fields.values("Link") {
            for link in split(value) {
                guard link.first == "<", let end = link.firstIndex(of: ">") else { continue }
                let target = link[link.index(after: link.startIndex)..<end]
                let parameters = FieldList.split(String(link[end...].dropFirst()), separator: UInt8(ascii: ";"))
                if relations(of: parameters).contains(where: { $0.equalsIgnoringASCIICase("next") }) {
                    return String(target)
                }
            }
        }
        return nil
    }

    private static func relations(of parameters: [Substring]) -> [Substring] {
        for parameter in parameters {
            guard let sign = parameter.firstIndex(of: "="),
                parameter[..<sign].trimmingFieldSpace.equalsIgnoringASCIICase("rel")
            else { continue }
            let value = FieldList.unquote(parameter[parameter.index(after: sign)...].trimmingFieldSpace)
            return Substring(value).split(separator: " ")
        }
        return []
    }

    /// The links of a value; commas inside `<>` and quotes do not separate.
    private static func split(_ value: String) -> [Substring] {
        var links: [Substring] = []
        var start = value.startIndex
        var isInside = false
        var isQuoted = false
        for index in value.indices {
            switch value[index] {
            case "\"" where !isInside: isQuoted.toggle()
            case "<" where !isQuoted: isInside = true
            case ">" where !isQuoted: isInside = false
            case "," where !isInside && !isQuoted:
                links.append(value[start..<index].trimmingFieldSpace)
                start = value.index(after: index)
            default: break
            }
        }
        links.append(value[start...].trimmingFieldSpace)
        return links
    }
}
