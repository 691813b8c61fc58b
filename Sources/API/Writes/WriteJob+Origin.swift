import CacheCore
import HTTPModel

/// An answer of the origin to a write, its body still to be read.
struct OriginAnswer: Sendable {
    var response: OriginResponse
    var requestTime: Double
    var responseTime: Double

    var status: Int { response.status }
    var fields: HTTPFields { response.fields }
}

/// What came of sending a write once.
enum Transmission: Sendable {
    case answer(OriginAnswer)
    /// No connection: nothing was sent.
    case notSent
    /// It may have taken effect.
    case unknown
}

/// What the origin has now, read after it refused a write.
struct ServerSight: Sendable {
    var status: Int
    var fields: HTTPFields
    var content: Content
    var isGone: Bool { status == 404 || status == 410 }

    var version: ConflictVersion {
        isGone
            ? ConflictVersion(isAbsent: true)
            : ConflictVersion(
                etag: fields["ETag"], lastModified: fields["Last-Modified"], mediaType: fields["Content-Type"],
                content: content)
    }
}

/// Talking to the origin.
extension WriteJob {
    /// What may be kept of an answer's fields.
    func keepable(_ fields: HTTPFields) -> HTTPFields { Secrets.removed(from: fields, settings: request.settings) }

    /// Sends once. Throws where the client's side ends early.
    func transmit(_ method: HTTPMethod, _ fields: HTTPFields, _ body: SentBody) async throws -> Transmission {
        let sent: OriginRequestBody
        switch body {
        case .none: sent = .none
        case .bytes(let bytes): sent = .bytes(bytes)
        case .stored(let content):
            sent = .stream(length: content.length, source: try await context.store.read(content, range: nil))
        case .stream(let source): sent = .stream(length: source.length, source: source)
        }
        flights.invalidate(key)
        defer { flights.invalidate(key) }
        let requestTime = context.clock.now
        do {
            let response = try await context.origin.send(
                OriginRequest(
                    method: method, target: request.target.text, fields: fields, body: sent,
                    interim: request.settings.interimAnswers ? interim : nil))
            let answer = OriginAnswer(
                response: response, requestTime: requestTime, responseTime: context.clock.now)
            return try await judge(answer)
        } catch .unreachable(let reason, let isTLS) {
            context.network.connectionFailed(.unreachable(reason: reason, isTLS: isTLS))
            return .notSent
        } catch {
            if case .stream(let source) = body, let failure = source.failure {
                if (failure as? ExchangeError) == .bodyTooLarge {
                    throw Problem(.tooLarge, "A body has at most \(request.settings.maxBodySize) bytes (maxBodySize).")
                }
                throw failure
            }
            return .unknown
        }
    }

    /// Hands the origin's interim answers on.
    private var interim: @Sendable (Int, HTTPFields) -> Void {
        { [answers, exchange] status, fields in exchange.inform(answers.interim(status: status, fields: fields)) }
    }

    /// Tells the network and the credentials of the answer, unless a portal gave it (design 8).
    private func judge(_ answer: OriginAnswer) async throws(OriginError) -> Transmission {
        let types = [request.head.fields["Content-Type"], entry?.copies.first?.fields["Content-Type"]]
        let expectsJSON =
            types.contains { $0.flatMap { MediaType($0) }?.isJSON ?? false }
            || request.head.fields.values("Accept").contains { $0.asciiLowercased.hasBytes(of: "json") }
        if context.network.looksLikePortal(
            status: answer.status, fields: answer.fields, expectsJSON: expectsJSON),
            await context.network.confirmPortal()
        {
            answer.response.body.cancel()
            // A portal's redirect never reached the origin; what it calls a success can't be told.
            return (200...299).contains(answer.status) ? .unknown : .notSent
        }
        context.network.answered(status: answer.status)
        if answer.status == 401 {
            context.credentials.refused(request.credentials, for: key.partition)
        } else if answer.status != 403 {
            context.credentials.accepted(request.credentials, for: key.partition)
        }
        return .answer(answer)
    }

    /// The request's fields for a read of the same target: no preconditions, nothing of the body, no key.
    func fetchFields() -> HTTPFields {
        var fields = request.originFields
        fields.removeAll { field in
            let name = field.name.asciiLowercased
            return name.hasPrefix("if-") || name.hasPrefix("content-") || name == "repr-digest" || name == "prefer"
                || name == "idempotency-key" || name == "range"
        }
        fields["Accept-Encoding"] = "identity"
        return fields
    }

    /// Reads the target afresh and makes it the server copy; nil where the origin doesn't tell.
    func fetchServer() async -> ServerSight? {
        let fields = fetchFields()
        let requestTime = context.clock.now
        do {
            let response = try await context.origin.send(
                OriginRequest(method: .get, target: request.target.text, fields: fields))
            let responseTime = context.clock.now
            let isGone = response.status == 404 || response.status == 410
            guard response.status == 200 || isGone else {
                response.body.cancel()
                return nil
            }
            let content = try await store(response.body, for: .operation)
            let kept = Validation.stripped(keepable(response.fields), isShared: key.partition == .none)
            let mayStore = Storability.mayStore(
                method: .get, requestFields: fields, status: response.status, fields: response.fields, policy: policy,
                isShared: key.partition == .none, isDelimited: response.isDelimited,
                targetedFields: request.settings.targetedFields)
            var changes: [StoreChange] = [.expire(key)]
            if mayStore.store {
                changes.append(
                    .putCopy(
                        key,
                        ServerCopy(
                            status: response.status, fields: kept, content: content, requestTime: requestTime,
                            responseTime: responseTime,
                            selecting: Selecting.fields(vary: response.fields.values("Vary"), request: fields),
                            epoch: context.store.epoch)))
            }
            try await context.store.commit(changes, durable: true)
            return ServerSight(status: response.status, fields: kept, content: content)
        } catch let error as OriginError {
            if case .unreachable = error { context.network.connectionFailed(error) }
            return nil
        } catch {
            context.log.write(.warning, "the server version could not be kept", [])
            return nil
        }
    }

    /// Takes a body of the origin into the store.
    func store(_ source: any BodySource, for purpose: ContentPurpose) async throws -> Content {
        let writer = try await context.store.makeBody(for: purpose, at: key.target, length: nil)
        do {
            while let piece = try await source.next() { try await writer.append(piece) }
            return try await writer.finish()
        } catch {
            source.cancel()
            writer.discard()
            throw error
        }
    }
}
