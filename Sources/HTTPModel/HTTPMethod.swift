/// A request method (RFC 9110 9). Case-sensitive.
package struct HTTPMethod: Sendable, Hashable, RawRepresentable, CustomStringConvertible {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
    package var description: String { rawValue }

    package static let get = HTTPMethod(rawValue: "GET")
    package static let head = HTTPMethod(rawValue: "HEAD")
    package static let post = HTTPMethod(rawValue: "POST")
    package static let put = HTTPMethod(rawValue: "PUT")
    package static let patch = HTTPMethod(rawValue: "PATCH")
    package static let delete = HTTPMethod(rawValue: "DELETE")
    package static let options = HTTPMethod(rawValue: "OPTIONS")
    package static let trace = HTTPMethod(rawValue: "TRACE")

    /// Safe methods ask for no change (RFC 9110 9.2.1). A method that is not known is not safe.
    package var isSafe: Bool { self == .get || self == .head || self == .options || self == .trace || isSafeDAV }

    /// Whether a write of this method can be queued (design: PUT, POST, PATCH, DELETE).
    package var isQueueable: Bool { self == .put || self == .post || self == .patch || self == .delete }

    private var isSafeDAV: Bool { rawValue == "PROPFIND" || rawValue == "REPORT" || rawValue == "SEARCH" }
}
