import Glibc

/// A disk that keeps for sure only what was synchronised: bytes by the fsync of their file, names by the fsync of their folder.
/// What a failed fsync covered never gets there, unless it is written again.
struct ForgetfulDisk {
    /// What becomes of the rest when the power goes.
    enum Loss: CaseIterable {
        /// All of it is lost.
        case everything
        /// All of it had reached the disk.
        case nothing
        /// Any write and any name for itself, writes also in part.
        case some
    }

    private enum Change {
        case write(offset: Int, [UInt8])
        case truncate(Int)

        func apply(to bytes: inout [UInt8]) {
            switch self {
            case .write(let offset, let piece):
                let missing = offset + piece.count - bytes.count
                if missing > 0 { bytes += [UInt8](repeating: 0, count: missing) }
                bytes.replaceSubrange(offset..<offset + piece.count, with: piece)
            case .truncate(let length):
                let missing = length - bytes.count
                if missing > 0 { bytes += [UInt8](repeating: 0, count: missing) } else { bytes.removeLast(-missing) }
            }
        }
    }
    private final class File {
        var kept: [UInt8] = []
        var changes: [Change] = []
    }
    private enum Node {
        case folder
        case file(File)
    }

    private let root: String
    private var inodes: [UInt64: File] = [:]
    /// By path: as a program sees them, and as they are on disk.
    private var names: [String: Node] = [:]
    private var keptNames: [String: Node] = [:]

    /// An empty folder.
    init(root: String) { self.root = root }

    mutating func take(_ event: DiskJournal.Event) {
        switch event {
        case .create(let inode, let path):
            let file = File()
            inodes[inode] = file
            names[path] = .file(file)
        case .write(let inode, let offset, let bytes):
            inodes[inode]?.changes.append(.write(offset: offset, bytes))
        case .truncate(let inode, let length): inodes[inode]?.changes.append(.truncate(length))
        case .sync(let inode, let path):
            if case .file? = names[path], let file = inodes[inode] {
                for change in file.changes { change.apply(to: &file.kept) }
                file.changes = []
            } else {
                keep(namesIn: path)
            }
        case .unsynced(let inode): inodes[inode]?.changes = []
        case .makeFolder(let path): names[path] = .folder
        case .rename(let path, let other):
            names[other] = names[path]
            names[path] = nil
        case .link(let path, let other): names[other] = names[path]
        case .unlink(let path): names[path] = nil
        case .mark: break
        }
    }

    private mutating func keep(namesIn folder: String) {
        for path in Set(names.keys).union(keptNames.keys) where Self.folder(of: path) == folder {
            keptNames[path] = names[path]
        }
    }

    private static func folder(of path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    /// Lays in `folder` what is there after a loss.
    func lay(into folder: TemporaryFolder, after loss: Loss, using random: inout some RandomNumberGenerator) {
        for path in Set(names.keys).union(keptNames.keys).sorted() {
            let isKept =
                switch loss {
                case .everything: true
                case .nothing: false
                case .some: Bool.random(using: &random)
                }
            guard let node = isKept ? keptNames[path] : names[path] else { continue }
            let place = folder.path + path.dropFirst(root.count)
            // Nothing is in a folder that is not there: then these fail.
            switch node {
            case .folder: mkdir(place, 0o700)
            case .file(let file):
                guard let stream = fopen(place, "w") else { continue }
                let bytes = Self.bytes(of: file, after: loss, using: &random)
                fwrite(bytes, 1, bytes.count, stream)
                fclose(stream)
            }
        }
    }

    private static func bytes(
        of file: File, after loss: Loss, using random: inout some RandomNumberGenerator
    ) -> [UInt8] {
        var bytes = file.kept
        for change in file.changes {
            switch (loss, change) {
            case (.everything, _): break
            case (.nothing, _): change.apply(to: &bytes)
            case (.some, .write(let offset, let piece)):
                let part = [0, piece.count / 2, piece.count].randomElement(using: &random) ?? 0
                if part > 0 { Change.write(offset: offset, Array(piece.prefix(part))).apply(to: &bytes) }
            case (.some, .truncate): if Bool.random(using: &random) { change.apply(to: &bytes) }
            }
        }
        return bytes
    }
}

/// Numbers that a seed repeats (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
