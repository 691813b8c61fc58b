import CacheCore

/// Compares the bodies on disk with their digests, and the sides of mirrored stores with each other, which mends them. After an
/// interruption it goes on at the place in the store where it was.
struct VerifyWork: ActionWork {
    let stores: any StoreKeeping & StoreExamining

    func run(_ turn: ActionTurn) async throws -> Bool {
        let interrupted = Position(turn.action.progress.position)
        if interrupted == nil {
            var total: Int64 = 0
            for name in turn.action.stores { total += try await stores.bodyCount(of: name) }
            await turn.note { [total] progress in
                progress = ActionProgress()
                progress.total = total
            }
        }
        var position = interrupted ?? Position(store: 0)
        while position.store < turn.action.stores.count {
            guard !Task.isCancelled else { return false }
            let name = turn.action.stores[position.store]
            var found = BodyExamination()
            if try stores.hasBothSides(name) {
                guard try await SideComparison(stores: stores, byDigest: true).run(name, turn) else { return false }
            } else {
                found = try await stores.examine(name, after: position.place)
            }
            position =
                found.next.map { Position(store: position.store, place: $0) } ?? Position(store: position.store + 1)
            await turn.note { [position, found] progress in
                progress.done += found.checked
                progress.bytes += found.bytes
                progress.damaged += found.damaged
                progress.position = position.text
            }
        }
        return true
    }

    /// Which of the action's stores, and where in it the work goes on.
    private struct Position: Sendable {
        var store: Int
        var place: String?

        init(store: Int, place: String? = nil) {
            self.store = store
            self.place = place
        }

        init?(_ text: String?) {
            let parts = (text ?? "").split(separator: " ", maxSplits: 1)
            guard let store = parts.first.flatMap({ Int($0) }), store >= 0 else { return nil }
            self.init(store: store, place: parts.count > 1 ? String(parts[1]) : nil)
        }

        var text: String { place.map { "\(store) \($0)" } ?? "\(store)" }
    }
}

/// Compares both sides of mirrored stores, so that each has what the other has. Stores without a mirror are passed by.
struct ReconcileWork: ActionWork {
    let stores: any StoreKeeping & StoreExamining

    func run(_ turn: ActionTurn) async throws -> Bool {
        let mirrored = try turn.action.stores.filter { try stores.hasBothSides($0) }
        if case .reconcile(.some) = turn.action.request, mirrored.isEmpty {
            throw Problem(.badRequest, "This process has one location of the store, and nothing to compare it with.")
        }
        await turn.note { $0 = ActionProgress() }
        for name in mirrored {
            guard try await SideComparison(stores: stores, byDigest: false).run(name, turn) else { return false }
        }
        return true
    }
}

/// One comparison of the sides of a store, as an action shows it.
struct SideComparison: Sendable {
    let stores: any StoreKeeping & StoreExamining
    let byDigest: Bool

    /// False where it was stopped before its end.
    func run(_ name: String, _ turn: ActionTurn) async throws -> Bool {
        let (statuses, told) = AsyncStream.makeStream(of: MirrorStatus.self, bufferingPolicy: .bufferingNewest(1))
        async let noted: Void = note(statuses, turn)
        do {
            told.yield(try await stores.compare(name, byDigest: byDigest) { told.yield($0) })
        } catch {
            told.finish()
            await noted
            guard Task.isCancelled else { throw error }
            return false
        }
        told.finish()
        await noted
        return true
    }

    private func note(_ statuses: AsyncStream<MirrorStatus>, _ turn: ActionTurn) async {
        var last = MirrorStatus()
        for await status in statuses {
            await turn.note { [last] progress in
                progress.done += status.done - last.done
                progress.total = (progress.total ?? 0) + status.total - last.total
                progress.repaired += status.copied - last.copied
                progress.damaged += status.damaged - last.damaged
            }
            last = status
        }
    }
}
