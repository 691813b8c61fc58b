import CacheCore
import Faults
import HTTPModel
import TestSupport
import Testing

@testable import Storage

extension `Storage faults` {
    /// The power goes at many points of a store's work, each time with other luck; then the store is opened from what is left.
    @Suite struct `Power loss` {
        private static let steps: [OperationState] = [.pending, .sending, .delivered]

        private let folder = TemporaryFolder()

        private func body(_ number: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(number), count: number.isMultiple(of: 3) ? 40_000 : 300)
        }

        /// Takes operations through their states; each step that a durable commit confirmed is marked, as `number * 10 + step`.
        private func work(in path: String, failingSync: String? = nil) async throws {
            let store = try SQLiteStore.open(folder: path, clock: ManualClock(), log: SilentLog())
            try await store.write(
                .other { try $0.connection.execute("PRAGMA wal_autocheckpoint = 40") }, durable: false)
            for number in 1...12 {
                let copy = try? await store.makeContent(body(number + 100), for: .copy)
                let key = EntryKey(partition: .none, target: Target(unchecked: "/copy\(number % 5)"))
                if let copy { try? await store.commit([.putCopy(key, sampleCopy(copy))], durable: false) }
                if number.isMultiple(of: 4), let failingSync { faults_set("sync \(path)\(failingSync) EIO 0 1") }
                for step in 0..<(number.isMultiple(of: 2) ? 3 : 1) {
                    do throws(StoreError) {
                        let content = try await store.makeContent(body(number), for: .operation)
                        var operation = sampleOperation(Int64(number), content)
                        operation.state = Self.steps[step]
                        operation.finishedAt = step == 2 ? ManualClock().now : nil
                        try await store.commit([.putOperation(operation)], durable: true)
                    } catch { continue }
                    faults_mark(number * 10 + step)
                }
            }
            faults_set("")
            await store.close()
        }

        /// What `store` misses of the steps that were confirmed.
        private func missing(_ confirmed: [Int: Int], in store: SQLiteStore) async throws -> [String] {
            var missing: [String] = []
            let queue = try await store.loadQueue().operations
            for (number, step) in confirmed {
                let id = sampleOperation(Int64(number), nil).id
                var found = queue.first { $0.id == id }
                if found == nil { found = try await store.operation(id) }
                guard let found, let content = found.body, let there = Self.steps.firstIndex(of: found.state),
                    there >= step
                else {
                    missing.append("operation \(number) is \(found?.state.rawValue ?? "not there"), was step \(step)")
                    continue
                }
                if (try? await store.bytes(of: content, limit: 1 << 20)) != body(number) {
                    missing.append("the body of operation \(number)")
                }
            }
            return missing
        }

        private func check(_ journal: DiskJournal, seed: UInt64) async throws {
            var random = SeededNumbers(seed: seed)
            var disk = ForgetfulDisk(root: folder.path)
            var confirmed: [Int: Int] = [:]
            for (number, event) in journal.events.enumerated() {
                disk.take(event)
                let isMark: Bool
                if case .mark(let mark) = event {
                    isMark = true
                    confirmed[mark / 10] = max(confirmed[mark / 10] ?? 0, mark % 10)
                } else {
                    isMark = false
                }
                guard isMark || Int.random(in: 0..<24, using: &random) == 0 else { continue }
                for loss in ForgetfulDisk.Loss.allCases {
                    let left = TemporaryFolder()
                    disk.lay(into: left, after: loss, using: &random)
                    let store = try SQLiteStore.open(
                        folder: left.path + "/data", clock: ManualClock(), log: SilentLog())
                    let missing = try await missing(confirmed, in: store)
                    #expect(missing == [], "event \(number), lost: \(loss)")
                    #expect(!left.has("data/holdfast.sqlite.damaged.1"), "event \(number), lost: \(loss)")
                    await store.close()
                }
            }
            #expect(!confirmed.isEmpty)
        }

        @Test func `All that was confirmed is there after a power loss at any point`() async throws {
            let journal = try await DiskJournal.record(folder) { try await work(in: folder.path + "/data") }
            try await check(journal, seed: 1)
        }

        @Test(arguments: ["/holdfast.sqlite-wal", "/holdfast.sqlite", "/bodies/"])
        func `An fsync that failed is never taken for success`(file: String) async throws {
            let journal = try await DiskJournal.record(folder) {
                try await work(in: folder.path + "/data", failingSync: file)
            }
            #expect(journal.events.contains { if case .unsynced = $0 { true } else { false } })
            try await check(journal, seed: 2)
        }
    }
}
