import Faults

/// What happened below a folder, in order.
struct DiskJournal {
    enum Event {
        case create(inode: UInt64, String)
        case write(inode: UInt64, offset: Int, [UInt8])
        case truncate(inode: UInt64, length: Int)
        case sync(inode: UInt64, String)
        /// An fsync that failed.
        case unsynced(inode: UInt64)
        case makeFolder(String)
        case rename(String, String)
        case link(String, String)
        case unlink(String)
        case mark(Int)
    }
    let events: [Event]

    /// Notes what happens in `folder` during `work`.
    static func record(
        _ folder: TemporaryFolder, during work: () async throws -> Void
    ) async throws -> DiskJournal {
        let file = TemporaryFolder()
        faults_record(folder.path, file.path + "/journal")
        defer { faults_record(nil, nil) }
        try await work()
        faults_record(nil, nil)
        return DiskJournal(file.bytes("journal"))
    }

    private init(_ bytes: [UInt8]) {
        var events: [Event] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 10) {
            let words = rest[..<end].split(separator: 32).map { String(decoding: $0, as: UTF8.self) }
            rest = rest[(end + 1)...]
            let length = Int(words[3]) ?? 0
            events.append(Self.event(words, Array(rest.prefix(length))))
            rest = rest.dropFirst(length)
        }
        self.events = events
    }

    private static func event(_ words: [String], _ bytes: [UInt8]) -> Event {
        let (inode, offset, path) = (UInt64(words[1]) ?? 0, Int(words[2]) ?? 0, words[4])
        return switch words[0] {
        case "create": .create(inode: inode, path)
        case "write": .write(inode: inode, offset: offset, bytes)
        case "truncate": .truncate(inode: inode, length: offset)
        case "sync": .sync(inode: inode, path)
        case "unsynced": .unsynced(inode: inode)
        case "mkdir": .makeFolder(path)
        case "rename": .rename(path, String(decoding: bytes, as: UTF8.self))
        case "link": .link(path, String(decoding: bytes, as: UTF8.self))
        case "unlink": .unlink(path)
        case "mark": .mark(offset)
        default: fatalError("an unknown record: \(words)")
        }
    }
}
