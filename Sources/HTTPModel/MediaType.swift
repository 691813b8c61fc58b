/// A media type with its parameters (RFC 9110 8.3.1).
package struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// Name in lower case, value unquoted.
    package struct Parameter: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// In lower case.
    package var type: String
    /// In lower case, with a suffix such as `+json`.
    package var subtype: String
    package var parameters: [Parameter]

    package init(type: String, subtype: String, parameters: [Parameter] = []) {
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    /// Reads a Content-Type value; nil where type or subtype are no tokens. Parameters that can't be read are passed over.
    package init?(_ value: String) {
        let parts = FieldList.split(value, separator: UInt8(ascii: ";"))
        guard let essence = parts.first, value.trimmingFieldSpace.utf8.first != UInt8(ascii: ";") else { return nil }
        guard let slash = essence.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let (name, subname) = (essence[..<slash], essence[essence.utf8.index(after: slash)...])
        guard !name.isEmpty, !subname.isEmpty, name.utf8.allSatisfy(\.isTokenByte),
            subname.utf8.allSatisfy(\.isTokenByte)
        else { return nil }
        type = name.asciiLowercased
        subtype = subname.asciiLowercased
        parameters = parts.dropFirst().compactMap { part in
            guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = part[..<equals].trimmingFieldSpace
            guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenByte) else { return nil }
            return Parameter(
                name.asciiLowercased, FieldList.unquote(part[part.utf8.index(after: equals)...].trimmingFieldSpace))
        }
    }

    /// `type/subtype`.
    package var essence: String { "\(type)/\(subtype)" }

    /// `application/json`, or any type with the suffix `+json` (RFC 6839 3.1).
    package var isJSON: Bool { type == "application" && subtype == "json" || subtype.hasSuffix("+json") }

    /// The value of the first parameter of that name (lower case).
    package subscript(parameter: String) -> String? { parameters.first { $0.name == parameter }?.value }

    /// As a field value; parameters are quoted where they must be.
    package var description: String {
        parameters.reduce(into: essence) { text, parameter in
            let isToken = !parameter.value.isEmpty && parameter.value.utf8.allSatisfy(\.isTokenByte)
            text += ";\(parameter.name)=" + (isToken ? parameter.value : FieldList.quote(parameter.value))
        }
    }
}
