import CProcess
package import CacheCore
import Glibc
import Synchronization

/// What the command line says: one JSON value a key, as the configuration file would have it, and what to do at all.
package struct CommandLineOptions: Sendable {
    package enum Mode: Sendable, Hashable {
        case serve
        case sampleOrigin(String)
        case version
        case help
    }

    package var mode = Mode.serve
    package var values: [JSONMember] = []

    private static let names = [
        "origin", "listen", "data", "config", "cache-mode", "strategy", "threads", "sample-origin", "ca-file",
    ]
    private static let flags = ["insecure", "version", "help"]

    /// Held while arguments are read: getopt_long keeps where it is in variables of the whole process.
    private static let turn = Mutex(())

    /// Reads arguments (without the program's name). Throws a text that names the option. Callable from any thread.
    package init(_ arguments: [String]) throws(ConfigurationError) {
        self = try Self.turn.withLock { _ throws(ConfigurationError) in try CommandLineOptions(reading: arguments) }
    }

    private init(reading arguments: [String]) throws(ConfigurationError) {
        let (names, flags) = (Self.names, Self.flags)
        // getopt_long keeps pointers into these for the length of the loop.
        var copies: [UnsafeMutablePointer<CChar>?] = ([Self.programName] + arguments).map { strdup($0) }
        let nameCopies = (names + flags).map { strdup($0) }
        defer { (copies + nameCopies).forEach { free($0) } }
        copies.append(nil)
        var table = nameCopies.enumerated().map { index, name in
            option(
                name: name, has_arg: index < names.count ? required_argument : no_argument, flag: nil,
                val: 256 + Int32(index))
        }
        table.append(option())

        hl_getopt_reset()
        var listens: [JSONValue] = []
        while true {
            let index = max(1, Int(hl_getopt_index()))
            let code = getopt_long(Int32(arguments.count + 1), &copies, ":", table, nil)
            if code == -1 { break }
            if code == Int32(UInt8(ascii: ":")) || code == Int32(UInt8(ascii: "?")) {
                let word = index < copies.count ? copies[index].map { String(cString: $0) } ?? "" : ""
                throw ConfigurationError(
                    "\(word): \(code == Int32(UInt8(ascii: ":")) ? "needs a value" : "unknown option"); see --help")
            }
            let name = (names + flags)[Int(code) - 256]
            let value = hl_getopt_value().map { String(cString: $0) } ?? ""
            switch name {
            case "version": mode = .version
            case "help": mode = .help
            case "sample-origin": mode = .sampleOrigin(value)
            case "insecure": values.append(JSONMember("insecure", true))
            case "listen": listens.append(.string(value))
            case "threads": values.append(JSONMember("threads", .number(value)))
            default: values.append(JSONMember(Self.camelCased(name), .string(value)))
            }
        }
        let rest = Int(hl_getopt_index())
        if rest <= arguments.count {
            throw ConfigurationError("\(arguments[rest - 1]): unexpected argument; see --help")
        }
        if !listens.isEmpty { values.append(JSONMember("listen", .array(listens))) }
    }

    private static let programName = "holdfast"

    static func camelCased(_ name: String) -> String {
        let words = name.split(separator: "-")
        return String(words[0]) + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    package static let help = """
        Usage: holdfast --origin URL [options]
               holdfast --sample-origin HOST:PORT

        An offline-first HTTP cache and write queue in front of a REST service.

          --origin URL            the service's base URL (http or https)
          --listen HOST:PORT      where to listen; default 127.0.0.1:8080; may be repeated
          --listen unix:PATH      a Unix socket instead
          --data DIR              where the store lives; default ./holdfast-data
          --config FILE           a JSON file with these and all other settings
          --cache-mode MODE       which copies the next start loads: automatic (default), manualSaving,
                                  initialized (none that was saved), no (no cache)
          --strategy NAME         how soon copies are on disk: mixed (default), direct,
                                  directIndependent, indirectNested
          --threads N             loop threads; default 1
          --ca-file FILE          certificates to trust for an https origin
          --insecure              serve other addresses than loopback without access tokens
          --sample-origin ADDR    run a small origin to try things on
          --version, --help

        Each option is also a key of the file (camelCase) and an environment variable (HOLDFAST_ORIGIN,
        HOLDFAST_CACHE_MODE, …). Flags win, then the environment, then the file.

        """
}
