import Glibc

/// Folders by path.
enum Folder {
    /// Makes it where it is missing, for the user alone; whether it was.
    @discardableResult
    static func make(_ path: String) throws(FileError) -> Bool {
        if unsafe mkdir(path, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw FileError("mkdir") }
        return false
    }

    /// Makes it with all folders above it, durably.
    static func makeAll(_ path: String) throws(FileError) {
        var above = path.hasPrefix("/") ? "/" : "."
        var made = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            made += part
            if try make(made) {
                // A folder that may be written but not read can't be synchronised.
                do throws(FileError) { try synchronize(above) } catch { if error.code != EACCES { throw error } }
            }
            above = made
            made += "/"
        }
    }

    static func synchronize(_ path: String) throws(FileError) {
        try FileHandle(path: path, flags: O_RDONLY | O_DIRECTORY).synchronize()
    }

    /// Deletes it with all that is in it, as far as that can be done.
    static func remove(_ path: String) {
        for name in names(path) where unsafe unlink(path + "/" + name) != 0 { remove(path + "/" + name) }
        _ = unsafe rmdir(path)
    }

    /// Names in it, without `.` and `..`; empty where it can't be read.
    static func names(_ path: String) -> [String] {
        guard let folder = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let item = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &item.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
