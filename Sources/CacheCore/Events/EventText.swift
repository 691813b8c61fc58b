import HTTPModel

/// Names an event for Last-Event-ID: the start of the service and a number within it, so that one of an earlier start is told
/// from one of this.
package struct EventID: Sendable, Hashable {
    package var epoch: Int64
    package var number: Int64

    package init(epoch: Int64, number: Int64) {
        self.epoch = epoch
        self.number = number
    }

    /// `EPOCH-NUMBER`; nil for anything else.
    package init?(text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = Int64(parts[0]), let number = Int64(parts[1]), epoch >= 0, number >= 0
        else { return nil }
        self.init(epoch: epoch, number: number)
    }

    package var text: String { "\(epoch)-\(number)" }
}

/// The text of an event stream (WHATWG HTML, "Server-sent events").
package enum EventText {
    /// A comment, which readers drop: shows that the connection lives.
    package static let heartbeat = Array(":\n\n".utf8)

    /// Tells the reader where it stands without being an event.
    package static func position(_ id: EventID) -> [UInt8] { Array("id: \(id.text)\n\n".utf8) }

    /// Events were missed: what is shown must be read again. Goes on behind `id`. `at` in seconds since 1970.
    package static func resync(at id: EventID, time: Double) -> [UInt8] { event(id: id, type: "resync", at: time, nil) }

    /// The data is one object: id, type, at, and a member of the type's name with what the event is about.
    static func event(id: EventID, type: String, at: Double, _ subject: JSONValue?) -> [UInt8] {
        var bytes = Array("id: \(id.text)\nevent: \(type)\ndata: ".utf8)
        JSONValue.object(omittingNil: [
            "id": .string(id.text), "type": .string(type), "at": .string(Timestamp.format(at)), type: subject,
        ]).write(into: &bytes)
        bytes += "\n\n".utf8
        return bytes
    }
}
