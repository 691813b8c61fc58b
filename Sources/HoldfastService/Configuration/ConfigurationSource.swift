import CacheCore
import Glibc
import HTTPModel

/// The raw settings: one JSON value a key with the place it came from. Flags win, then the environment, then the file.
struct ConfigurationSource {
    struct Value {
        var json: JSONValue
        /// For messages: the file's path, a variable's name, or an option.
        var place: String
    }

    private(set) var values: [String: Value] = [:]

    /// Reads the file named by flag or environment, then lays the environment and the flags over it.
    init(flags: [JSONMember], environment: [String: String]) throws(ConfigurationError) {
        let named = flags.last { $0.name == "config" }?.value.string ?? environment["HOLDFAST_CONFIG"]
        if let path = named { try readFile(path) }
        for key in ConfigurationKeys.all {
            let name = "HOLDFAST_" + ConfigurationKeys.upperSnakeCase(key)
            guard let text = environment[name], key != "config" else { continue }
            values[key] = Value(json: Self.value(of: text, for: key), place: name)
        }
        for flag in flags where flag.name != "config" {
            values[flag.name] = Value(json: flag.value, place: "--\(ConfigurationKeys.kebabCase(flag.name))")
        }
        try spreadNode()
    }

    /// The keys of the SDK's `synchronization` node, which has them one level down. Those of the top level win.
    private mutating func spreadNode() throws(ConfigurationError) {
        guard let node = self["synchronization"] else { return }
        guard let members = node.members else { throw error("synchronization", "must be an object") }
        let place = (values["synchronization"]?.place ?? "configuration") + ": synchronization"
        for member in members {
            guard ConfigurationKeys.ofNode.contains(member.name) else {
                let allowed = ConfigurationKeys.ofNode.joined(separator: ", ")
                throw error("synchronization", "\(member.name) is not one of \(allowed)")
            }
            guard self[member.name] == nil else { continue }
            var json = member.value
            if member.name == "maxStoreSize", !json.isNull {
                guard let megabytes = json.double ?? json.string.flatMap(Double.init), (0...9e12).contains(megabytes)
                else { throw error("synchronization", "maxStoreSize must be a number of megabytes") }
                json = JSONValue(Int(megabytes * 1_000_000))
            }
            values[member.name] = Value(json: json, place: place)
        }
    }

    private mutating func readFile(_ path: String) throws(ConfigurationError) {
        guard let bytes = FileBytes.read(path) else { throw ConfigurationError("\(path): can't be read") }
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch { throw ConfigurationError("\(path): \(error)") }
        guard let members = json.members else { throw ConfigurationError("\(path): the file must hold a JSON object") }
        for member in members {
            guard ConfigurationKeys.all.contains(member.name) else {
                throw ConfigurationError("\(path): \(member.name): there is no such key")
            }
            guard values[member.name] == nil else {
                throw ConfigurationError("\(path): \(member.name): is there twice, leave one")
            }
            values[member.name] = Value(json: member.value, place: path)
        }
    }

    /// Text keys are taken as they are; others as JSON where they are JSON.
    private static func value(of text: String, for key: String) -> JSONValue {
        if ConfigurationKeys.text.contains(key) { return .string(text) }
        return (try? JSONValue(parsing: text)) ?? .string(text)
    }

    func error(_ key: String, _ allowed: String) -> ConfigurationError {
        ConfigurationError("\(values[key]?.place ?? "configuration"): \(key): \(allowed)")
    }

    subscript(key: String) -> JSONValue? {
        guard let json = values[key]?.json, !json.isNull else { return nil }
        return json
    }

    func string(_ key: String) throws(ConfigurationError) -> String? {
        guard let json = self[key] else { return nil }
        guard let text = json.string, !text.isEmpty else { throw error(key, "must be a text, and not empty") }
        return text
    }

    func strings(_ key: String) throws(ConfigurationError) -> [String]? {
        guard let json = self[key] else { return nil }
        if let text = json.string { return text.split(separator: ",").map { String($0.trimmingFieldSpace) } }
        let texts = json.array?.compactMap(\.string)
        guard let texts, texts.count == json.array?.count else { throw error(key, "must be a list of texts") }
        return texts
    }

    func bool(_ key: String) throws(ConfigurationError) -> Bool? {
        guard let json = self[key] else { return nil }
        switch json {
        case .bool(let value): return value
        case .string("true"), .string("1"), .number("1"): return true
        case .string("false"), .string("0"), .number("0"): return false
        default: throw error(key, "must be true or false")
        }
    }

    /// Seconds that a setting may last: three decades, which every clock and library can add up.
    static let longest = 1e9

    func seconds(_ key: String) throws(ConfigurationError) -> Double? {
        guard let json = self[key] else { return nil }
        guard let value = json.double ?? json.string.flatMap(Double.init), value >= 0,
            value <= Self.longest
        else {
            throw error(key, "must be a number of seconds, 0 to 1e9")
        }
        return value
    }

    func count(_ key: String, from minimum: Int = 0) throws(ConfigurationError) -> Int? {
        guard let json = self[key] else { return nil }
        guard let value = json.int ?? json.string.flatMap({ Int($0) }), value >= minimum else {
            throw error(key, "must be a whole number, \(minimum) or more")
        }
        return value
    }

    /// Bytes as a number, or a text such as `64MiB`, `1GB`.
    func size(_ key: String) throws(ConfigurationError) -> Int64? {
        guard let json = self[key] else { return nil }
        if let value = json.int, value >= 0 { return Int64(value) }
        if let size = self[key]?.string.flatMap({ ByteCount.parse($0) }) { return size }
        throw error(key, "must be a size in bytes, or a text such as 512MiB")
    }
}

/// Reads small files.
enum FileBytes {
    /// The file's bytes; nil where it can't be read.
    static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let n = Glibc.read(descriptor, &buffer, buffer.count)
            if n == 0 { return all }
            guard n > 0 else { return nil }
            all += buffer[..<n]
        }
    }
}
