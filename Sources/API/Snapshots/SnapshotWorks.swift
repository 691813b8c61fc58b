package import CacheCore

/// Writes a snapshot of the kept copies to a file. An interrupted one is begun anew; the file that is there stays until the new one is
/// whole.
package struct ExportWork: ActionWork {
    private let context: ServiceContext
    private let files: any SnapshotFiles

    package init(context: ServiceContext, files: any SnapshotFiles) {
        self.context = context
        self.files = files
    }

    package func check(_ request: ActionRequest) throws {
        if case .export(let file, _) = request { try files.check(file) }
    }

    package func run(_ turn: ActionTurn) async throws -> Bool {
        guard case .export(let file, let isWhole) = turn.action.request else { return true }
        await turn.note { progress in
            progress.done = 0
            progress.bytes = 0
        }
        let export = SnapshotExport(context: context, isWhole: isWhole)
        return try await unlessCancelled {
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
    }
}

/// Takes a snapshot in from a file, all of it or nothing. An interrupted one is begun anew.
package struct ImportWork: ActionWork {
    private let context: ServiceContext
    private let files: any SnapshotFiles

    package init(context: ServiceContext, files: any SnapshotFiles) {
        self.context = context
        self.files = files
    }

    package func check(_ request: ActionRequest) throws {
        if case .import(let file) = request { try files.check(file) }
    }

    package func run(_ turn: ActionTurn) async throws -> Bool {
        guard case .import(let file) = turn.action.request else { return true }
        await turn.note { $0.bytes = 0 }
        let next = try await files.read(file)
        let snapshot = SnapshotImport(
            store: context.store, digest: context.digest, hash: context.hash, now: context.clock.now)
        return try await unlessCancelled {
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
}

/// False where the task was cancelled on the way.
private func unlessCancelled(_ body: () async throws -> Void) async throws -> Bool {
    do {
        try await body()
        return true
    } catch is CancellationError {
        return false
    }
}
