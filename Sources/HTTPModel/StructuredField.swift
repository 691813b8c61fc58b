/// A bare item of a structured field (RFC 9651 3.3).
package enum SFBareItem: Sendable, Hashable {
    /// At most 15 digits.
    case integer(Int64)
    /// In thousandths, so that it is exact; at most 12 digits before the point.
    case decimal(thousandths: Int64)
    /// Printable ASCII.
    case string(String)
    case token(String)
    case byteSequence([UInt8])
    case boolean(Bool)
    /// Seconds since 1970.
    case date(Int64)
    /// Any Unicode text.
    case displayString(String)

    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The text of a string, token or display string.
    package var text: String? {
        switch self {
        case .string(let text), .token(let text), .displayString(let text): text
        default: nil
        }
    }
}

/// Parameters in order; a name that comes again has taken the place of the first with its last value (RFC 9651 3.1.2).
package struct SFParameters: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    package struct Parameter: Sendable, Hashable {
        package let name: String
        package var value: SFBareItem
    }

    package private(set) var all: [Parameter] = []

    package init() {}
    package init(dictionaryLiteral elements: (String, SFBareItem)...) {
        for (name, value) in elements { self[name] = value }
    }

    package subscript(name: String) -> SFBareItem? {
        get { all.first { $0.name == name }?.value }
        set {
            let index = all.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): all[index].value = value
            case (let index?, nil): all.remove(at: index)
            case (nil, let value?): all.append(Parameter(name: name, value: value))
            case (nil, nil): break
            }
        }
    }
}

/// An item with its parameters (RFC 9651 3.3).
package struct SFItem: Sendable, Hashable {
    package var value: SFBareItem
    package var parameters: SFParameters

    package init(_ value: SFBareItem, parameters: SFParameters = [:]) {
        self.value = value
        self.parameters = parameters
    }
}

/// A member of a list or dictionary.
package enum SFMember: Sendable, Hashable {
    case item(SFItem)
    case innerList([SFItem], parameters: SFParameters)

    package var item: SFItem? { if case .item(let item) = self { item } else { nil } }
    package var parameters: SFParameters {
        switch self {
        case .item(let item): item.parameters
        case .innerList(_, let parameters): parameters
        }
    }
}

/// A structured list (RFC 9651 3.1).
package struct SFList: Sendable, Hashable, ExpressibleByArrayLiteral {
    package var members: [SFMember]

    package init(_ members: [SFMember] = []) { self.members = members }
    package init(arrayLiteral elements: SFMember...) { members = elements }
}

/// A structured dictionary in order (RFC 9651 3.2). A name that comes again keeps its first place and takes the last value.
package struct SFDictionary: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    package struct Entry: Sendable, Hashable {
        package let name: String
        package var member: SFMember
    }

    package private(set) var entries: [Entry] = []

    package init() {}
    package init(dictionaryLiteral elements: (String, SFMember)...) {
        for (name, member) in elements { self[name] = member }
    }

    package subscript(name: String) -> SFMember? {
        get { entries.first { $0.name == name }?.member }
        set {
            let index = entries.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let member?): entries[index].member = member
            case (let index?, nil): entries.remove(at: index)
            case (nil, let member?): entries.append(Entry(name: name, member: member))
            case (nil, nil): break
            }
        }
    }
}
