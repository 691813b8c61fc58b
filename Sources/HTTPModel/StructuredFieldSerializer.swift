extension SFBareItem {
    /// The text of the item (RFC 9651 4.1.3.1); nil where the value can't be written (out of range, wrong characters).
    package var serialized: String? {
        switch self {
        case .integer(let value): Self.integer(value)
        case .decimal(let thousandths): Self.decimal(thousandths)
        case .string(let text):
            text.utf8.allSatisfy { $0 >= 0x20 && $0 <= 0x7E } ? FieldList.quote(text) : nil
        case .token(let text): Self.isToken(text) ? text : nil
        case .byteSequence(let bytes): ":\(Base64.encode(bytes)):"
        case .boolean(let value): value ? "?1" : "?0"
        case .date(let seconds): Self.integer(seconds).map { "@\($0)" }
        case .displayString(let text): Self.displayString(text)
        }
    }

    /// Whether the text may be a token (RFC 9651 3.3.4).
    package static func isToken(_ text: String) -> Bool {
        text.utf8.first?.isSFTokenStart == true && text.utf8.allSatisfy(\.isSFTokenByte)
    }

    private static func integer(_ value: Int64) -> String? {
        value.magnitude <= 999_999_999_999_999 ? String(value) : nil
    }

    private static func decimal(_ thousandths: Int64) -> String? {
        guard thousandths.magnitude <= 999_999_999_999_999 else { return nil }
        var fraction = String(thousandths.magnitude % 1000 + 1000).dropFirst()
        while fraction.utf8.count > 1, fraction.utf8.last == 0x30 { fraction.removeLast() }
        return (thousandths < 0 ? "-" : "") + "\(thousandths.magnitude / 1000).\(fraction)"
    }

    private static func displayString(_ text: String) -> String {
        var bytes = Array("%\"".utf8)
        for byte in text.utf8 {
            if byte == UInt8(ascii: "%") || byte == UInt8(ascii: "\"") || byte < 0x20 || byte > 0x7E {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Hex.digit(byte >> 4))
                bytes.append(Hex.digit(byte & 0xF))
            } else {
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension SFParameters {
    /// `;name=value` for each, true without its value; nil where one can't be written.
    package var serialized: String? {
        var text = ""
        for parameter in all {
            guard isSFKey(parameter.name), let value = parameter.value.serialized else { return nil }
            text += parameter.value == .boolean(true) ? ";\(parameter.name)" : ";\(parameter.name)=\(value)"
        }
        return text
    }
}

extension SFItem {
    /// The field value (RFC 9651 4.1.3); nil where a part can't be written.
    package var serialized: String? {
        guard let value = value.serialized, let parameters = parameters.serialized else { return nil }
        return value + parameters
    }
}

extension SFMember {
    package var serialized: String? {
        switch self {
        case .item(let item): return item.serialized
        case .innerList(let items, let parameters):
            let texts = items.compactMap(\.serialized)
            guard texts.count == items.count, let parameters = parameters.serialized else { return nil }
            return "(\(texts.joined(separator: " ")))\(parameters)"
        }
    }
}

extension SFList {
    /// The field value (RFC 9651 4.1.1); nil where a part can't be written. Empty for an empty list: send no field then.
    package var serialized: String? {
        let texts = members.compactMap(\.serialized)
        return texts.count == members.count ? texts.joined(separator: ", ") : nil
    }
}

extension SFDictionary {
    /// The field value (RFC 9651 4.1.2); nil where a part can't be written. Empty for an empty one: send no field then.
    package var serialized: String? {
        var texts: [String] = []
        for entry in entries {
            guard isSFKey(entry.name) else { return nil }
            if case .item(let item) = entry.member, item.value == .boolean(true) {
                guard let parameters = item.parameters.serialized else { return nil }
                texts.append(entry.name + parameters)
            } else {
                guard let member = entry.member.serialized else { return nil }
                texts.append("\(entry.name)=\(member)")
            }
        }
        return texts.joined(separator: ", ")
    }
}

private func isSFKey(_ name: String) -> Bool {
    name.utf8.first?.isSFKeyStart == true && name.utf8.allSatisfy(\.isSFKeyByte)
}
