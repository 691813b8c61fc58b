import CacheCore
import HTTPModel

/// A request to the origin for a part, or for its word that parts which are kept are still right (RFC 9111 3.3, 3.4).
struct PartAsk: Sendable {
    /// What is asked for; nil: the whole.
    var fill: RangeFill?
    /// What is kept already.
    var parts: PartialCopy?
    /// Whether the parts have all that is wanted, so that 304 is hoped for.
    var isConfirmation = false

    /// The fields that ask so, for a request with these.
    func conditions(request: HTTPFields) -> HTTPFields {
        var fields = HTTPFields()
        if let parts {
            if isConfirmation {
                fields = Validation.conditionalFields(for: [parts.head], request: request)
            } else {
                fields["If-Range"] = parts.validator
            }
        }
        fields["Range"] = fill?.text
        return fields
    }
}

/// Which bytes of a representation an answer brings.
struct Extent: Sendable, Hashable {
    var range: Range<Int64>
    /// Of the whole; nil where the origin does not tell.
    var total: Int64?

    /// nil where it can't be told, or Content-Length and Content-Range contradict each other.
    init?(status: Int, fields: HTTPFields) {
        let length = fields["Content-Length"].flatMap { Int64($0) }
        switch status {
        case 200:
            guard let length, length >= 0 else { return nil }
            range = 0..<length
            total = length
        case 206:
            guard let told = fields["Content-Range"].flatMap({ ContentRange($0) }), let part = told.range,
                length == nil || length == Int64(part.count)
            else { return nil }
            range = part
            total = told.length
        default: return nil
        }
    }
}
