package import CacheCore
package import HTTPModel

/// Looks at targets and lists at the origin under an operation's identity.
package struct Lookout: Sendable {
    private let context: DeliveryContext
    private let courier: Courier

    /// Pages of one list at most; a longer one counts as one that can't be read whole.
    private static let pageLimit = 10_000

    package init(_ context: DeliveryContext) {
        self.context = context
        courier = Courier(context)
    }

    /// GETs a target whole, past caches on the way.
    package func look(at target: Target, fields: HTTPFields, partition: PartitionID, expectsJSON: Bool) async
        -> LookResult
    {
        let asked = Self.readFields(fields)
        let start = context.clock.now
        switch await courier.send(
            .get, target, fields: asked, body: nil, partition: partition, expectsJSON: expectsJSON)
        {
        case .unreachable, .portal: return .unreachable
        case .lost, .noBody: return .notNow
        case .noCredential, .refusedCredential: return .noCredential
        case .answer(let response):
            let received = context.clock.now
            switch response.status {
            case 200, 404, 410: break
            case 408, 425, 429, 500...599:
                response.body.cancel()
                return .notNow
            default:
                response.body.cancel()
                return .unreadable(status: response.status)
            }
            let keeper = AnswerKeeper(context, at: target)
            do throws(AnswerKeeper.Failure) {
                let content = try await keeper.whole(response, for: .operation)
                return .seen(
                    Sighting(
                        status: response.status, fields: keeper.keptFields(response.fields), content: content,
                        requestTime: start, responseTime: received, requestFields: asked))
            } catch {
                return .notNow
            }
        }
    }

    /// What a list of members brought.
    package enum ListResult: Sendable {
        case members(CollectionMembers)
        case unreachable
        case noCredential
        case notNow
        /// It can't be read whole: no list, a page without an array, or not allowed.
        case unreadable
    }

    /// Reads the list at a collection, all pages.
    package func members(of collection: Target, fields: HTTPFields, partition: PartitionID) async -> ListResult {
        let rule = context.settings.current.collectionRule(for: collection)
        var members = CollectionMembers()
        var seen: Set<Target> = []
        var page: Target? = collection
        while let target = page {
            guard seen.insert(target).inserted, seen.count <= Self.pageLimit else { return .unreadable }
            switch await look(at: target, fields: fields, partition: partition, expectsJSON: true) {
            case .unreachable: return .unreachable
            case .noCredential: return .noCredential
            case .notNow: return .notNow
            case .unreadable: return .unreadable
            case .seen(let sighting):
                let document: JSONValue?
                do throws(StoreError) { document = try await json(sighting.content) } catch { return .notNow }
                guard sighting.status == 200, let document, members.add(page: document, rule: rule) else {
                    return .unreadable
                }
                let next = ListedMembers.nextPage(
                    after: target, fields: sighting.fields, urlFields: context.settings.current.urlFields,
                    originBase: context.origin.base)
                switch next {
                case .none: page = nil
                case .some(nil): return .unreadable
                case .some(let next): page = next
                }
            }
        }
        return .members(members)
    }

    /// A stored body as JSON; nil where it is none, too large or lost. Throws where it can't be read now.
    package func json(_ content: Content?) async throws(StoreError) -> JSONValue? {
        guard let bytes = try await bytes(content) else { return nil }
        return try? JSONValue(parsing: bytes)
    }

    /// A stored body up to `maxJSONSize`; nil above, and where it is lost. Throws where it can't be read now: nothing is decided then.
    package func bytes(_ content: Content?) async throws(StoreError) -> [UInt8]? {
        guard let content else { return nil }
        do throws(StoreError) {
            return try await context.store.bytes(of: content, limit: context.settings.current.maxJSONSize)
        } catch {
            guard error == .tooLarge || error.isLoss else { throw error }
            return nil
        }
    }

    /// What selects a representation goes along; preconditions, ranges and what describes a body do not.
    private static func readFields(_ fields: HTTPFields) -> HTTPFields {
        var kept = fields
        kept.removeAll { field in
            let name = field.name.asciiLowercased
            return name.hasPrefix("content-") || name.hasPrefix("if-") || dropped.contains(name)
        }
        kept["Cache-Control"] = "no-cache"
        return kept
    }

    private static let dropped: Set<String> = [
        "accept-encoding", "cache-control", "digest", "expect", "idempotency-key", "prefer", "range", "repr-digest",
        "slug", "x-http-method-override",
    ]
}
