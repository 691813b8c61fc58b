package import HTTPModel

/// What the service knows of the way to the origin (design 8).
package enum NetworkState: String, Sendable, Hashable {
    case online
    /// Online, and the last answers were 5xx or 429.
    case degraded
    /// Online, and the last answer was 401.
    case auth
    case offline
    /// Forced by `PUT /cache/network`.
    case forcedOffline = "offline-forced"

    package var isOnline: Bool { self == .online || self == .degraded || self == .auth }
}

/// Judges online and offline. Callable from any thread; never blocks.
package protocol Network: Sendable {
    var state: NetworkState { get }

    /// A request of ours got no connection: puts the service offline and starts the probe.
    func connectionFailed(_ error: OriginError)

    /// An answer arrived that is the origin's own.
    func answered(status: Int)

    /// Whether an answer shows the sign of a captive portal. Where it does, the caller asks `confirmPortal`.
    /// `expectsJSON`: the entry, the client's Accept or the request says JSON.
    func looksLikePortal(status: Int, fields: HTTPFields, expectsJSON: Bool) -> Bool

    /// Asks for the probe target; true: it is a portal, the service is now offline, and the answer must not be used.
    func confirmPortal() async -> Bool

    /// Forces offline, or back to automatic judgement.
    func force(offline: Bool)

    /// Returns when the state is online (at once where it is), or at `deadline` (seconds since 1970).
    func waitUntilOnline(deadline: Double) async
}
