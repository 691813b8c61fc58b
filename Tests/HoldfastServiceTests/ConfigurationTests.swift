import CacheCore
import Glibc
import HoldfastService
import TestSupport
import Testing

@Suite struct ConfigurationTests {
    private func configuration(
        _ arguments: [String], _ environment: [String: String] = [:]
    ) throws -> Configuration {
        try Configuration(flags: try CommandLineOptions(arguments).values, environment: environment)
    }

    private func message(_ arguments: [String], _ environment: [String: String] = [:]) -> String? {
        do {
            _ = try configuration(arguments, environment)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func file(_ text: String) throws -> String {
        var name = Array("/tmp/holdfast-configuration-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        _ = Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        return String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test func `flags win over the environment, which wins over the file`() throws {
        let path = try file(#"{"origin":"http://file","threads":3,"data":"from-file"}"#)
        defer { unlink(path) }
        let read = try configuration(
            ["--origin", "http://flag", "--config", path],
            ["HOLDFAST_ORIGIN": "http://variable", "HOLDFAST_THREADS": "2"])
        #expect(read.origin == "http://flag")
        #expect(read.threads == 2)
        #expect(read.data == "from-file")
    }

    @Test func `the SDK's synchronization node is taken as its property list has it, below the top level`() throws {
        let path = try file(
            """
            {"origin":"http://a","periodicRefreshInterval":30,"synchronization":{"maxStoreSize":"100",
            "periodicRefreshPolicy":"PERIODIC_REFRESH_POLICY_REFRESH_EXPIRED_ITEM_ON_STARTUP","periodicRefreshInterval":"120",
            "policies":[{"path":"/mobile/custom/API/endpoint/**","expirationPolicy":"EXPIRE_AFTER","expireAfter":"1200",
            "evictionPolicy":"EVICT_ON_EXPIRY_AT_STARTUP","conflictResolutionPolicy":"PRESERVE_CONFLICT"}],
            "defaultPolicy":{"fetchPolicy":"FETCH_FROM_SERVICE_IF_ONLINE","expireAfter":"150","noCache":"false"}}}
            """)
        defer { unlink(path) }
        let read = try configuration(["--config", path])
        #expect(read.maxStoreSize == 100_000_000)
        #expect(read.settings.periodicRefreshPolicy == .atStartup)
        #expect(read.settings.periodicRefreshInterval == 30)
        let rule = try #require(read.settings.policies.rules.first)
        #expect(rule.pattern.text == "/mobile/custom/API/endpoint/**")
        #expect(rule.layer.expireAfter == 1200)
        #expect(rule.layer.evictionPolicy == .evictOnExpiryAtStartup)
        #expect(read.settings.policies.defaultLayer.fetchPolicy == .fetchFromServiceIfOnline)
        #expect(read.settings.policies.defaultLayer.noCache == false)
    }

    @Test(
        "an error names the place, the key and what is allowed",
        arguments: [
            (#"{"origin":"http://a","replayConcurrency":0}"#, "replayConcurrency: must be a whole number, 1 or more"),
            (#"{"origin":"http://a","colour":1}"#, "colour: there is no such key"),
            (#"{"origin":"http://a","maxStoreSize":"lots"}"#, "maxStoreSize: must be a size in bytes"),
            (#"{"origin":"http://a","timeouts":{"connect":1e300}}"#, "connect must be a number of seconds"),
            (#"{"origin":"http://a","settle":1e10}"#, "settle: must be a number of seconds, 0 to 1e9"),
            (#"{"origin":"http://a","probe":{"maxInterval":1e300}}"#, "maxInterval must be a number of seconds"),
            (#"{"origin":"http://a","timeouts":{"first":1}}"#, "timeouts: first is not one of connect, firstByte"),
            (#"{"origin":"http://a","policies":[{"path":"/**","fetchPolicy":"SOMETIMES"}]}"#, "fetchPolicy"),
            (#"{"origin":"http://a","collections":[{"items":"/data"}]}"#, "collections: each needs a path"),
            (#"{"origin":"http://a","synchronization":{"maxStoreSize":"x"}}"#, "must be a number of megabytes"),
            (#"{"origin":"http://a","synchronization":{"cache":1}}"#, "cache is not one of maxStoreSize, periodic"),
            (#"{"origin":"http://a","synchronization":{"defaultPolicy":{"noCache":"maybe"}}}"#, "true or false"),
            (#"{"origin":"http://a","periodicRefreshPolicy":"HOURLY"}"#, "PERIODIC_REFRESH_POLICY_REFRESH_NONE"),
            (#"{"origin":"http://a","periodicRefreshInterval":0}"#, "above 0 seconds"),
            (#"{"origin":"http://a","partitionBy":[{"jwt":[]}]}"#, "partitionBy: each needs one of"),
            (#"{"origin":"http://a","partitionBy":[{"jwt":[1]}]}"#, "partitionBy: each needs one of"),
            (#"{"origin":"http://a","partitionBy":[{"cookies":["sid",""]}]}"#, "partitionBy: each needs one of"),
            (#"{"origin":"http://a","partitionBy":[{"header":"X User"}]}"#, "partitionBy: each needs one of"),
            (#"{"origin":"http://a","credentials":[{"header":"A: b","file":"/x"}]}"#, "each needs a header"),
            (#"{"origin":"http://a","accessTokens":[{"token":"12345678","readonly":true}]}"#, "perhaps readOnly"),
            (#"{"origin":"http://a","accessTokens":[{"token":"12345678","readOnly":"true"}]}"#, "perhaps readOnly"),
            (#"{"origin":"http://a","settle":1,"settle":2}"#, "settle: is there twice"),
            (#"{"origin":"http://a","listen":[]}"#, "listen: must name an address"),
            (#"{"origin":"http://a","listen":""}"#, "listen: must name an address"),
            (#"{"origin":"http://a","data":""}"#, "data: must be a text, and not empty"),
            (#"{"origin":"http://a","probe":{"path":"/"}}"#, "probe: path is not one of target, status"),
            (#"{"origin":"http://a","probe":{"status":99}}"#, "probe: status must be a status from 200"),
            (#"{"origin":"http://a","probe":{"header":{"name":"A","value":"b"}}}"#, "probe: header must be one field"),
            (#"{"origin":"http://a","probe":{"header":{"A: b":"c"}}}"#, "probe: header must be one field"),
            (#"{"origin":"http://a","probe":{"target":1}}"#, "probe: target must begin with"),
            (#"{"origin":"http://a","probe":[]}"#, "probe: must be an object"),
            (#"{"origin":"http://a","policies":[{"path":"/a/**/b"}]}"#, "/a/**/b: * is a whole segment"),
            (#"{"origin":"http://a","collections":[{"path":"/v1","data":"/d"}]}"#, "data is not one of path, items"),
            (#"{"origin":"http://a","partitionBy":[{"path":"/a*","basic":"user"}]}"#, "/a*: * is a whole segment"),
            (#"{"origin":"http://a","partitionBy":[{"jwt":["sub"],"basic":"user"}]}"#, "each needs one of"),
            (#"{"origin":"http://a","credentials":[{"header":"A","file":"/x","command":["y"]}]}"#, "either a file"),
            (#"{"origin":"http://a","stores":[{"name":"s","paths":["/a/**/b"]}]}"#, "in paths * is a whole segment"),
            (#"{"origin":"http://a","collections":[{"path":"/v1","items":["/d"]}]}"#, "items must be a JSON pointer"),
            (#"{"origin":"http://a","partitionBy":[{"path":["/a"],"basic":"user"}]}"#, "path must be a text"),
            (#"{"origin":"http://a","credentials":[{"header":"A","command":["x",1]}]}"#, "either a file"),
            (#"{"origin":"http://a","accessTokens":12345678}"#, "accessTokens: must be a list"),
            (#"{"origin":"http://a","accessTokens":{"token":"12345678"}}"#, "accessTokens: must be a list"),
            (#"{"origin":"http://a","allowedHosts":["b.example:80"]}"#, "b.example:80: each is the name of a host"),
            (#"{"origin":"http://a","allowedOrigins":["*"]}"#, "allowedOrigins: *: each is SCHEME://HOST"),
            (#"{"origin":"http://a","allowedOrigins":["http://b/"]}"#, "http://b/: each is SCHEME://HOST"),
            (#"["#, "line 1"),
        ])
    func errors(text: String, expected: String) throws {
        let path = try file(text)
        defer { unlink(path) }
        let text = try #require(message(["--config", path]))
        #expect(text.contains(path))
        #expect(text.contains(expected))
    }

    @Test(arguments: ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:80", "127.example.com:80", "127.0.0.1.example.com:80"])
    func `an address that others reach needs tokens or --insecure`(address: String) {
        let arguments = ["--origin", "http://a", "--listen", address]
        #expect(message(arguments)?.contains("accessTokens") == true)
        #expect(message(arguments + ["--insecure"]) == nil)
        #expect(message(arguments, ["HOLDFAST_ACCESS_TOKENS": "a-long-secret"]) == nil)
    }

    @Test func `a reload keeps the addresses, and the tokens that they need`() throws {
        let token = ["HOLDFAST_ACCESS_TOKENS": "a-secret"]
        let running = try configuration(
            ["--origin", "http://a", "--listen", "0.0.0.0:80"],
            token.merging(["HOLDFAST_MANAGE_LISTEN": "[::1]:81"]) { $1 })
        let read = try configuration(["--origin", "http://a", "--listen", "127.0.0.1:80"], token)
        let kept = try read.onAddresses(of: running)
        #expect(kept.settings.manageListener == running.settings.manageListener)
        #expect(kept.settings.listenHosts == running.settings.listenHosts)
        let open = try configuration(["--origin", "http://a", "--listen", "127.0.0.1:80"])
        #expect(throws: ConfigurationError.self) { try open.onAddresses(of: running) }
    }

    @Test func `without an origin the message says which option is missing`() {
        #expect(message([])?.contains("--origin") == true)
    }

    @Test func `the SDK's synchronization node is taken, numbers as texts too`() throws {
        let path = try file(
            #"{"origin":"http://a","synchronization":{"policies":[{"path":"/a/**","expirationPolicy":"EXPIRE_AFTER","expireAfter":"1200"}],"defaultPolicy":{"fetchPolicy":"FETCH_FROM_SERVICE_IF_ONLINE"}}}"#
        )
        defer { unlink(path) }
        let table = try configuration(["--config", path]).settings.policies
        #expect(table.layer(for: Target(unchecked: "/a/b")).expireAfter == 1200)
        #expect(table.layer(for: Target(unchecked: "/c")).fetchPolicy == .fetchFromServiceIfOnline)
    }

    @Test func `README names every key of the file`() {
        let readme = String(decoding: repositoryFile("README.md"), as: UTF8.self)
        for key in ConfigurationKeys.all where key != "config" {
            #expect(readme.contains("`\(key)`"), "\(key)")
        }
    }

    @Test(
        "limits are numbers above 0",
        arguments: ["connections", "head", "idle"], ["0", "-1", "\"x\"", "{}"])
    func limits(name: String, value: String) throws {
        let path = try file("{\"origin\":\"http://a\",\"limits\":{\"\(name)\":\(value)}}")
        defer { unlink(path) }
        #expect(message(["--config", path])?.contains("limits: \(name)") == true)
    }

    @Test(
        "unknown options, missing values and stray words are refused",
        arguments: [["--colour"], ["--origin"], ["--origin", "http://a", "stray"]])
    func badArguments(arguments: [String]) {
        #expect(throws: ConfigurationError.self) { try CommandLineOptions(arguments) }
    }

    @Test("each option that the help names is taken")
    func helpIsTrue() throws {
        let words = CommandLineOptions.help.split { $0.isWhitespace || $0 == "," }
        let options = Set(words.filter { $0.hasPrefix("--") }.map(String.init))
        let flags = ["--insecure", "--version", "--help"]
        #expect(options.count == 12)
        for option in options {
            _ = try CommandLineOptions(flags.contains(option) ? [option] : [option, "a"])
        }
    }

    @Test("arguments are read on several threads at once")
    func readAtOnce() async throws {
        let read = try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    try CommandLineOptions(["--origin", "http://a/\(number)", "--threads", "\(number)"]).values
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for values in read {
            #expect(values.map(\.name) == ["origin", "threads"])
            #expect(values[0].value.string?.split(separator: "/").last.map(String.init) == "\(values[1].value)")
        }
    }
}
