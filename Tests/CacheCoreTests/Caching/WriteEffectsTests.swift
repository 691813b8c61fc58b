import CacheCore
import HTTPModel
import Testing

@Suite("What a write leaves (design 4, RFC 9111 4.4)")
struct WriteEffectsTests {
    private static let body = Content(digest: Digest(bytes: [1]), length: 1, inline: [1])
    private static let sent = Content(digest: Digest(bytes: [2]), length: 1, inline: [2])

    private func changes(
        _ method: HTTPMethod, _ status: Int, _ fields: HTTPFields, body: Content? = nil, showsEdit: Bool = true
    ) -> [StoreChange] {
        let key = EntryKey(partition: .none, target: Target(unchecked: "/items/1"))
        return WriteEffects.changes(
            key: key, method: method, status: status, answerFields: fields, answerBody: body,
            answerBodyIsComplete: true, answerShowsEdit: showsEdit, sentBody: Self.sent, sentType: "application/json",
            entry: Entry(key: key, copies: [makeCopy(["Content-Type": "application/json"])]),
            originBase: "http://o/api", requestTime: 1, responseTime: 2, epoch: 1)
    }

    /// What the write proved.
    private func copy(_ changes: [StoreChange]) -> ServerCopy? {
        for case .putCopy(_, let copy) in changes where !copy.isExpired { return copy }
        return nil
    }

    private func outdated(
        _ status: Int = 204, sent: Content? = Self.sent, coding: String? = nil, over known: ServerCopy...
    ) -> ServerCopy? {
        WriteEffects.outdated(
            known, status: status, sent: sent, type: "a/b", coding: coding, requestTime: 1, responseTime: 2)
    }

    @Test("The answer's body counts where it is the target's own representation")
    func answered() {
        let type: HTTPFields = ["Content-Type": "application/json"]
        #expect(copy(changes(.put, 200, type, body: Self.body)) == nil)
        let tagged: HTTPFields = ["Content-Type": "application/json", "ETag": "\"a\""]
        #expect(copy(changes(.put, 200, tagged, body: Self.body))?.content == Self.body)
        #expect(copy(changes(.put, 200, tagged, body: Self.body, showsEdit: false)) == nil)
        let located: HTTPFields = ["Content-Type": "text/x", "Content-Location": "/api/items/1"]
        #expect(copy(changes(.patch, 200, located, body: Self.body, showsEdit: false))?.content == Self.body)
    }

    @Test("RFC 9110 9.3.4: a strong tag without a body proves the bytes sent")
    func sentBytes() {
        #expect(copy(changes(.put, 204, ["ETag": "\"a\""]))?.content == Self.sent)
        #expect(copy(changes(.put, 204, ["ETag": "W/\"a\""])) == nil)
        #expect(copy(changes(.patch, 204, ["ETag": "\"a\""])) == nil)
        #expect(copy(changes(.put, 202, ["ETag": "\"a\""])) == nil)
    }

    @Test("RFC 9110 9.3.3: an answer to POST is kept where Content-Location is the target, but not what is private")
    func posted() {
        let located: HTTPFields = ["Content-Location": "/api/items/1"]
        #expect(copy(changes(.post, 200, located, body: Self.body))?.content == Self.body)
        #expect(copy(changes(.post, 200, ["Content-Type": "text/x"], body: Self.body)) == nil)
        let hidden: HTTPFields = ["Content-Location": "/api/items/1", "Cache-Control": "private"]
        #expect(copy(changes(.post, 200, hidden, body: Self.body)) == nil)
    }

    @Test("A write that proves no bytes leaves what was sent, expired and without the validators of the version before")
    func unproven() throws {
        let known = makeCopy([
            "ETag": "\"1\"", "Last-Modified": date(5), "Date": date(9), "Content-Type": "text/x",
            "Content-Language": "en", "Repr-Digest": "sha-256=:AA==:", "Vary": "Accept",
        ])
        let written = try #require(outdated(over: makeCopy(["Content-Encoding": "gzip"]), known))
        #expect(written.isExpired && written.content == Self.sent && written.responseTime == 2)
        #expect(written.fields == ["Vary": "Accept", "Date": date(2), "Content-Type": "a/b"])
        let patched = try #require(outdated(sent: nil, over: known))
        #expect(patched.isExpired && patched.content == known.content && patched.fields["Content-Type"] == "text/x")
        #expect(patched.etag == nil && patched.lastModified == nil && patched.fields["Content-Language"] == "en")
        #expect(outdated(coding: "br", over: known)?.fields["Content-Encoding"] == "br")
    }

    @Test("Nothing is left where nothing was known, or where the origin has only promised")
    func unprovenNothing() {
        #expect(outdated() == nil && outdated(over: makeCopy([:], status: 404)) == nil)
        #expect(outdated(202, over: makeCopy([:])) == nil && outdated(303, over: makeCopy([:])) == nil)
    }

    @Test("A patch document is never taken for the target's bytes, nor what may not be kept")
    func unprovenBytes() {
        func left(_ changes: [StoreChange]) -> Content? {
            for case .putCopy(_, let copy) in changes { return copy.content }
            return nil
        }
        #expect(left(changes(.put, 204, [:])) == Self.sent && left(changes(.patch, 204, [:])) == .empty)
        #expect(left(changes(.put, 204, ["Cache-Control": "no-store"])) == .empty)
    }

    @Test("DELETE and 404 leave gone; other errors change nothing")
    func gone() {
        #expect(copy(changes(.delete, 204, [:]))?.isGone == true)
        #expect(copy(changes(.put, 410, [:]))?.status == 410)
        #expect(changes(.put, 500, [:]).isEmpty && changes(.get, 200, [:]).isEmpty)
    }

    @Test("The target, its collection and what Location names under the origin expire")
    func expiry() {
        var expired: [String] = []
        for change in changes(.put, 204, ["Location": "http://o/api/other", "Content-Location": "http://x/api/y"]) {
            switch change {
            case .expire(let key): expired.append(key.target.text)
            case .expirePath(_, let path): expired.append("path " + path)
            default: break
            }
        }
        #expect(expired == ["/items/1", "path /items", "/other"])
    }
}
