import CacheCore
import HTTPModel

/// 206 with one range or several (RFC 9110 15.3.7).
struct RangeAnswer {
    let exchange: any Exchange
    /// In rising order without overlaps; at least one.
    let ranges: [Range<Int64>]
    /// Length of the whole, where it is known.
    let total: Int64?

    /// Ranges that overlap or touch are sent as one.
    init(_ ranges: [Range<Int64>], total: Int64?, _ exchange: any Exchange) {
        self.exchange = exchange
        self.total = total
        self.ranges = ranges.count == 1 ? ranges : ByteRangeSet.coalesce(ranges)
    }

    /// `fields` as of the whole; `head` makes the answer's head of them; `open` gives the bytes of the range at an index. Throws
    /// only what `open` throws for the first one: nothing is sent then.
    func send(
        _ fields: HTTPFields, head: (HTTPFields) -> ResponseHead, open: (Int) async throws -> any BodySource
    ) async throws {
        var fields = fields
        let first = try await open(0)
        if ranges.count == 1 {
            fields["Content-Range"] = ContentRange(ranges[0], length: total).text
            exchange.begin(head(fields), length: Int64(ranges[0].count))
            try await BodyPump.run(first, to: exchange)
            return
        }
        let body = MultipartRanges(ranges, length: total, contentType: fields["Content-Type"])
        fields["Content-Type"] = body.contentType
        exchange.begin(head(fields), length: body.length)
        do {
            for index in ranges.indices {
                try await exchange.write(body.heads[index])
                let source = index == 0 ? first : try await open(index)
                while let piece = try await source.next() { try await exchange.write(piece) }
            }
            try await exchange.write(body.end)
        } catch {
            exchange.abort()
            return
        }
        exchange.finish()
    }
}
