/// The cache directives of a request or an answer (RFC 9111 5.2, RFC 5861, RFC 8246).
///
/// Where the sender is not clear, the stricter reading counts (RFC 9111 4.2.1): of different values for one directive the one
/// that lets less be reused, and a lifetime that can't be read is 0. Names are compared without regard to case; arguments may
/// be tokens or quoted strings, but space around `=` makes an argument unreadable. Times are whole seconds, at most 2^31.
package struct CacheControl: Sendable, Hashable {
    /// How stale an answer the client takes.
    package enum MaxStale: Sendable, Hashable {
        /// `max-stale` without a number: however stale.
        case any
        case seconds(Int)
    }

    /// `max-age`, of an answer or a request.
    package var maxAge: Int?
    package var sMaxAge: Int?
    package var maxStale: MaxStale?
    package var minFresh: Int?
    package var noStore = false
    /// `no-cache` for the whole answer. False where it lists field names only; see `noCacheFields`.
    package var noCache = false
    /// The field names of `no-cache="…"`, in lower case.
    package var noCacheFields: [String] = []
    /// `private` for the whole answer. False where it lists field names only; see `privateFields`.
    package var isPrivate = false
    /// The field names of `private="…"`, in lower case.
    package var privateFields: [String] = []
    package var isPublic = false
    package var mustRevalidate = false
    package var proxyRevalidate = false
    package var mustUnderstand = false
    package var immutable = false
    package var onlyIfCached = false
    package var noTransform = false
    package var staleWhileRevalidate: Int?
    package var staleIfError: Int?

    /// The largest number of seconds (RFC 9111 1.2.2).
    package static let longest = 1 << 31

    package init() {}

    /// The directives of an answer: all `Cache-Control` lines.
    package init(response fields: HTTPFields) {
        for line in fields.values("Cache-Control") { apply(line) }
    }

    /// The directives of a request: all `Cache-Control` lines; without any, `Pragma: no-cache` counts as `no-cache`
    /// (RFC 9111 5.4).
    package init(request fields: HTTPFields) {
        if fields.contains("Cache-Control") {
            for line in fields.values("Cache-Control") { apply(line) }
        } else if fields.values("Pragma").contains(where: { line in
            FieldList.split(line).contains { $0.equalsIgnoringASCIICase("no-cache") }
        }) {
            noCache = true
        }
    }

    /// The directives of one field value.
    package init(_ value: String) { apply(value) }

    private mutating func apply(_ line: String) {
        for element in FieldList.split(line) {
            guard let equals = element.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                apply(name: element.asciiLowercased, argument: .none)
                continue
            }
            let name = element[..<equals]
            let value = element[element.utf8.index(after: equals)...]
            let bare = name.trimmingFieldSpace
            let isSpaced = bare.utf8.count != name.utf8.count || value.utf8.first?.isFieldSpace == true
            apply(name: bare.asciiLowercased, argument: isSpaced ? .unreadable : .text(FieldList.unquote(value)))
        }
    }

    /// What stands behind the name of a directive.
    enum Argument {
        case none
        case text(String)
        case unreadable

        /// Digits only, clamped; nil for all else.
        var seconds: Int? {
            guard case .text(let text) = self, !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
            return Int(text).map { min($0, CacheControl.longest) } ?? CacheControl.longest
        }

        /// Field names of a list, in lower case.
        var names: [String] {
            guard case .text(let text) = self else { return [] }
            return FieldList.split(text).map(\.asciiLowercased)
        }
    }

    /// Takes one directive in; `name` in lower case. Unknown ones are passed over.
    mutating func apply(name: String, argument: Argument) {
        switch name {
        case "max-age": maxAge = min(maxAge ?? .max, argument.seconds ?? 0)
        case "s-maxage": sMaxAge = min(sMaxAge ?? .max, argument.seconds ?? 0)
        case "max-stale": applyMaxStale(argument)
        case "min-fresh": if let seconds = argument.seconds { minFresh = max(minFresh ?? 0, seconds) }
        case "no-store": noStore = true
        case "no-cache":
            if argument.names.isEmpty { noCache = true } else { noCacheFields += argument.names }
        case "private":
            if argument.names.isEmpty { isPrivate = true } else { privateFields += argument.names }
        case "public": isPublic = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": immutable = true
        case "only-if-cached": onlyIfCached = true
        case "no-transform": noTransform = true
        case "stale-while-revalidate":
            staleWhileRevalidate = min(staleWhileRevalidate ?? .max, argument.seconds ?? 0)
        case "stale-if-error": staleIfError = min(staleIfError ?? .max, argument.seconds ?? 0)
        default: break
        }
    }

    private mutating func applyMaxStale(_ argument: Argument) {
        guard case .none = argument else {
            let seconds = argument.seconds ?? 0
            if case .seconds(let earlier) = maxStale {
                maxStale = .seconds(min(earlier, seconds))
            } else {
                maxStale = .seconds(seconds)
            }
            return
        }
        if maxStale == nil { maxStale = .any }
    }
}
