import CPages

/// A file of the repository that is part of the binary.
enum PageFile {
    /// Its text, or nil where there is none of that name.
    static func named(_ name: String) -> String? {
        let file = cpages_named(name)
        guard let bytes = file.bytes else { return nil }
        return String(decoding: UnsafeBufferPointer(start: bytes, count: file.count), as: UTF8.self)
    }
}
