package import CacheCore
import EventServer
import Glibc
import HTTPModel

/// Everything the service is started with.
package struct Configuration: Sendable {
    package var origin: String
    package var listen: [String]
    package var manageListen: String?
    package var data: String
    package var threads: Int
    package var caFile: String?
    /// Serve other addresses than loopback without access tokens.
    package var isInsecure: Bool
    package var maxStoreSize: Int64
    /// Attached at the start beside the default one.
    package var stores: [StoreRequest]
    /// Where stores may lie; nil: in the data folder.
    package var storeRoots: [String]?
    package var memoryLimit: Int64
    package var connectTimeout: Double?
    package var firstByteTimeout: Double?
    package var idleTimeout: Double?
    package var totalTimeout: Double?
    package var maxConnections: Int?
    package var idleConnectionTime: Double?
    package var headTime: Double?
    package var writeTime: Double?
    /// Seconds between the comments of an event stream.
    package var heartbeat: Double
    package var logLevel: LogLevel
    package var cacheMode: CacheModeRequest
    package var strategy: StrategyName
    package var settings: Settings

    /// Reads flags, environment and file. Throws a text that names the place, the key and what is allowed.
    package init(flags: [JSONMember], environment: [String: String]) throws(ConfigurationError) {
        let source = try ConfigurationSource(flags: flags, environment: environment)
        guard let origin = try source.string("origin") else {
            throw ConfigurationError("origin: the REST service's base URL is needed: --origin URL; see --help")
        }
        self.origin = origin
        listen = try source.strings("listen") ?? ["127.0.0.1:8080"]
        guard !listen.isEmpty else { throw source.error("listen", "must name an address, HOST:PORT or unix:PATH") }
        manageListen = try source.string("manageListen")
        data = try source.string("data") ?? "./holdfast-data"
        threads = try source.count("threads", from: 1) ?? 1
        caFile = try source.string("caFile")
        isInsecure = try source.bool("insecure") ?? false
        maxStoreSize = try source.size("maxStoreSize") ?? (1 << 30)
        stores = try Self.stores(source)
        storeRoots = try source.strings("storeRoots")
        memoryLimit = try source.size("memoryLimit") ?? (256 << 20)
        let timeouts = try Self.object(source, "timeouts", keys: ["connect", "firstByte", "idle", "total", "stale"])
        connectTimeout = try Self.seconds(source, "timeouts", timeouts, "connect")
        firstByteTimeout = try Self.seconds(source, "timeouts", timeouts, "firstByte")
        idleTimeout = try Self.seconds(source, "timeouts", timeouts, "idle")
        totalTimeout = try Self.seconds(source, "timeouts", timeouts, "total")
        let limits = try Self.object(source, "limits", keys: ["connections", "head", "heartbeat", "idle", "write"])
        maxConnections = try Self.count(source, "limits", limits, "connections")
        headTime = try Self.seconds(source, "limits", limits, "head")
        writeTime = try Self.seconds(source, "limits", limits, "write")
        heartbeat = try Self.seconds(source, "limits", limits, "heartbeat") ?? 15
        idleConnectionTime = try Self.seconds(source, "limits", limits, "idle")
        let level = try source.string("logLevel") ?? "info"
        guard let logLevel = LogLevel(rawValue: level) else {
            throw source.error("logLevel", "must be debug, info, warning or error")
        }
        self.logLevel = logLevel
        cacheMode = try Self.cacheMode(source)
        guard let strategy = StrategyName(rawValue: try source.string("strategy") ?? "mixed") else {
            throw source.error(
                "strategy", "must be one of \(StrategyName.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self.strategy = strategy
        settings = try SettingsReader(source: source).settings()
        if let stale = try Self.seconds(source, "timeouts", timeouts, "stale") { settings.staleTimeout = stale }
        try checkAddresses()
    }

    /// These settings on the addresses that a running service listens on. Throws where they are not to be had there.
    package func onAddresses(of running: Configuration) throws(ConfigurationError) -> Configuration {
        var configuration = self
        (configuration.listen, configuration.manageListen) = (running.listen, running.manageListen)
        try configuration.checkAddresses()
        return configuration
    }

    /// Design 13: any other address than loopback needs tokens.
    private mutating func checkAddresses() throws(ConfigurationError) {
        (settings.listenHosts, settings.manageListener) = ([], nil)
        let manage = manageListen.map { [(key: "manageListen", text: $0)] } ?? []
        for (key, text) in listen.map({ (key: "listen", text: $0) }) + manage {
            let address: ListenAddress
            do { address = try ListenAddress(parsing: text) } catch { throw ConfigurationError("\(key): \(error)") }
            guard address.isLoopback || isInsecure || !settings.accessTokens.isEmpty else {
                throw ConfigurationError(
                    "\(key): \(text) is reached by others: set accessTokens (HOLDFAST_ACCESS_TOKENS), or --insecure")
            }
            if let host = address.host { settings.listenHosts.append(host.asciiLowercased) }
        }
        if manageListen != nil { settings.manageListener = ListenerID(rawValue: listen.count) }
    }

    /// A name, or the JSON form as an object or a text.
    private static func cacheMode(_ source: ConfigurationSource) throws(ConfigurationError) -> CacheModeRequest {
        guard let json = source["cacheMode"] else { return CacheModeRequest(.automatic) }
        guard let request = CacheModeRequest(nameOrJSON: json) else {
            throw source.error(
                "cacheMode", "must be one of \(CacheMode.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return request
    }

    private static func stores(_ source: ConfigurationSource) throws(ConfigurationError) -> [StoreRequest] {
        guard let json = source["stores"] else { return [] }
        guard json.isArray else { throw source.error("stores", "must be a list of stores") }
        let stores: [StoreRequest]
        do { stores = try StoreRequest.list(json: json) } catch {
            throw source.error("stores", (error as? Problem)?.detail ?? "\(error)")
        }
        guard Set(stores.map(\.name)).count == stores.count else {
            throw source.error("stores", "each store needs a name of its own")
        }
        return stores
    }

    private static func object(
        _ source: ConfigurationSource, _ key: String, keys: [String]
    ) throws(ConfigurationError) -> JSONValue {
        guard let json = source[key] else { return .object([JSONMember]()) }
        guard let members = json.members else { throw source.error(key, "must be an object") }
        for member in members where !keys.contains(member.name) {
            throw source.error(key, "\(member.name) is not one of \(keys.joined(separator: ", "))")
        }
        return json
    }

    private static func seconds(
        _ source: ConfigurationSource, _ key: String, _ object: JSONValue, _ name: String
    ) throws(ConfigurationError) -> Double? {
        guard let json = object[name] else { return nil }
        guard let value = json.double, value > 0, value <= ConfigurationSource.longest else {
            throw source.error(key, "\(name) must be a number of seconds above 0, at most 1e9")
        }
        return value
    }

    private static func count(
        _ source: ConfigurationSource, _ key: String, _ object: JSONValue, _ name: String
    ) throws(ConfigurationError) -> Int? {
        guard let json = object[name] else { return nil }
        guard let value = json.int, value > 0 else { throw source.error(key, "\(name) must be a number above 0") }
        return value
    }
}
