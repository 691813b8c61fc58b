import CacheCore
import Glibc
import HTTPModel

/// Where stores may lie (design 11, `storeRoots`). Symbolic links are resolved before anything is compared.
struct StoreLocations: Sendable {
    private let data: String
    private let roots: [String]

    /// `roots`: folders in and under which stores may lie; by default the data folder.
    init(data: String, roots: [String]?) {
        self.data = data
        self.roots = roots ?? [data]
    }

    /// The folder for a store that names none.
    var usual: String { data + "/stores" }

    /// The folder without symbolic links; it may not be there yet. Relative ones begin in the data folder. Throws
    /// `location-not-allowed`.
    func resolve(_ location: String?) throws -> String {
        let asked = location ?? usual
        let path = asked.utf8.first == UInt8(ascii: "/") || location == nil ? asked : data + "/" + asked
        // What stands behind a NUL is not seen by the system.
        guard !path.utf8.contains(0), let real = Self.real(path),
            roots.contains(where: { root in Self.real(root).map { Self.isOrLies(real, under: $0) } ?? false })
        else {
            throw Problem(.locationNotAllowed, "Choose a folder under one of the configured storeRoots.")
        }
        return real
    }

    /// By bytes: to the file system, texts that are canonically equivalent name different folders.
    private static func isOrLies(_ path: String, under root: String) -> Bool {
        let folder = root.utf8.last == UInt8(ascii: "/") ? root : root + "/"
        return path.hasSameBytes(as: root) || path.utf8.starts(with: folder.utf8)
    }

    /// The path with all links resolved, as far as it exists; nil where the rest of it climbs.
    private static func real(_ path: String) -> String? {
        var existing = path
        var rest: [Substring] = []
        while true {
            if let resolved = realpath(existing, nil) {
                defer { free(resolved) }
                let base = String(cString: resolved)
                return rest.isEmpty ? base : (base == "/" ? "" : base) + "/" + rest.reversed().joined(separator: "/")
            }
            guard errno == ENOENT, let slash = existing.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            let name = existing[existing.utf8.index(after: slash)...]
            guard name != "..", name != "." else { return nil }
            // A link that leads nowhere is not followed, and not written through.
            var status = stat()
            guard lstat(existing, &status) != 0 else { return nil }
            if !name.isEmpty { rest.append(name) }
            existing = slash == existing.startIndex ? "/" : String(existing[..<slash])
        }
    }
}
