import CacheCore
import HTTPModel

/// One write of one client, from its checks to its answer. A class, since it is handed on many times.
final class WriteJob: Sendable {
    let context: ServiceContext
    let exchange: any Exchange
    /// As asked for.
    let original: ResourceRequest
    /// For what the target means now: a temporary one that has become real is the real one.
    let request: ResourceRequest
    /// Whether it is a temporary target that never became real.
    let isGone: Bool
    /// nil until `loaded`.
    let entry: Entry?
    /// The turn at the resource, where this write has it.
    let turn: ResourceTurn?
    let clientKey: String?
    let preferences: Preferences
    let flights: Flights
    /// What brings the body in place of the exchange.
    let upload: Uploaded?
    /// Of an earlier attempt under the same key whose outcome is unknown.
    let earlier: KeyRecord?

    init(
        context: ServiceContext, request: ResourceRequest, exchange: any Exchange, clientKey: String?,
        flights: Flights, upload: Uploaded?, after earlier: KeyRecord? = nil
    ) {
        self.context = context
        self.exchange = exchange
        self.clientKey = clientKey
        self.flights = flights
        self.upload = upload
        self.earlier = earlier
        original = request
        switch context.queue.resolve(request.target, of: request.key.partition) {
        case .itself: (self.request, isGone) = (request, false)
        case .moved(let target): (self.request, isGone) = (request.retargeted(to: target), false)
        case .gone: (self.request, isGone) = (request, true)
        }
        preferences = Preferences(request.head.fields)
        entry = nil
        turn = nil
    }

    private init(_ job: WriteJob, entry: Entry?, turn: ResourceTurn?) {
        context = job.context
        exchange = job.exchange
        original = job.original
        request = job.request
        isGone = job.isGone
        clientKey = job.clientKey
        preferences = job.preferences
        flights = job.flights
        upload = job.upload
        earlier = job.earlier
        self.entry = entry
        self.turn = turn
    }

    /// The same write, for what its target means now.
    func renewed(after earlier: KeyRecord? = nil) -> WriteJob {
        WriteJob(
            context: context, request: original, exchange: exchange, clientKey: clientKey, flights: flights,
            upload: upload, after: earlier ?? self.earlier)
    }

    /// With the entry as it is now, and the turn.
    func loaded(with turn: ResourceTurn?) async throws -> WriteJob {
        if context.store.isAbsent(key) { return WriteJob(self, entry: nil, turn: turn) }
        return WriteJob(self, entry: try await context.store.entry(key), turn: turn)
    }

    var key: EntryKey { request.key }
    var method: HTTPMethod { request.method }
    var policy: Policy { request.policy(entry: entry) }
    var answers: ResourceAnswer { ResourceAnswer(request, base: context.origin.base) }
    var reader: BodyReader {
        BodyReader(
            context, exchange, longest: request.settings.maxBodySize, target: key.target, uploaded: upload?.content)
    }

    /// Nothing of the write may reach the disk.
    var isForbiddenToKeep: Bool {
        policy.noCache || request.hasSecretParameter || CacheControl(request: request.head.fields).noStore
    }

    func run() async throws {
        if !request.isProven { try await prove() }
        guard let clientKey else { return try await perform(nil, deadline: context.clock.now + laneWait) }
        try await run(under: clientKey)
    }

    @inline(never)
    private func run(under clientKey: String) async throws {
        let sent = try await reader.read(mayStream: false)
        let fingerprint = try fingerprint(of: sent)
        switch try await context.queue.lookUp(key: clientKey, fingerprint: fingerprint, of: key.partition) {
        case .new: try await perform(sent, deadline: context.clock.now + laneWait)
        case .accepted(let operation):
            try await answer(for: operation, deadline: preferences.wait.map { context.clock.now + $0 })
        case .stopped(let operation): try await tryAgain(operation)
        case .answered(let kept, let operation): try await replay(kept, operation)
        case .unknownOutcome(let record):
            try await renewed(after: record).perform(sent, deadline: context.clock.now + laneWait)
        case .reused:
            throw Problem(
                .keyReused, "A key names one request: method, target, preconditions and body. Use a new one.")
        }
    }

    /// A value that the origin has not accepted yet sees nothing that is kept (design 4, "Whose"): it is shown to the origin first.
    private func prove() async throws {
        let refusal = Problem(
            .credentialUnproven, "The origin has to accept this credential once before kept data can be used with it.")
        guard context.network.state.isOnline else { throw refusal }
        guard clientKey != nil || context.queue.lane(of: key) != .empty else { return }
        let fields = fetchFields()
        do {
            let answer = try await context.origin.send(
                OriginRequest(method: .head, target: request.target.text, fields: fields))
            answer.body.cancel()
            context.network.answered(status: answer.status)
            guard answer.status != 401, answer.status != 403 else { throw refusal }
            context.credentials.accepted(request.credentials, for: key.partition)
        } catch let error as OriginError {
            if case .unreachable = error { context.network.connectionFailed(error) }
            throw refusal
        }
    }

    /// Content-Type is required on upload (design 7).
    func checkContentType() throws {
        guard request.route == .files, method == .put || method == .post, request.head.bodyLength != 0,
            !request.head.fields.contains("Content-Type")
        else { return }
        throw Problem(.contentType, "Say in Content-Type what the file is.")
    }

    /// Over what one Idempotency-Key names: method, target, preconditions and body, each behind its length.
    func fingerprint(of body: SentBody) throws -> Digest {
        let bodyDigest: [UInt8] =
            switch body {
            case .none: Content.empty.digest.bytes
            case .bytes(let bytes): context.digest(bytes).bytes
            case .stored(let content): content.digest.bytes
            case .stream: throw Problem(.tooLarge, "A body of this size can't be kept to tell a repeat.")
            }
        let fields = original.head.fields
        var named: [UInt8] = []
        named.reserveCapacity(256)
        for text in [
            method.rawValue, original.target.text, fields.combined("If-Match"), fields.combined("If-None-Match"),
            fields.combined("If-Unmodified-Since"),
        ] {
            named += String(text?.utf8.count ?? 0).utf8
            named.append(UInt8(ascii: ":"))
            named += (text ?? "").utf8
        }
        named += bodyDigest
        return context.digest(named)
    }

    /// What a write means for the queue (design 4, "POST").
    func kind() async throws -> OperationKind {
        guard method == .post else { return .edit }
        switch policy.post {
        case .action: return .action
        case .create, .never: return .create
        case nil: break
        }
        if request.settings.collection(for: request.target) != nil { return .create }
        if context.queue.localEdit(of: key) != nil { return .action }
        let copies = entry?.copies.filter { !$0.isGone } ?? []
        if let copy = copies.first(where: { !$0.fields.contains("Content-Encoding") }) ?? copies.first {
            return try await isList(copy) ? .create : .action
        }
        return request.settings.collection(ofMember: request.target) != nil ? .action : .create
    }

    @inline(never)
    private func isList(_ copy: ServerCopy) async throws -> Bool {
        guard copy.fields["Content-Type"].flatMap({ MediaType($0) })?.isJSON ?? false else { return false }
        return try await context.isList(copy.content, at: request.target)
    }

    /// Whether target or body speak of a temporary target while something is queued: then the write waits behind it.
    func namesTemporaryTarget(_ body: SentBody) -> Bool {
        let counts = context.queue.counts
        guard counts.pending + counts.sending + counts.unknown > 0 else { return false }
        if TemporaryTarget.mayOccur(in: request.target.text) { return true }
        return body.inMemory.map { TemporaryTarget.mayOccur(in: $0) } ?? false
    }
}
