package import CacheCore
package import HTTPModel

/// A read of an entry on nobody's behalf: of the endpoint that asks for one, and of the refresh in the background.
package struct EntryRefresh: EntryRefreshing {
    private let context: ServiceContext
    private let counters: Counters

    package init(context: ServiceContext, counters: Counters) {
        self.context = context
        self.counters = counters
    }

    package func refresh(_ key: EntryKey, credentials: HTTPFields) async throws(OriginError) {
        let stored = try? await context.store.entry(key)
        let settings = context.settings.now
        let head = RequestHead(
            method: .get, target: "/resources" + key.target.text,
            fields: Self.fields(asFor: stored?.copies.first, credentials))
        let request = ResourceRequest(
            head: head, route: .resources, key: key, credentials: credentials, isProven: true,
            requestPolicy: PolicyLayer(), configuredPolicy: [settings.settings.policies.layer(for: key.target)],
            saveIfOffline: nil, deleteIfOffline: nil, persistentState: true, settings: settings,
            hasSecretParameter: Secrets.hasSecretParameter(key.target, settings: settings.settings))
        guard !request.isTemporary else { return }
        let copies = (stored?.copies ?? []).filter {
            Selecting.matches($0, request: head.fields) && context.store.holds($0.content)
        }
        let flight = Flight(since: context.expiries.ticket)
        let fetch = Fetch(
            context: context, counters: counters, request: request, policy: request.policy(entry: stored),
            method: .get, fields: request.originFields, revalidate: copies, mayStore: !request.hasSecretParameter,
            hasReader: false, isDurable: true)
        counters.count(.refreshes)
        await fetch.run(flight)
        if case .failed(let error) = await flight.answer(by: nil, clock: context.clock) { throw error }
    }

    /// The fields that select the copy's variant, and the credentials.
    private static func fields(asFor copy: ServerCopy?, _ credentials: HTTPFields) -> HTTPFields {
        var fields = credentials
        for field in copy?.selecting ?? [] where field.name != "*" && !field.value.isEmpty {
            if !fields.contains(field.name) { fields.append(field.name, field.value) }
        }
        return fields
    }
}
