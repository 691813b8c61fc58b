import CacheCore
import EventServer
import HTTPModel
import Synchronization

/// A small REST origin to try Holdfast on: collections of JSON objects with ETags, `If-Match`, `If-None-Match`; its state is in
/// memory and ends with it.
///
/// `/items` lists; POST adds with `Location`; `/items/ID` is read, written, merged and deleted. Any other path of one segment is a
/// collection too.
struct SampleOrigin: RequestHandler {
    private final class State: Sendable {
        let collections = Mutex<[String: SampleCollection]>(["items": .first])
    }

    private let state = State()

    func answerAtOnce(_ request: borrowing RawRequest, into sink: inout some ResponseSink & ~Copyable) -> Bool { false }

    func refusal(status: Int, reason: String) -> (contentType: String, body: [UInt8]) {
        ("application/json", JSONValue.object(["error": .string(reason)]).bytes)
    }

    func handle(_ exchange: any Exchange) {
        Task {
            var body: [UInt8] = []
            do throws(ExchangeError) {
                while let piece = try await exchange.readBody() {
                    body += piece
                    if body.count > 16 << 20 { return answer(exchange, 413, error: "the body is too large") }
                }
            } catch {
                return exchange.abort()
            }
            respond(to: exchange, body: body)
        }
    }

    private func respond(to exchange: any Exchange, body: [UInt8]) {
        let head = exchange.head
        let segments = head.target.prefix { $0 != "?" }.split(separator: "/").map { Percent.decode(String($0)) }
        guard let name = segments.first, segments.count <= 2 else {
            return answer(exchange, 404, error: "try /items")
        }
        let (status, fields, json) = state.collections.withLock { collections -> (Int, HTTPFields, JSONValue?) in
            var collection = collections[name] ?? SampleCollection()
            defer { collections[name] = collection }
            return segments.count == 1
                ? collection.handle(head, path: "/" + Percent.encodeSegment(name), body: body)
                : collection.handleItem(segments[1], head, body: body)
        }
        var all = fields
        all["Cache-Control"] = "max-age=5"
        if status == 304 || status == 204 {
            return exchange.respond(ResponseHead(status: status, fields: all), body: [])
        }
        all["Content-Type"] = "application/json"
        exchange.respond(ResponseHead(status: status, fields: all), body: json.map { $0.bytes + [10] } ?? [])
    }

    private func answer(_ exchange: any Exchange, _ status: Int, error: String) {
        exchange.respond(
            ResponseHead(status: status, fields: ["Content-Type": "application/json"]),
            body: JSONValue.object(["error": .string(error)]).bytes)
    }
}

/// One collection of the sample origin. Versions count up, so that a tag never comes back.
struct SampleCollection: Sendable {
    private struct Item: Sendable {
        var value: JSONValue
        var version: Int
    }

    private var items: [(id: String, item: Item)] = []
    private var lastID = 0
    private var version = 0

    /// What the sample starts with.
    static var first: SampleCollection {
        var collection = SampleCollection()
        for name in ["Hammer", "Anvil"] { _ = collection.add(["name": .string(name), "price": 10]) }
        return collection
    }

    typealias Answer = (Int, HTTPFields, JSONValue?)

    mutating func handle(_ head: RequestHead, path: String, body: [UInt8]) -> Answer {
        switch head.method {
        case .get, .head:
            let tag = "\"c\(version)\""
            if isUnchanged(head, tag) { return (304, ["ETag": tag], nil) }
            return (200, ["ETag": tag], .array(items.map(\.item.value)))
        case .post:
            guard let value = try? JSONValue(parsing: body), value.isObject else {
                return (400, HTTPFields(), ["error": "the body must be a JSON object"])
            }
            let (id, item) = add(value)
            return (201, ["ETag": "\"\(item.version)\"", "Location": "\(path)/\(id)"], item.value)
        case .options: return (204, ["Allow": "GET, HEAD, POST, OPTIONS"], nil)
        default: return (405, ["Allow": "GET, HEAD, POST, OPTIONS"], ["error": "a collection takes GET and POST"])
        }
    }

    mutating func handleItem(_ id: String, _ head: RequestHead, body: [UInt8]) -> Answer {
        let index = items.firstIndex { $0.id == id }
        let tag = index.map { "\"\(items[$0].item.version)\"" }
        if head.method == .get || head.method == .head {
            guard let index, let tag else { return (404, HTTPFields(), ["error": "there is no such item"]) }
            if isUnchanged(head, tag) { return (304, ["ETag": tag], nil) }
            return (200, ["ETag": tag], items[index].item.value)
        }
        if head.method == .options { return (204, ["Allow": "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"], nil) }
        if let wanted = head.fields.combined("If-Match"),
            !(tag.map { EntityTagCondition(wanted).matchesStrongly(ETag($0)) } ?? false)
        {
            return (412, HTTPFields(), ["error": "the item has changed"])
        }
        if head.fields.combined("If-None-Match") != nil, index != nil {
            return (412, HTTPFields(), ["error": "the item exists"])
        }
        switch head.method {
        case .delete:
            guard let index else { return (404, HTTPFields(), ["error": "there is no such item"]) }
            items.remove(at: index)
            version += 1
            return (204, HTTPFields(), nil)
        case .put, .patch:
            guard var value = try? JSONValue(parsing: body), value.isObject else {
                return (400, HTTPFields(), ["error": "the body must be a JSON object"])
            }
            if head.method == .patch {
                guard let index else { return (404, HTTPFields(), ["error": "there is no such item"]) }
                value = JSONMergePatch.apply(value, to: items[index].item.value)
            }
            value["id"] = .string(id)
            version += 1
            let item = Item(value: value, version: version)
            if let index { items[index].item = item } else { items.append((id, item)) }
            return (index == nil ? 201 : 200, ["ETag": "\"\(version)\""], value)
        default: return (405, ["Allow": "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"], ["error": "not that method"])
        }
    }

    private func isUnchanged(_ head: RequestHead, _ tag: String) -> Bool {
        head.fields.combined("If-None-Match").map { EntityTagCondition($0).matchesWeakly(ETag(tag)) } ?? false
    }

    private mutating func add(_ value: JSONValue) -> (id: String, item: Item) {
        lastID += 1
        version += 1
        var value = value
        let id = String(lastID)
        value["id"] = .string(id)
        let item = Item(value: value, version: version)
        items.append((id, item))
        return (id, item)
    }
}
