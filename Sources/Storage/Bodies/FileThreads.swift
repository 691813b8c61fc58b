import CacheCore

/// A few threads for work that blocks on body files, so that tasks never do.
final class FileThreads: Sendable {
    private let queue = JobQueue<@Sendable () -> Void>()
    private let threads: [ServiceThread]

    /// Throws where the system has no four threads for it; none is left then.
    init() throws(FileError) {
        var threads: [ServiceThread] = []
        do throws(FileError) {
            for _ in 0..<4 {
                threads.append(
                    try ServiceThread { [queue] in
                        while let job = queue.takeFirst() { job() }
                    })
            }
        } catch {
            queue.close()
            throw error
        }
        self.threads = threads
    }

    deinit { queue.close() }

    /// Runs `body` on one of the threads.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let outcome: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let isAdded = queue.add {
                do throws(StoreError) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
            if !isAdded { continuation.resume(returning: .failure(.closed)) }
        }
        return try outcome.get()
    }

    func close() async {
        queue.close()
        for thread in threads { await thread.join() }
    }
}
