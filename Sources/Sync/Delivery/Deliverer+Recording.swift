import CacheCore
import Synchronization

/// Recording what came of attempts.
extension Deliverer {
    /// Seconds between two commits of outcomes while much is on its way: one for many costs little more than one for each.
    private static let recordPause = 0.01

    /// Records all that waits, together.
    func recordAll() async {
        while true {
            let waiting = guarded.withLock { state in
                defer { state.outcomes = [] }
                state.isRecording = !state.outcomes.isEmpty
                return state.outcomes
            }
            guard !waiting.isEmpty else { return }
            let left = Set(await context.queue.record(waiting))
            for (id, outcome) in waiting {
                if left.contains(id) {
                    Task {
                        await self.record(outcome, of: id)
                        self.recorded(1)
                    }
                } else if case .waitsForCredential = outcome {
                    resumeIfCredentialIsKnown(id)
                }
            }
            recorded(waiting.count - left.count)
            if guarded.withLock({ !$0.waiting.isEmpty }) {
                await context.clock.sleep(until: context.clock.now + Self.recordPause)
            }
        }
    }

    /// One that arrived while the refusal was under way is told of only once.
    private func resumeIfCredentialIsKnown(_ id: OperationID) {
        guard let partition = context.queue.operation(id)?.partition,
            context.credentials.fields(for: partition) != nil
        else { return }
        context.queue.credentialArrived(for: partition)
    }

    /// One that could not be recorded with the others.
    private func record(_ outcome: DeliveryOutcome, of id: OperationID) async {
        while true {
            do {
                try await context.queue.record(outcome, of: id)
                if case .waitsForCredential = outcome { resumeIfCredentialIsKnown(id) }
                return
            } catch {
                // It stays `sending` on disk and is looked at after a restart; here it is told again till it is kept.
                context.log.write(
                    .error, "an outcome can't be recorded", [("operation", id.text), ("error", "\(error)")])
                guard !guarded.withLock({ $0.isStopped }) else { return }
                await context.clock.sleep(until: context.clock.now + Self.pause)
            }
        }
    }

    private func recorded(_ count: Int) {
        guarded.withLock { $0.recording -= count }
        wake()
        wakeWaiters()
    }
}
