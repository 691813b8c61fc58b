package import CacheCore

/// Writes a snapshot of the kept copies to a file, or takes one in, all of it or nothing. An interrupted one is begun anew; a file that
/// is there stays until the new one is whole.
package struct SnapshotWork: ActionWork {
    private let context: ServiceContext
    private let files: any SnapshotFiles

    package init(context: ServiceContext, files: any SnapshotFiles) {
        self.context = context
        self.files = files
    }

    package func check(_ request: ActionRequest) throws {
        switch request {
        case .export(let file, _), .import(let file): try files.check(file)
        default: break
        }
    }

    package func run(_ turn: ActionTurn) async throws -> Bool {
        await turn.note { progress in
            progress.done = 0
            progress.bytes = 0
        }
        do {
            switch turn.action.request {
            case .export(let file, let isWhole): try await export(to: file, isWhole: isWhole, turn)
            case .import(let file): try await take(from: file, turn)
            default: break
            }
            return true
        } catch is CancellationError {
            return false
        }
    }

    private func export(to file: String, isWhole: Bool, _ turn: ActionTurn) async throws {
        let export = SnapshotExport(context: context, isWhole: isWhole)
        try await files.write(file) { write in
            try await export.run { piece in
                try Task.checkCancellation()
                try await write(piece)
                await turn.note { $0.bytes += Int64(piece.count) }
            } entryDone: {
                await turn.note { $0.done += 1 }
            }
        }
        await turn.note { $0.total = $0.done }
    }

    private func take(from file: String, _ turn: ActionTurn) async throws {
        let next = try await files.read(file)
        let snapshot = SnapshotImport(
            store: context.store, digest: context.digest, hash: context.hash, now: context.clock.now)
        let (entries, intake) = try await snapshot.read {
            try Task.checkCancellation()
            let piece = try await next()
            let count = Int64(piece?.count ?? 0)
            await turn.note { $0.bytes += count }
            return piece
        }
        try await intake.commit()
        await turn.note { progress in
            progress.done = entries
            progress.total = entries
        }
    }
}
