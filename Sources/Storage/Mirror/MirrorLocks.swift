import CacheCore
import Glibc
import Synchronization

/// Who has a mirror open: files that processes hold locks of, in the mirror's folder. A process that ends lets go of all.
final class MirrorLocks: Sendable {
    /// How many processes can have one mirror open. The number of each is part of the sequences that it gives.
    static let seats: Int64 = 16

    private struct State {
        var delivery: FileHandle?
        var isLettingGo = false
    }

    /// This process's number, from 0.
    let seat: Int64
    private let files: DatabaseFiles
    private let role: StoreRole
    private let mayDeliver: Bool
    private let held: [FileHandle]
    private let state = Mutex(State())

    /// Takes a seat. `mayDeliver`: whether an extension delivers where no app runs.
    init(_ files: DatabaseFiles, role: StoreRole, mayDeliver: Bool) throws(StoreOpenError) {
        self.files = files
        self.role = role
        self.mayDeliver = mayDeliver || role == .app
        var held: [FileHandle] = []
        if role == .app { held.append(try Self.takeApp(files)) }
        var seat: Int64?
        for number in 0..<Self.seats {
            guard let file = try? Self.take(files.seat(Int(number))) else { continue }
            held.append(file)
            seat = number
            break
        }
        guard let seat else { throw .failed(reason: "\(Self.seats) processes have it open, and no more can") }
        self.seat = seat
        self.held = held
    }

    /// Whether this process delivers.
    var delivers: Bool { state.withLock { $0.delivery != nil && !$0.isLettingGo } }

    /// Takes the delivery over where nobody has it and it is this process's to have; an extension gives it to an app. `isBusy`:
    /// whether something is on its way from here. True where it was just taken.
    func look(isBusy: Bool) -> Bool {
        guard mayDeliver else { return false }
        let appRuns = role == .extension && Self.isTaken(files.app)
        return state.withLock { state in
            if state.delivery != nil {
                state.isLettingGo = appRuns
                if appRuns, !isBusy { state.delivery = nil }
                return false
            }
            guard !appRuns, let taken = try? Self.take(files.delivery) else { return false }
            state.delivery = taken
            state.isLettingGo = false
            return true
        }
    }

    private static func takeApp(_ files: DatabaseFiles) throws(StoreOpenError) -> FileHandle {
        // Extensions look at the file for a moment.
        for attempt in 0..<20 {
            if attempt > 0 { usleep(10_000) }
            do throws(FileError) {
                if let app = try take(files.app) { return app }
            } catch { throw .failed(reason: "\(error.storeError)") }
        }
        throw .inUse
    }

    /// The file with its lock; nil where another has it.
    private static func take(_ path: String) throws(FileError) -> FileHandle? {
        let file = try FileHandle(path: path, flags: O_RDWR | O_CREAT)
        return flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 ? file : nil
    }

    private static func isTaken(_ path: String) -> Bool {
        guard let file = try? FileHandle(path: path, flags: O_RDWR) else { return false }
        return flock(file.descriptor, LOCK_SH | LOCK_NB) != 0
    }
}
