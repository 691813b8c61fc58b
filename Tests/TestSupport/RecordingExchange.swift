package import CacheCore
package import HTTPModel
import Synchronization
package import Testing

/// A client's exchange: feeds the request's body and records the answer.
package final class RecordingExchange: Exchange {
    /// What the client got.
    package struct Answer: Sendable {
        package var status = 0
        package var fields = HTTPFields()
        package var body: [UInt8] = []
        /// As declared by `begin`; nil for chunked, or a whole body.
        package var length: Int64?
        package var isWhole = false
        package var wasAborted = false
        /// How many heads were sent: more than one is a fault.
        package var heads = 0
        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    package let head: RequestHead
    private let input: Mutex<[[UInt8]]>
    private let kept = Mutex(Answer())
    private let ended = Latch()
    private let mayWrite: Latch
    private let leavesAfter: Int
    private let departure = Mutex<(@Sendable () -> Void)?>(nil)

    /// `mayWrite`: the client reads nothing before it opens. `leavesAfter`: the client goes away after that many bytes.
    package init(
        _ head: RequestHead, body: [UInt8] = [], mayWrite: Latch = Latch(isOpen: true), leavesAfter: Int = .max
    ) {
        self.head = head
        input = Mutex(body.isEmpty ? [] : [body])
        self.mayWrite = mayWrite
        self.leavesAfter = leavesAfter
    }

    /// What has arrived so far.
    package var soFar: Answer { kept.withLock { $0 } }

    /// The answer, once it is whole or was broken off.
    package func answer(sourceLocation: SourceLocation = #_sourceLocation) async -> Answer {
        await patiently(sourceLocation: sourceLocation) {
            await ended.wait()
        } giveUp: { [ended] in
            ended.open()
        }
        return soFar
    }

    package func readBody() async throws(ExchangeError) -> [UInt8]? {
        input.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    package func respond(_ head: ResponseHead, body: [UInt8]) {
        kept.withLock { answer in
            answer.heads += 1
            answer.status = head.status
            answer.fields = head.fields
            answer.body = body
            answer.isWhole = true
        }
        ended.open()
    }

    package func begin(_ head: ResponseHead, length: Int64?) {
        kept.withLock { answer in
            answer.heads += 1
            answer.status = head.status
            answer.fields = head.fields
            answer.length = length
        }
    }

    package func write(_ piece: [UInt8]) async throws(ExchangeError) {
        await mayWrite.wait()
        let count = kept.withLock { answer in
            answer.body += piece
            return answer.body.count
        }
        if count > leavesAfter { throw .disconnected }
    }

    package func onDeparture(_ call: @escaping @Sendable () -> Void) { departure.withLock { $0 = call } }

    /// The client closes its side.
    package func leave() { departure.withLock { $0.take() }?() }

    package func finish() {
        kept.withLock { $0.isWhole = true }
        ended.open()
    }

    package func abort() {
        kept.withLock { $0.wasAborted = true }
        ended.open()
    }
}
