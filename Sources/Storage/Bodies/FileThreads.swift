import CacheCore

/// A few threads for work that blocks on body files, so that tasks never do.
final class FileThreads: Sendable {
    private let queue = JobQueue<@Sendable () -> Void>()
    private let threads: [ServiceThread]

    init() {
        threads = (0..<4).map { [queue] _ in
            ServiceThread {
                while let job = queue.takeFirst() { job() }
            }
        }
    }

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
