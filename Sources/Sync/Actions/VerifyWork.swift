import CacheCore

/// Compares the bodies on disk with their digests, and the sides of mirrored stores with each other, which mends them. After an
/// interruption it goes on with the part of the store that it was at.
struct VerifyWork: ActionWork {
    let stores: any StoreKeeping & StoreExamining

    func run(_ turn: ActionTurn) async throws -> Bool {
        var position = Position(turn.action.progress.position)
        if turn.action.progress.position == nil {
            var total: Int64 = 0
            for name in turn.action.stores { total += try await stores.bodyCount(of: name) }
            await turn.note { [total] progress in
                progress = ActionProgress()
                progress.total = total
            }
        }
        while position.store < turn.action.stores.count {
            let name = turn.action.stores[position.store]
            if try stores.hasBothSides(name) {
                guard try await SideComparison(stores: stores).run(name, turn) else { return false }
                position = position.next
                await turn.note { [position] in $0.position = position.text }
                continue
            }
            while position.part < StorePart.count {
                guard !Task.isCancelled else { return false }
                let found = try await stores.examine(name, part: position.part)
                position.part += 1
                await turn.note { [position] progress in
                    progress.done += found.checked
                    progress.bytes += found.bytes
                    progress.damaged += found.damaged
                    progress.position = position.text
                }
            }
            position = position.next
        }
        return true
    }

    /// Which of the action's stores, and which part of it comes next.
    private struct Position: Sendable {
        var store = 0
        var part = 0

        init(_ text: String?) {
            let numbers = (text ?? "").split(separator: ".").compactMap { Int($0) }
            if numbers.count == 2 { (store, part) = (numbers[0], numbers[1]) }
        }

        var text: String { "\(store).\(part)" }

        var next: Position {
            var next = Position(nil)
            next.store = store + 1
            return next
        }
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
            guard try await SideComparison(stores: stores).run(name, turn) else { return false }
        }
        return true
    }
}

/// One comparison of the sides of a store, as an action shows it.
struct SideComparison: Sendable {
    let stores: any StoreKeeping & StoreExamining

    /// False where it was stopped before its end.
    func run(_ name: String, _ turn: ActionTurn) async throws -> Bool {
        let (statuses, told) = AsyncStream.makeStream(of: MirrorStatus.self, bufferingPolicy: .bufferingNewest(1))
        async let noted: Void = note(statuses, turn)
        do {
            told.yield(try await stores.verify(name) { told.yield($0) })
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
