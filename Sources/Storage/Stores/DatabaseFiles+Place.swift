import Glibc
import HTTPModel

/// Where no database of an attached store may lie (design 11).
extension DatabaseFiles {
    /// What lies beside a database, under its whole name or behind a dot.
    private static let names = [
        "lock", "opening", "delivery", "app", "reserve", "bodies", "uploads", "copy", "partition.key",
        "partition.key.new", "salvage", "suspect",
    ]
    /// SQLite's own files.
    private static let endings = ["-wal", "-shm", "-journal"]
    /// Names with a number behind them.
    private static let numbered = ["seat", "damaged"]

    /// Throws `misplaced` for the name of a file that lies beside a database, for a folder of bodies or uploads, and for a file that
    /// has another name too: under that name the database may be open, and the two would not see each other's locks.
    func checkPlace() throws(StoreOpenError) {
        if isReserved {
            throw .misplaced(reason: "Holdfast keeps other files under such names. Choose another fileName.")
        }
        if liesInStore {
            throw .misplaced(reason: "A store keeps its bodies in this folder. Choose another location.")
        }
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        let type = status.st_mode & S_IFMT
        guard type != S_IFLNK, type != S_IFREG || status.st_nlink == 1 else {
            throw .misplaced(reason: "The file is a link, or has another name too. Name the file itself.")
        }
    }

    /// In any case: to some file systems that makes no difference.
    private var isReserved: Bool {
        let name = String(path.dropFirst(folder.count + 1)).asciiLowercased
        if isNamed, name.hasSameBytes(as: Self.usualName) { return true }
        if Self.endings.contains(where: { name.hasSuffix($0) }) { return true }
        if Self.names.contains(where: { name.hasSameBytes(as: $0) || name.hasSuffix("." + $0) }) { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let number = parts.last, number.utf8.allSatisfy(\.isDigit) else { return false }
        return Self.numbered.contains { parts[parts.count - 2].hasSameBytes(as: $0) }
    }

    /// Whether the folder is one in which the store of a database beside it keeps bodies or uploads, or lies in such a folder.
    private var liesInStore: Bool {
        var parent = folder[...]
        while let slash = parent.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let name = parent[parent.utf8.index(after: slash)...]
            parent = parent[..<slash]
            for kind in ["bodies", "uploads"] {
                let owner: Substring? =
                    name.hasSameBytes(as: kind)
                    ? Self.usualName[...] : name.hasSuffix("." + kind) ? name.dropLast(kind.count + 1) : nil
                if let owner, Self.exists("\(parent)/\(owner)") { return true }
            }
        }
        return false
    }
}
