import CacheCore
import Glibc
import HTTPModel
import Storage
import TestSupport

struct SilentLog: Log {
    func write(_ level: LogLevel, _ message: StaticString, _ values: [(String, String)]) {}
}

/// A folder of its own for a test; removed with its owner.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/holdfast-test-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    func open(_ options: StoreOptions = StoreOptions()) throws -> SQLiteStore {
        try SQLiteStore.open(folder: path, options: options, clock: ManualClock(), log: SilentLog())
    }

    func take(_ name: String, from other: TemporaryFolder) {
        guard let source = fopen(other.path + "/" + name, "r"), let sink = fopen(path + "/" + name, "w") else { return }
        var byte = fgetc(source)
        while byte != EOF {
            fputc(byte, sink)
            byte = fgetc(source)
        }
        fclose(source)
        fclose(sink)
    }

    /// How many descriptors of this process are of files in the folder whose names begin so.
    func openFiles(_ name: String) -> Int {
        (0..<1024).count { number in
            var link = [CChar](repeating: 0, count: 4096)
            let length = readlink("/proc/self/fd/\(number)", &link, link.count - 1)
            let target = link[..<max(length, 0)].map { UInt8(bitPattern: $0) }
            return String(decoding: target, as: UTF8.self).hasPrefix(path + "/" + name)
        }
    }

    func write(_ bytes: [UInt8], to name: String) {
        guard let file = fopen(path + "/" + name, "w") else { return }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    /// Of a file, in bytes; 0 where there is none.
    func size(_ name: String) -> Int64 {
        var status = stat()
        return stat(path + "/" + name, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Makes the database no database any more.
    func overwriteHeader() {
        guard let file = fopen(path + "/holdfast.sqlite", "r+") else { return }
        fputs("this is not what it was", file)
        fclose(file)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        if let folder = opendir(path) {
            while let item = readdir(folder) {
                let name = withUnsafePointer(to: &item.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { remove(path + "/" + name) }
            }
            closedir(folder)
        }
        Glibc.remove(path)
    }
}

func sampleCopy(_ content: Content) -> ServerCopy {
    ServerCopy(
        status: 200, fields: ["ETag": "\"1\"", "Content-Type": "text/plain"], content: content, requestTime: 1.25,
        responseTime: 2.5, selecting: [HTTPField("accept", "a")], epoch: 3)
}

func sampleOperation(_ sequence: Int64, _ content: Content?) -> Operation {
    var operation = Operation(
        id: OperationID("op\(100_000 + sequence)"), sequence: sequence, kind: .create, method: .post, partition: .none,
        target: Target(unchecked: "/list"), temporaryTarget: Target(unchecked: "/list/hf-\(sequence)"),
        fields: ["Content-Type": "application/json"], body: content, effective: content,
        effectiveType: "application/json", tag: "\"hf-1\"", precondition: .ifNoneMatch("*"),
        preconditionIsClients: true, base: Base(etag: "\"x\"", content: content), idempotencyKey: "key\(sequence)",
        fingerprint: Digest(bytes: [1, 2]), policy: Policy(), dependsOn: [OperationID("o")], createdAt: 7.5)
    operation.reason = "credential"
    operation.nextAttemptAt = 9
    operation.lastAnswer = KeptAnswer(status: 503, fields: ["A": "b"], content: content)
    operation.membersBefore = .marks([0, .max], at: 8)
    operation.memberName = "17"
    operation.policy.post = .action
    operation.policy.queueOnStatus = [502, 503]
    return operation
}

func sampleConflict(_ content: Content) -> Conflict {
    Conflict(
        id: "c1", key: EntryKey(partition: .none, target: Target(unchecked: "/a")), kind: .edited,
        operationID: OperationID("op1"), method: .put, fields: ["X": "y"], base: nil,
        client: ConflictVersion(mediaType: "a/b", content: content), server: ConflictVersion(isAbsent: true),
        serverIsLatest: true, originAnswer: KeptAnswer(status: 412, fields: [:]), policy: Policy(), createdAt: 4)
}
