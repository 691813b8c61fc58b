import HTTPModel

/// Parts of a representation that is not wholly here (RFC 9111 3.3). They belong together by a strong validator, and are never
/// the whole while a byte is missing.
package struct PartialCopy: Sendable, Hashable {
    /// Bytes that lie together.
    package struct Piece: Sendable, Hashable {
        /// Where they stand in the representation; never empty.
        package var range: Range<Int64>
        package var content: Content
        /// Where in the content they begin.
        package var offset: Int64

        package init(range: Range<Int64>, content: Content, offset: Int64 = 0) {
            self.range = range
            self.content = content
            self.offset = offset
        }
    }

    /// What names these bytes and no others, as If-Range takes it.
    package let validator: String
    /// As of a 200: what a whole copy would have, but for the content, which is empty.
    package var head: ServerCopy
    /// Of the whole representation, in bytes.
    package let length: Int64
    /// In rising order, without overlaps.
    package private(set) var pieces: [Piece]

    /// More pieces than this are not kept: the shortest go.
    package static let pieceLimit = 1_000

    /// Of an answer with a part, or with the beginning of the whole; nil where nothing strong names the bytes. `head` as
    /// received; every piece lies within the length.
    package init?(head: ServerCopy, length: Int64, pieces: [Piece] = []) {
        guard let validator = head.strongValidator else { return nil }
        var head = head
        // Both describe what was sent, not the whole (RFC 9530 2).
        if head.status == 206 { for name in ["Content-Range", "Content-Digest"] { head.fields.remove(name) } }
        head.status = 200
        head.content = .empty
        self.init(validator: validator, head: head, length: length, pieces: pieces)
    }

    /// As it was kept.
    package init(validator: String, head: ServerCopy, length: Int64, pieces: [Piece]) {
        self.validator = validator
        self.head = head
        self.length = length
        self.pieces = []
        for piece in pieces { add(piece) }
    }

    /// Bytes that are here.
    package var heldLength: Int64 { pieces.reduce(0) { $0 + Int64($1.range.count) } }
    package var isComplete: Bool { heldLength == length }

    /// Whether every byte of the range is here.
    package func covers(_ range: Range<Int64>) -> Bool { gap(in: range) == nil }

    /// From the first byte of the range that is missing to the last one; nil where none is.
    package func gap(in range: Range<Int64>) -> Range<Int64>? {
        var (lower, upper) = (range.lowerBound, range.upperBound)
        for piece in pieces where piece.range.contains(lower) { lower = piece.range.upperBound }
        for piece in pieces.reversed() where piece.range.lowerBound < upper && piece.range.upperBound >= upper {
            upper = piece.range.lowerBound
        }
        return lower < upper ? lower..<upper : nil
    }

    /// Where the first piece after `offset` begins; the length where there is none.
    package func nextHeld(after offset: Int64) -> Int64 {
        pieces.first { $0.range.lowerBound > offset }?.range.lowerBound ?? length
    }

    /// The stored bytes that make up the range, in order; nil where some are missing.
    package func slices(of range: Range<Int64>) -> [(content: Content, range: Range<Int64>)]? {
        guard covers(range) else { return nil }
        return pieces.compactMap { piece in
            let part = piece.range.clamped(to: range)
            guard !part.isEmpty else { return nil }
            let start = part.lowerBound - piece.range.lowerBound + piece.offset
            return (piece.content, start..<start + Int64(part.count))
        }
    }

    /// These parts with those of a later answer, which also brings the fields up to date (RFC 9111 3.4); nil where it speaks of
    /// other bytes.
    package func combined(with later: PartialCopy) -> PartialCopy? {
        guard length == later.length, validator.hasSameBytes(as: later.validator) else { return nil }
        var all = self
        all.head = Validation.refreshed(
            head, by: later.head.fields, request: nil, requestTime: later.head.requestTime,
            responseTime: later.head.responseTime, epoch: later.head.epoch)
        all.head.selecting = later.head.selecting
        for piece in later.pieces { all.add(piece) }
        return all
    }

    /// The same bytes under a head that the origin has confirmed.
    package func withHead(_ head: ServerCopy) -> PartialCopy {
        var copy = self
        copy.head = head
        return copy
    }

    /// The same with other values of each piece's content; nil where `body` has none.
    package func withContents(_ body: (Content) -> Content?) -> PartialCopy? {
        var copy = self
        for index in pieces.indices {
            guard let content = body(pieces[index].content) else { return nil }
            copy.pieces[index].content = content
        }
        return copy
    }

    /// Pieces that the new one covers go; of the new one stays what others do not have.
    private mutating func add(_ new: Piece) {
        pieces.removeAll { $0.range.clamped(to: new.range) == $0.range }
        var (lower, upper) = (new.range.lowerBound, new.range.upperBound)
        for piece in pieces where piece.range.overlaps(new.range) {
            if piece.range.lowerBound <= new.range.lowerBound {
                lower = max(lower, piece.range.upperBound)
            } else {
                upper = min(upper, piece.range.lowerBound)
            }
        }
        guard lower < upper else { return }
        let place = pieces.firstIndex { $0.range.lowerBound >= upper } ?? pieces.count
        pieces.insert(
            Piece(
                range: lower..<upper, content: new.content, offset: new.offset + lower - new.range.lowerBound),
            at: place)
        let shortest = pieces.indices.min { pieces[$0].range.count < pieces[$1].range.count }
        if pieces.count > Self.pieceLimit, let shortest {
            pieces.remove(at: shortest)
        }
    }
}

extension ServerCopy {
    /// What names exactly these bytes (RFC 9110 8.8.1), as If-Range takes it: a strong tag, or, where there is no tag, a
    /// Last-Modified that is at least a minute older than Date: within that time clocks that differ could make one date
    /// stand for two versions (RFC 9110 8.8.2.2).
    package var strongValidator: String? {
        if let tag = fields.etag { return tag.isStrong ? tag.text : nil }
        guard let text = lastModified, let modified = HTTPDate(text, now: responseTime),
            let date = fields["Date"].flatMap({ HTTPDate($0, now: responseTime) }),
            date.seconds - modified.seconds >= 60
        else { return nil }
        return text
    }
}
