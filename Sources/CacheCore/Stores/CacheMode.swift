/// Which cached copies the next start loads (design 11). Operations are on disk in every mode.
package enum CacheMode: String, Sendable, Hashable, CaseIterable {
    /// Nothing is loaded and nothing kept; requests pass through.
    case no
    /// Nothing that was saved is loaded. What was saved before stays for a start in another mode.
    case initialized
    /// What was saved is loaded; only POST /cache/save saves.
    case manualSaving
    /// What was saved is loaded; all that is written counts as saved.
    case automatic
}

/// A mode with what it begins with, in the form that Swift's Codable gives: `{"automatic":{}}`, `{"initialized":{"data":"…"}}`.
package struct CacheModeRequest: Sendable, Hashable {
    package var mode: CacheMode
    /// A snapshot, where the mode is `initialized`.
    package var data: String?

    package init(_ mode: CacheMode, data: String? = nil) {
        self.mode = mode
        self.data = data
    }

    /// Throws `Problem`.
    package init(json: JSONValue) throws(Problem) {
        guard let members = json.members, members.count == 1, let mode = CacheMode(rawValue: members[0].name),
            let values = members[0].value.members,
            values.allSatisfy({
                $0.name == "data" && mode == .initialized && ($0.value.string != nil || $0.value.isNull)
            })
        else {
            throw Problem(
                .badJSON,
                "A mode is {\"no\":{}}, {\"initialized\":{\"data\":SNAPSHOT}}, {\"manualSaving\":{}} or "
                    + "{\"automatic\":{}}.")
        }
        self.init(mode, data: members[0].value["data"]?.string)
    }

    /// The same, or the name alone, or the form as a text; nil for anything else.
    package init?(nameOrJSON json: JSONValue) {
        if let mode = json.string.flatMap({ CacheMode(rawValue: $0) }) {
            self.init(mode)
            return
        }
        guard let form = json.string.map({ try? JSONValue(parsing: $0) }) ?? json,
            let request = try? CacheModeRequest(json: form)
        else { return nil }
        self = request
    }
}

extension CacheMode {
    /// The form without data.
    package func json() -> JSONValue { .object([JSONMember(rawValue, .object([JSONMember]()))]) }
}

/// Why a store is asked to save.
package enum SaveReason: String, Sendable { case demand, background, shutdown }
