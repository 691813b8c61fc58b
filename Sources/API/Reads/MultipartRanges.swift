import CacheCore
import HTTPModel

/// The frame of a multipart/byteranges body (RFC 9110 14.6).
struct MultipartRanges: Sendable {
    /// Of the answer.
    let contentType: String
    /// What stands before each part.
    let heads: [[UInt8]]
    let end: [UInt8]
    /// Of all parts with their frame, in bytes.
    let length: Int64

    init(_ ranges: [Range<Int64>], length total: Int64?, contentType partType: String?) {
        // Random, so that no content can be made to hold it.
        let boundary = "holdfast-" + String(UInt64.random(in: .min ... .max), radix: 16)
        contentType = "multipart/byteranges; boundary=\(boundary)"
        heads = ranges.enumerated().map { index, range in
            var text = (index == 0 ? "" : "\r\n") + "--\(boundary)\r\n"
            if let partType { text += "Content-Type: \(partType)\r\n" }
            text += "Content-Range: \(ContentRange(range, length: total).text)\r\n\r\n"
            return text.fieldBytes
        }
        end = Array("\r\n--\(boundary)--\r\n".utf8)
        length =
            heads.reduce(Int64(end.count)) { $0 + Int64($1.count) } + ranges.reduce(Int64(0)) { $0 + Int64($1.count) }
    }
}
