import CCurl
import CacheCore
import Glibc

/// The transfer thread: one multi handle, its transfers and their deadlines. Everything in it is confined to that thread, once it
/// is made.
@safe final class TransferLoop {
    /// Seconds of the monotonic clock, read once a turn.
    private(set) var now = 0.0
    private let options: OriginOptions
    private let mailbox: Mailbox
    private let multi: UnsafeMutableRawPointer
    private var transfers: [Int: Transfer] = [:]
    private var idleHandles: [EasyHandle] = []
    private var touched: [Transfer] = []
    /// When to look at the deadlines again. May be early, never late.
    private var nextCheck = Double.infinity
    private let usesURLAsTarget: Bool

    /// nil where memory or descriptors are short.
    init?(_ options: OriginOptions, mailbox: Mailbox) {
        guard let multi = unsafe curl_multi_init() else { return nil }
        self.options = options
        self.mailbox = mailbox
        unsafe self.multi = unsafe multi
        usesURLAsTarget = !options.base.isTLS && Self.hasPlainProxy
        _ = unsafe holdfast_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, options.maxConnections)
        mailbox.attach(UInt(bitPattern: multi))
    }

    deinit { unsafe curl_multi_cleanup(multi) }

    /// Whether the environment names a proxy for plain HTTP, by the variables that libcurl reads.
    private static var hasPlainProxy: Bool {
        ["http_proxy", "all_proxy", "ALL_PROXY"].contains { (name: String) in
            unsafe getenv(name).map { value in unsafe value[0] != 0 } ?? false
        }
    }

    /// Runs until the mailbox is closed, then fails what still runs.
    func run() {
        while true {
            now = Self.monotonicNow()
            let (messages, isClosed) = mailbox.take()
            for message in messages { perform(message) }
            if isClosed { break }
            var running: Int32 = 0
            _ = unsafe curl_multi_perform(multi, &running)
            endFinished()
            flushTouched()
            if now >= nextCheck { endOverdue() }
            if mailbox.fallAsleep() {
                let wait = min(60, max(0, nextCheck - Self.monotonicNow()))
                _ = unsafe curl_multi_poll(multi, nil, 0, Int32((wait * 1000).rounded(.up)), nil)
            }
        }
        mailbox.attach(0)
        for transfer in Array(transfers.values) {
            remove(transfer)
            transfer.end(
                CURLE_ABORTED_BY_CALLBACK,
                because: transfer.mayHaveBeenSent
                    ? .noAnswer(reason: "the client of the origin was stopped") : .cancelled)
        }
        touched = []
        idleHandles = []
    }

    /// `flush` of the transfer is called at the end of this turn.
    func touch(_ transfer: Transfer) {
        guard !transfer.isTouched else { return }
        transfer.isTouched = true
        touched.append(transfer)
    }

    private func perform(_ message: Mailbox.Message) {
        switch message {
        case .start(let job): start(job)
        case .received(let id): resume(id, receive: true, send: false)
        case .uploaded(let id): resume(id, receive: false, send: true)
        case .cancel(let id):
            guard let transfer = transfers[id] else { return }
            remove(transfer)
            transfer.end(CURLE_ABORTED_BY_CALLBACK, because: .cancelled)
        }
    }

    private func start(_ job: Job) {
        guard let handle = idleHandles.popLast() ?? EasyHandle(options, usesURLAsTarget: usesURLAsTarget) else {
            job.answer.finish(.failure(.unreachable(reason: "out of memory", isTLS: false)))
            if case .upload(let upload) = job.body { upload.close() }
            return
        }
        let transfer = Transfer(job, handle: handle, options: options, loop: self)
        handle.prepare(job, base: options.base)
        handle.transfer = transfer
        transfers[job.id] = transfer
        let code = unsafe curl_multi_add_handle(multi, handle.curl)
        guard code == CURLM_OK else {
            remove(transfer)
            transfer.end(CURLE_FAILED_INIT)
            return
        }
        nextCheck = min(nextCheck, now + shortestDeadline)
    }

    /// No deadline of a transfer comes sooner after a sign of progress.
    private var shortestDeadline: Double {
        min(options.firstByteTimeout, options.idleTimeout, options.totalTimeout ?? .infinity)
    }

    private func resume(_ id: Int, receive: Bool, send: Bool) {
        guard let transfer = transfers[id] else { return }
        let code = transfer.resume(receive: receive, send: send)
        nextCheck = min(nextCheck, now + shortestDeadline)
        guard code != CURLE_OK else { return }
        remove(transfer)
        transfer.end(code)
    }

    private func endFinished() {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE,
                let context = unsafe holdfast_curl_private(message.pointee.easy_handle)
            else { continue }
            let code = unsafe holdfast_curl_result(message)
            let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            guard let transfer = handle.transfer else { continue }
            remove(transfer)
            transfer.end(code)
        }
    }

    private func flushTouched() {
        guard !touched.isEmpty else { return }
        var all: [Transfer] = []
        swap(&all, &touched)
        for transfer in all { transfer.flush() }
        all.removeAll(keepingCapacity: true)
        // What a flush has touched anew is rare.
        if touched.isEmpty { swap(&all, &touched) }
    }

    private func endOverdue() {
        nextCheck = .infinity
        for transfer in Array(transfers.values) {
            switch transfer.check(now) {
            case .not(let next): nextCheck = min(nextCheck, max(next, now + 0.001))
            case .overdue(let reason):
                remove(transfer)
                transfer.end(overdue: reason)
            }
        }
        // A transfer without a running deadline (connecting, paused) gets one at any time.
        if !transfers.isEmpty { nextCheck = min(nextCheck, now + shortestDeadline) }
    }

    /// Takes a transfer from libcurl, which closes its connection unless the answer was read to its end.
    private func remove(_ transfer: Transfer) {
        let handle = transfer.handle
        _ = unsafe curl_multi_remove_handle(multi, handle.curl)
        handle.transfer = nil
        transfers[transfer.job.id] = nil
        if idleHandles.count < options.maxConnections { idleHandles.append(handle) }
    }

    private static func monotonicNow() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
