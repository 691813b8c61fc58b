import CacheCore
import HTTPModel

/// The problem `conflict` (design 6): the origin's own status, links, all versions, and what the origin said.
extension WriteJob {
    /// Longer bodies are linked to, not shown.
    private static let shownLimit: Int64 = 64 << 10

    func problem(for conflict: Conflict, status: Int, operation: Operation?) async throws -> Problem {
        let path = "/cache/conflicts/" + conflict.id
        let links = JSONValue.object(omittingNil: [
            "conflict": .string(path),
            "operation": operation.map { .string("/cache/operations/" + $0.id.text) },
        ])
        var members = [Problem.Member("links", json: links.description)]
        for (name, version) in [("base", conflict.base), ("client", conflict.client), ("server", conflict.server)] {
            guard let version else { continue }
            let value = await shown(version, at: path + "/" + name)
            members.append(Problem.Member(name, json: value.description))
        }
        if let answer = conflict.originAnswer { members.append(try await originMember(answer)) }
        var fields: HTTPFields = ["Sync-State": "conflict", "Cache-Status": CacheStatus.forward(.method).text]
        fields["Sync-Operation"] = operation?.id.text
        return Problem(
            .conflict, "The origin has another version. Merge and PUT, or POST to \(path)/resolution.", status: status,
            fields: fields, members: members)
    }

    private func shown(_ version: ConflictVersion, at path: String) async -> JSONValue {
        if version.isAbsent { return .object(["absent": true]) }
        var body: JSONValue?
        if let content = version.content, version.mediaType.flatMap({ MediaType($0) })?.isJSON ?? false,
            let bytes = try? await context.store.bytes(of: content, limit: Self.shownLimit)
        {
            body = try? JSONValue(parsing: bytes)
        }
        return .object(omittingNil: [
            "etag": version.etag.map { .string($0) },
            "lastModified": version.lastModified.map { .string($0) },
            "mediaType": version.mediaType.map { .string($0) },
            "body": body,
            "href": body == nil && version.content != nil ? .string(path) : nil,
        ])
    }

    func originMember(_ answer: KeptAnswer) async throws -> Problem.Member {
        var headers: [JSONMember] = []
        for field in Secrets.redacted(answer.fields, settings: request.settings) {
            headers.append(JSONMember(field.name, .string(field.value)))
        }
        var body: JSONValue?
        if let content = answer.content, content.length > 0,
            let bytes = try? await context.store.bytes(of: content, limit: Self.shownLimit)
        {
            body = (try? JSONValue(parsing: bytes)) ?? .string(String(decoding: bytes, as: UTF8.self))
        }
        return Problem.Member(
            "origin",
            json: JSONValue.object(omittingNil: [
                "status": JSONValue(answer.status), "headers": .object(headers), "body": body,
            ]).description)
    }
}
