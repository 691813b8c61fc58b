package import CacheCore
import HTTPModel

/// The members that a list shows, for the look after a create of unknown outcome (design 5). Pure.
package struct CollectionMembers: Sendable {
    /// By id, or by the bytes where a member bears none.
    package private(set) var byName: [String: JSONValue] = [:]

    package init() {}

    /// Adds what one page holds; false where the page is no list that the rule describes.
    package mutating func add(page: JSONValue, rule: CollectionRule) -> Bool {
        guard let items = JSONPointer(rule.items)?.value(in: page)?.array else { return false }
        for item in items { byName[Self.name(of: item, rule: rule)] = item }
        return true
    }

    /// What a member is known by: its id's text, else its own text.
    package static func name(of member: JSONValue, rule: CollectionRule) -> String {
        rule.name(ofObject: member) ?? member.description
    }

    /// What the look says of a create.
    package enum Verdict: Sendable, Hashable {
        /// No new member: sent again.
        case absent
        /// Exactly this new member holds all that was sent.
        case created(name: String)
        /// Several do, or new ones show less than was sent so that it can't be told.
        case undecided
    }

    /// Judges a create by what is new since the baseline.
    /// - Parameters:
    ///   - sent: what was sent; nil where it is no JSON object.
    ///   - isKnown: whether a name was in the list before, or is of a member that another operation made; nil where the list was not
    ///     read before: then a member that holds all may be older, so that only its absence decides anything.
    package func judge(sent: JSONValue?, isKnown: ((String) -> Bool)?) -> Verdict {
        let new = byName.filter { isKnown?($0.key) != true }
        if new.isEmpty { return .absent }
        guard let sent, let members = sent.members, !members.isEmpty else { return .undecided }
        var holding: [String] = []
        var isUnclear = false
        for (name, member) in new {
            switch Self.compare(sent: members, member: member) {
            case .holds: holding.append(name)
            case .shows(less: true): isUnclear = true
            case .shows: break
            }
        }
        if isKnown == nil { return holding.isEmpty && !isUnclear ? .absent : .undecided }
        if holding.count == 1 { return .created(name: holding[0]) }
        return holding.isEmpty && !isUnclear ? .absent : .undecided
    }

    private enum Comparison {
        case holds
        /// Another member, or (`less`) one that agrees as far as it goes.
        case shows(less: Bool)
    }

    private static func compare(sent: [JSONMember], member: JSONValue) -> Comparison {
        guard member.isObject else { return .shows(less: true) }
        var lacks = false
        for part in sent {
            guard let value = member[part.name] else {
                lacks = true
                continue
            }
            if !part.value.isEquivalent(to: value) { return .shows(less: false) }
        }
        return lacks ? .shows(less: true) : .holds
    }
}
