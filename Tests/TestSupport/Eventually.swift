package import Testing

/// Waits for what the product does beside the test, giving the threads to others between two looks. What has not come within `limit`
/// of real time is an issue of the test, which then goes on: no fault of the product keeps the suites from ending.
package func eventually(
    within limit: Duration = .seconds(30), isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async rethrows {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else {
            Issue.record("It did not come within \(limit).", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

/// Waits in `wait` for what ends that by itself. Where it has not within `limit` of real time, this is an issue of the test, and `giveUp`
/// has to end it.
package func patiently(
    within limit: Duration = .seconds(30), isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation, _ wait: () async -> Void, giveUp: @escaping @Sendable () -> Void
) async {
    let alarm = Task {
        try await Task.sleep(for: limit)
        Issue.record("It did not come within \(limit).", sourceLocation: sourceLocation)
        giveUp()
    }
    await wait()
    alarm.cancel()
}
