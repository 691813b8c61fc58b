import CacheCore
import Glibc
import HTTPModel

/// What is attached, kept in `stores.json` of the data folder, so that a restart finds all accepted writes again.
struct StoreRegister: Sendable {
    struct Record: Sendable {
        var request: StoreRequest
        /// Whether the configuration names it: it is there for as long as that does.
        var isConfigured = false
        /// Detached with operations in it: its targets are not served until it is attached again.
        var isDetached = false
        var waiting: Set<Target> = []
    }

    private let path: String

    private static let fileName = "stores.json"

    init(data: String) { path = data + "/" + Self.fileName }

    /// Whether a file of the name would be the list, or the one that takes its place. In any case: to some file systems that makes no
    /// difference.
    static func isOwn(_ name: String) -> Bool {
        [fileName, DurableFile.temporary(fileName)].contains { $0.equalsIgnoringASCIICase(name) }
    }

    /// Empty where there is no file. Throws a text where it can't be used.
    func read() throws(ConfigurationError) -> [Record] {
        guard let bytes = FileBytes.read(path) else {
            guard access(path, F_OK) != 0 else { throw ConfigurationError("\(path): can't be read") }
            return []
        }
        do {
            return try (JSONValue(parsing: bytes)["stores"]?.array ?? []).map { item in
                var request = item
                request["detached"] = nil
                request["waiting"] = nil
                return Record(
                    request: try StoreRequest(json: request), isDetached: item["detached"]?.bool ?? false,
                    waiting: Set((item["waiting"]?.array ?? []).compactMap(\.string).map { Target(unchecked: $0) }))
            }
        } catch let problem as Problem {
            throw ConfigurationError("\(path): \(problem.detail)")
        } catch {
            throw ConfigurationError("\(path): \(error)")
        }
    }

    /// Replaces the file in one step, durably.
    func write(_ records: [Record]) throws {
        let items = records.map { record in
            var json = record.request.json()
            if record.isDetached {
                json["detached"] = true
                json["waiting"] = .strings(record.waiting.map(\.text).sorted())
            }
            return json
        }
        guard DurableFile.replace(path, with: JSONValue.object(["stores": .array(items)]).bytes) else {
            throw Problem(.storeFailed, "The list of stores could not be written. Try again when the disk is in order.")
        }
    }
}

/// Small files that are replaced whole.
enum DurableFile {
    /// Where the new one is written.
    static func temporary(_ path: String) -> String { path + ".new" }

    /// False where it could not be done; the old one stays then.
    static func replace(_ path: String, with bytes: [UInt8]) -> Bool {
        let temporary = temporary(path)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            written += count
        }
        let isWhole = written == bytes.count && fsync(descriptor) == 0
        close(descriptor)
        guard isWhole, rename(temporary, path) == 0 else {
            unlink(temporary)
            return false
        }
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        let folder = open(String(path[..<end]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return false }
        defer { close(folder) }
        return fsync(folder) == 0
    }
}
