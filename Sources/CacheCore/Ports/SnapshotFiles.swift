/// Reads and writes snapshots in files of this host, by the names that clients give. Callable from any task.
package protocol SnapshotFiles: Sendable {
    /// Throws a `Problem` where the file may not be used.
    func check(_ name: String) throws

    /// Makes the file of what `body` gives to the closure that it gets; one that is there is replaced in the end, durably, or stays as
    /// it is where `body` throws.
    func write(_ name: String, _ body: (@escaping @Sendable ([UInt8]) async throws -> Void) async throws -> Void)
        async throws

    /// What gives the pieces of the file, nil at its end. One call at a time.
    func read(_ name: String) async throws -> @Sendable () async throws -> [UInt8]?
}
