package import HTTPModel

/// Asks the origin for what is kept, without a client that waits for the answer. Callable from any task.
package protocol EntryRefreshing: Sendable {
    /// Asks with these credential fields, as the newest copy was asked for, and keeps what may be kept. Returns when that is done,
    /// whatever the status was. Throws where no usable answer came.
    func refresh(_ key: EntryKey, credentials: HTTPFields) async throws(OriginError)
}
