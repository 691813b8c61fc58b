import HTTPModel
import Synchronization

/// A pattern of paths relative to the origin's base, without the query: `*` is one segment, a trailing `**` any rest (design 2).
package struct PathPattern: Sendable, Hashable {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// Policies by path, first match wins, and their default.
package struct PolicyTable: Sendable, Hashable {
    package struct Rule: Sendable, Hashable {
        package var pattern: PathPattern
        package var layer: PolicyLayer

        package init(pattern: PathPattern, layer: PolicyLayer) {
            self.pattern = pattern
            self.layer = layer
        }
    }

    /// In the order of the configuration.
    package var rules: [Rule] = []
    /// For what no rule matches, and for the fields that the matching one leaves open.
    package var defaultLayer = PolicyLayer()

    package init() {}
}

/// Where a collection keeps its members (design 10, `collections`): JSON pointers.
package struct CollectionRule: Sendable, Hashable {
    /// Of the collection itself, not of its members.
    package var path: PathPattern
    /// To the array in the collection's representation; "" is the top level.
    package var items = ""
    /// To the object inside a member's own representation.
    package var item = ""
    /// To the id inside the object.
    package var id = "/id"

    package init(path: PathPattern) { self.path = path }
}

/// The part of an identity that stays through renewals (design 1, `partitionBy`).
package enum IdentityPart: Sendable, Hashable {
    /// The user name of Basic credentials.
    case basicUser
    /// Claims of a JWT in a Bearer token.
    case jwt(claims: [String])
    /// The values of these cookies; other cookies make no difference.
    case cookies(names: [String])
    /// The value of a field that names who asks.
    case header(String)
}

/// Which part of the identity tells clients apart at these paths; where no rule matches, the whole of it.
package struct PartitionRule: Sendable, Hashable {
    package var path: PathPattern
    package var part: IdentityPart

    package init(path: PathPattern, part: IdentityPart) {
        self.path = path
        self.part = part
    }
}

/// A credential for replay and refresh: a header and where its present value comes from (design 10, `credentials`).
package struct CredentialSource: Sendable, Hashable {
    package enum Origin: Sendable, Hashable {
        /// A path; its content without the line break at the end.
        case file(String)
        /// Program and arguments, run without a shell; what it prints.
        case command([String])
    }

    /// The name of the field that carries the value.
    package var header: String
    package var source: Origin

    package init(header: String, source: Origin) {
        self.header = header
        self.source = source
    }
}

/// An access token (design 13).
package struct AccessToken: Sendable, Hashable {
    package var secret: String
    /// Safe methods alone, and under /cache only what belongs to the caller's partition or to none.
    package var isReadOnly: Bool

    package init(secret: String, isReadOnly: Bool) {
        self.secret = secret
        self.isReadOnly = isReadOnly
    }
}

/// How the probe asks (design 8). Without a target it only makes a connection.
package struct ProbeSettings: Sendable, Hashable {
    package var target: Target?
    /// The only status that proves the origin; nil: any.
    package var status: Int?
    /// Field name and the value it must have: the identity check.
    package var header: (name: String, value: String)? {
        get { headerName.map { ($0, headerValue) } }
        set {
            headerName = newValue?.name
            headerValue = newValue?.value ?? ""
        }
    }
    package var headerName: String?
    package var headerValue = ""
    /// Seconds between probes at most.
    package var maxInterval = 1.0

    package init() {}
}

/// All settings that requests and delivery look at. A value: a reload replaces it whole. Times in seconds, sizes in bytes.
package struct Settings: Sendable {
    package var policies = PolicyTable()
    package var periodicRefreshPolicy = PeriodicRefreshPolicy.none
    package var periodicRefreshInterval = 120.0
    /// The first rule that matches counts, as in `partitionBy`.
    package var collections: [CollectionRule] = []
    package var partitionBy: [PartitionRule] = []
    /// Further credential fields beside the built-in ones.
    package var credentialFields: [String] = []
    /// Further request fields that are never kept on disk; operations are delivered without them.
    package var secretFields: [String] = []
    /// A target with one of these in its query is neither stored nor queued.
    package var secretParameters = ["access_token", "token", "api_key", "key", "sig"]
    /// For delivery and refresh in the background, in place of the clients' own.
    package var credentials: [CredentialSource] = []
    /// Answer fields whose URLs under the origin become ours, beside Location, Content-Location and Link.
    package var urlFields = ["Next-Page"]
    /// Fields that go before Cache-Control, in this order (RFC 9213).
    package var targetedFields: [String] = []
    /// Whether saveIfOffline, deleteIfOffline and persistentState are taken from the query.
    package var reservedParameters = true
    /// None: whoever reaches the listener has full access.
    package var accessTokens: [AccessToken] = []
    /// Names in Host, with or without port, beside the local ones and `listenHosts`.
    package var allowedHosts: [String] = []
    /// Values of Origin beside the service's own.
    package var allowedOrigins: [String] = []
    /// Hosts of the listen addresses, lower case, without port.
    package var listenHosts: [String] = []
    /// The listener that alone serves /cache and /metrics; nil: all do.
    package var manageListener: ListenerID?
    /// Of JSON that is patched, filtered or composed, before and after; 413 above.
    package var maxJSONSize: Int64 = 16 << 20
    /// Of any body; 413 above.
    package var maxBodySize: Int64 = 1 << 40
    /// How long an online write waits behind queued ones of its target before it is queued too.
    package var laneWait = 5.0
    /// The pause before a look whether a write without an answer took effect (design 5).
    package var settle = 2.0
    /// How long a read that a stored answer could serve waits for the first byte (ALLOW_STALE).
    package var staleTimeout = 3.0
    /// Whether edits of one target that were not sent yet become one operation.
    package var coalesce = true
    /// Whether the origin's interim answers reach the client (RFC 9110 15.2). Some client libraries take a 103 for the final one.
    package var interimAnswers = true
    /// Whether the origin takes a repeated Idempotency-Key for one request: writes without an answer are then sent again unlooked.
    package var idempotentOrigin = false
    /// nil: for ever.
    package var maxAttempts: Int?
    /// Lanes that are delivered at once, at most.
    package var replayConcurrency = 8
    /// How long final operations, answers under an Idempotency-Key and finished actions are kept.
    package var receiptRetention = 7.0 * 86400
    package var probe = ProbeSettings()
    /// Whether requests to the origin carry `Oracle-Mobile-Sync-Agent: true`.
    package var oracleSync = false

    package init() {}
}

/// What the hot path must know of the settings, as bytes. Immutable.
package final class HotSettings: Sendable {
    /// Hosts beside the local ones that are served here, in lower case, as configured (with or without a port).
    package let hosts: [[UInt8]]
    /// The access tokens; any of them may read.
    package let tokens: [[UInt8]]

    fileprivate init(_ settings: Settings) {
        hosts = (settings.listenHosts + settings.allowedHosts).map { Array($0.asciiLowercased.utf8) }
        tokens = settings.accessTokens.map { Array($0.secret.utf8) }
    }
}

/// The settings as they were at one moment: what is handed on, since a copy of all of them costs a count for each part.
package final class SettingsSnapshot: Sendable {
    package let settings: Settings
    fileprivate let hot: HotSettings

    package init(_ settings: Settings) {
        self.settings = settings
        hot = HotSettings(settings)
    }
}

/// Holds the settings in force. A reload swaps the value.
package final class SettingsBox: Sendable {
    private let snapshot: Mutex<SettingsSnapshot>
    /// Whether access tokens are configured: for the hot path, which must not copy the settings.
    private let tokensNeeded: Atomic<Bool>

    package init(_ settings: Settings) {
        snapshot = Mutex(SettingsSnapshot(settings))
        tokensNeeded = Atomic(!settings.accessTokens.isEmpty)
    }

    /// Who needs one of them copies that one only.
    package var current: Settings {
        _read { yield now.settings }
    }
    /// For who hands them on: a request keeps those that it began with.
    package var now: SettingsSnapshot { snapshot.withLock { $0 } }
    /// Without a lock.
    package var needsTokens: Bool { tokensNeeded.load(ordering: .acquiring) }
    /// For requests of the hot path that name another host or need a token: one short lock, no copy.
    package var hot: HotSettings { snapshot.withLock { $0.hot } }

    package func replace(_ settings: Settings) { update { $0 = settings } }

    /// Changes run one after the other; a reader sees all of one or nothing.
    package func update(_ change: (inout Settings) -> Void) {
        snapshot.withLock { snapshot in
            var settings = snapshot.settings
            change(&settings)
            snapshot = SettingsSnapshot(settings)
            tokensNeeded.store(!settings.accessTokens.isEmpty, ordering: .releasing)
        }
    }
}
