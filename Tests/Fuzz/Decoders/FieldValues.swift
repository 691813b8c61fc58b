import CacheCore
import HTTPModel

/// Range, Content-Range and what they come to.
func judgeRanges(_ bytes: [UInt8]) {
    let text = String(fieldBytes: bytes)
    hold(text.fieldBytes == bytes, "field bytes come back as they were")
    for length: Int64 in [0, 1, 10, 1 << 40, .max] {
        guard let set = ByteRangeSet(text), case .satisfiable(let ranges) = set.resolve(length: length) else {
            continue
        }
        hold(!ranges.isEmpty && ranges.count <= ByteRangeSet.limit, "ranges that can be met are not none and not many")
        hold(ranges.allSatisfy { !$0.isEmpty && $0.lowerBound >= 0 && $0.upperBound <= length }, "ranges lie inside")
        let merged = ByteRangeSet.coalesce(ranges)
        hold(zip(merged, merged.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "merged ranges lie apart")
        hold(ranges.allSatisfy { range in merged.contains { $0.contains(range.lowerBound) } }, "merging loses nothing")
    }
    if let range = ContentRange(text) {
        hold(ContentRange(range.text) == range, "Content-Range reads what it writes")
        if let part = range.range {
            hold(!part.isEmpty && part.upperBound <= range.length ?? .max, "a part lies inside")
        }
    }
}

/// Structured fields (RFC 9651), and Sync-Policy, which is one.
func judgeStructuredFields(_ bytes: [UInt8]) {
    let text = String(fieldBytes: bytes)
    if let item = SFItem(parsing: text), let written = item.serialized {
        hold(SFItem(parsing: written) == item, "an item reads what it writes")
    }
    if let list = SFList(parsing: text), let written = list.serialized {
        hold(SFList(parsing: written) == list, "a list reads what it writes")
    }
    if let dictionary = SFDictionary(parsing: text), let written = dictionary.serialized {
        hold(SFDictionary(parsing: written) == dictionary, "a dictionary reads what it writes")
    }
    if let layer = try? PolicyLayer(syncPolicyField: text) {
        hold((try? PolicyLayer(json: layer.json())) == layer, "a policy reads the JSON that it writes")
    }
}

/// Cache-Control and the fields beside it, in a request and in an answer, down to freshness.
func judgeCaching(_ bytes: [UInt8]) {
    let names = [
        "Cache-Control", "Expires", "Age", "Vary", "Date", "Last-Modified", "ETag", "CDN-Cache-Control", "Pragma",
    ]
    var fields = HTTPFields()
    for (index, line) in bytes.split(separator: 10, omittingEmptySubsequences: false).prefix(64).enumerated() {
        fields.append(names[index % names.count], String(fieldBytes: line))
    }
    let request = fields
    let control = CacheControl(request: request)
    for seconds in [control.maxAge, control.minFresh, control.sMaxAge, control.staleIfError] {
        hold(seconds ?? 0 >= 0, "no directive has less than no seconds")
    }
    _ = fields.values("ETag").map { EntityTagCondition($0).matchesWeakly(fields.etag) }
    _ = LinkField.next(in: ["Link": fields["Cache-Control"] ?? ""])
    _ = fields.values("Expires").map { MediaType($0)?.description }
    var copy = ServerCopy(
        status: 200, fields: fields, content: .empty, requestTime: 1_000, responseTime: 1_001,
        selecting: Selecting.fields(vary: fields.values("Vary"), request: request), isExpired: false, isListed: false,
        explicitFreshnessOnly: false, epoch: 1)
    for isShared in [true, false] {
        let left = Freshness.timeToLive(
            of: copy, policy: Policy(), isShared: isShared, epoch: 1, targetedFields: ["CDN-Cache-Control"], now: 2_000)
        hold(left.isFinite, "freshness is a number")
    }
    hold(Freshness.currentAge(of: copy, now: 2_000) >= 0, "nothing is younger than new")
    copy.fields = Validation.stripped(fields, isShared: true)
    hold(copy.fields.count <= fields.count, "nothing is added by stripping")
}

/// HTTP dates in three forms, and RFC 3339.
func judgeDates(_ bytes: [UInt8]) {
    let text = String(fieldBytes: bytes)
    for now in [0, 1_700_000_000, 4_000_000_000, 253_000_000_000.0] {
        guard let date = HTTPDate(text, now: now) else { continue }
        hold(HTTPDate(date.text, now: now) == date, "a date reads what it writes")
    }
    if let time = Timestamp.parse(text) {
        hold(time.isFinite, "a time is a number")
        let written = Timestamp.format(time)
        hold(Timestamp.parse(written).map { Timestamp.format($0) } == written, "a time reads what it writes")
    }
}
