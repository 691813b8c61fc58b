package import CacheCore
package import HTTPModel

/// A request under /resources or /files after all checks that don't depend on its method: what reads and writes work with.
/// A class, since it is handed on many times.
package final class ResourceRequest: Sendable {
    /// As it arrived.
    package let head: RequestHead
    package let route: Route
    /// Partition and target, the parameters that are for Holdfast removed.
    package let key: EntryKey
    /// The credential fields that the request carries (design 1, "partition").
    package let credentials: HTTPFields
    /// False where a part of an identity names the partition and the origin has not yet accepted these values: such a request
    /// sees nothing that is kept (design 4, "Whose").
    package let isProven: Bool
    /// `Sync-Policy` of the request.
    package let requestPolicy: PolicyLayer
    /// The first pattern that matches, and the default below it.
    package let configuredPolicy: [PolicyLayer]
    /// `saveIfOffline`, by parameter or field; nil where absent.
    package let saveIfOffline: Bool?
    /// `deleteIfOffline`, likewise.
    package let deleteIfOffline: Bool?
    /// `persistentState=true`.
    package let persistentState: Bool
    private let snapshot: SettingsSnapshot
    /// Whether the query holds a secret parameter (`secretParameters`): its answer and target are never kept.
    package let hasSecretParameter: Bool
    /// The store that had the target when the request arrived; its secret made the partition.
    package let place: StorePlace

    package init(
        head: RequestHead, route: Route, key: EntryKey, credentials: HTTPFields, isProven: Bool,
        requestPolicy: PolicyLayer, configuredPolicy: [PolicyLayer], saveIfOffline: Bool?, deleteIfOffline: Bool?,
        persistentState: Bool, settings: SettingsSnapshot, hasSecretParameter: Bool, place: StorePlace = .alone
    ) {
        self.head = head
        self.route = route
        self.key = key
        self.credentials = credentials
        self.isProven = isProven
        self.requestPolicy = requestPolicy
        self.configuredPolicy = configuredPolicy
        self.saveIfOffline = saveIfOffline
        self.deleteIfOffline = deleteIfOffline
        self.persistentState = persistentState
        snapshot = settings
        self.hasSecretParameter = hasSecretParameter
        self.place = place
    }

    package var target: Target { key.target }
    package var method: HTTPMethod { head.method }
    /// As they were when the request arrived.
    package var settings: Settings {
        _read { yield snapshot.settings }
    }

    /// Fields for the origin: end-to-end, without what is for Holdfast; `Via` appended (see `OriginFields`). Made when asked for: what is
    /// answered or queued here has no use for them.
    package var originFields: HTTPFields { OriginFields.make(head, settings: settings) }

    /// The policy in force by the precedence of design 2: the offline flag (`offline` only), Sync-Policy, the entry's, the
    /// pattern's, the default, the built-in default.
    package func policy(entry: Entry?, offline: Bool = false) -> Policy {
        var policy = Policy(layers: configuredPolicy)
        if let entry { policy.take(entry.policy) }
        policy.take(requestPolicy)
        if offline, let flag = method == .delete ? deleteIfOffline : saveIfOffline {
            policy.updatePolicy = flag ? .queueIfOffline : .updateIfOnline
        }
        return policy
    }

    /// The same request for another target (a temporary one that has become real).
    package func retargeted(to target: Target) -> ResourceRequest {
        ResourceRequest(
            head: head, route: route, key: EntryKey(partition: key.partition, target: target),
            credentials: credentials, isProven: isProven, requestPolicy: requestPolicy,
            configuredPolicy: configuredPolicy, saveIfOffline: saveIfOffline, deleteIfOffline: deleteIfOffline,
            persistentState: persistentState, settings: snapshot, hasSecretParameter: hasSecretParameter, place: place)
    }

    /// The same request with a body that comes from elsewhere: of that length, and of that type where it does not say its own.
    package func carrying(length: Int64, mediaType: String?) -> ResourceRequest {
        var head = head
        head.bodyLength = length
        // It was of the request's own, empty content.
        head.fields.remove("Content-Digest")
        if !head.fields.contains("Content-Type") { head.fields["Content-Type"] = mediaType }
        return ResourceRequest(
            head: head, route: route, key: key, credentials: credentials, isProven: isProven,
            requestPolicy: requestPolicy, configuredPolicy: configuredPolicy, saveIfOffline: saveIfOffline,
            deleteIfOffline: deleteIfOffline, persistentState: persistentState, settings: snapshot,
            hasSecretParameter: hasSecretParameter, place: place)
    }
}
