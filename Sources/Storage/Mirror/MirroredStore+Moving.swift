import CacheCore
import Glibc
import HTTPModel
import Synchronization

extension MirroredStore {
    /// A primary side in another folder that is about to take the place of the one there is.
    package struct Move: Sendable {
        fileprivate let folder: String
        let new: SQLiteStore
        let old: SQLiteStore
    }

    /// Makes a store in the folder and fills it with all that the primary side has, while that goes on. What a move left there that was
    /// cut short goes. Throws `side` where a store of the name is there already, or one of the locations can't be used.
    package func beginMove(to folder: String) async throws(StoreOpenError) -> Move {
        let (primary, mirror) = state.withLock { ($0.primary, $0.mirror) }
        guard let old = primary else { throw .side(.primary, .failed(reason: "it can't be reached")) }
        guard mirror != nil else { throw .side(.mirror, .failed(reason: "it can't be reached")) }
        var plan = plan
        plan.primary = folder
        plan.options.isCopy = true
        let files = DatabaseFiles(folder: folder, name: plan.file)
        await Self.remove(files, where: { files.isLeftBehind })
        guard !folder.hasSameBytes(as: plan.mirror), files.identity == nil else {
            throw .side(.primary, .failed(reason: "a store lies there already"))
        }
        var opened = State()
        do throws(StoreOpenError) {
            try await plan.open(.primary, in: &opened, clock: clock, log: log, view: view)
        } catch { throw .side(.primary, error) }
        guard let new = opened.primary else { throw .side(.primary, .failed(reason: "it can't be reached")) }
        let move = Move(folder: folder, new: new, old: old)
        do throws(StoreError) {
            guard new.partitionKey == partitionKey else { throw .failed(reason: "the key of another store lies there") }
            try await copyAll(from: old, to: new)
        } catch {
            await giveUp(move)
            throw .side(.primary, .failed(reason: "\(error)"))
        }
        return move
    }

    private func giveUp(_ move: Move) async {
        await move.new.close()
        await Self.remove(move.new.shared.files)
    }

    /// Puts the new side in the place of the old one, once `record` has durably noted which one is valid; where that throws, nothing has
    /// changed. The caller sees to it that nobody accepts, claims or records meanwhile.
    package func settle(_ move: Move, record: () throws -> Void) async throws {
        let (old, new) = (move.old.shared.files, move.new.shared.files)
        do {
            try await copyQueue(from: move.old, to: move.new)
            // Whichever is opened next is no copy from then on; the other one may be overwritten.
            do throws(FileError) { try old.markAsCopy() } catch { throw error.storeError }
            try record()
        } catch {
            try? old.unmarkAsCopy()
            await giveUp(move)
            throw error
        }
        do throws(FileError) { try new.unmarkAsCopy() } catch {
            log.write(.warning, "a moved store is still marked as a copy", [("reason", "\(error.storeError)")])
        }
        planned.withLock { $0.primary = move.folder }
        state.withLock { state in
            state.primary = move.new
            state.status.isBehind = true
        }
        view?.invalidateAll()
    }

    /// Takes over what came to the old side meanwhile, closes it and deletes its files.
    package func end(_ move: Move) async {
        do throws(StoreError) { try await copyAll(from: move.old, to: move.new) } catch { note(error, of: .primary) }
        let files = move.old.shared.files
        await move.old.close()
        await Self.remove(files)
        compare()
    }

    private func copyAll(from old: SQLiteStore, to new: SQLiteStore) async throws(StoreError) {
        try await copyQueue(from: old, to: new)
        try await copy(.entry, from: old, to: new)
    }

    /// On a thread of its own: there may be many files.
    private static func remove(_ files: DatabaseFiles, where isDue: @escaping @Sendable () -> Bool = { true }) async {
        await withCheckedContinuation { continuation in
            let work = { @Sendable in
                if isDue() { files.remove() }
                continuation.resume()
            }
            // Where there is no thread to be had, this one has to wait for the disk.
            do throws(FileError) { _ = try ServiceThread(body: work) } catch { work() }
        }
    }
}

extension DatabaseFiles {
    /// Whether a copy lies here that nobody has open.
    fileprivate var isLeftBehind: Bool {
        guard isMarkedAsCopy, let file = try? FileHandle(path: lock, flags: O_RDWR | O_CREAT) else { return false }
        return flock(file.descriptor, LOCK_EX | LOCK_NB) == 0
    }

    /// Deletes the database and all that lies beside it, and the folder where nothing else is in it. What was kept aside as damaged
    /// stays.
    fileprivate func remove() {
        for suffix in ["", "-wal", "-shm"] { _ = unsafe unlink(path + suffix) }
        for folder in [bodies, uploads] { Folder.remove(folder) }
        for name in Folder.names(folder) where isBeside(name) { _ = unsafe unlink(folder + "/" + name) }
        _ = unsafe rmdir(folder)
    }
}
