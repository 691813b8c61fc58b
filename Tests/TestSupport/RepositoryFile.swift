import Glibc

/// The bytes of a file of this repository, named from its root (`README.md`); none where there is no such file.
package func repositoryFile(_ name: String) -> [UInt8] {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    guard let file = fopen("/\(root)/\(name)", "r") else { return [] }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var byte = getc(file)
    while byte != EOF {
        bytes.append(UInt8(truncatingIfNeeded: byte))
        byte = getc(file)
    }
    return bytes
}
