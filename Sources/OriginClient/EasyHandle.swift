import CCurl
import Glibc
import HTTPModel

/// An easy handle of libcurl with the options that never change, reused for one transfer after the other. Confined to the
/// transfer thread.
@safe final class EasyHandle {
    let curl: UnsafeMutableRawPointer
    /// The transfer it works for; nil while it waits for one.
    var transfer: Transfer?
    /// What libcurl says of the last failure.
    private let message: UnsafeMutablePointer<CChar>
    /// The field lines of the running request, which libcurl reads while it runs: the nodes of the list, and their texts behind.
    private var lines: UnsafeMutableRawBufferPointer
    private let usesURLAsTarget: Bool

    /// nil where memory is short.
    init?(_ options: OriginOptions, usesURLAsTarget: Bool) {
        guard let curl = unsafe curl_easy_init() else { return nil }
        unsafe self.curl = unsafe curl
        self.usesURLAsTarget = usesURLAsTarget
        unsafe message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe lines = .allocate(byteCount: 1024, alignment: MemoryLayout<curl_slist>.alignment)
        setConstants(options)
    }

    deinit {
        unsafe curl_easy_cleanup(curl)
        unsafe lines.deallocate()
        unsafe message.deallocate()
    }

    private func setConstants(_ options: OriginOptions) {
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe set(CURLOPT_PRIVATE, me)
        unsafe set(CURLOPT_ERRORBUFFER, message)
        unsafe set(CURLOPT_WRITEDATA, me)
        unsafe set(CURLOPT_HEADERDATA, me)
        unsafe set(CURLOPT_READDATA, me)
        unsafe set(CURLOPT_PREREQDATA, me)
        _ = unsafe holdfast_curl_set_write(curl, CURLOPT_WRITEFUNCTION, receiveBody)
        _ = unsafe holdfast_curl_set_write(curl, CURLOPT_HEADERFUNCTION, receiveHeadLine)
        _ = unsafe holdfast_curl_set_read(curl, sendBody)
        _ = unsafe holdfast_curl_set_seek(curl, refuseSeek)
        _ = unsafe holdfast_curl_set_prereq(curl, beforeRequest)
        set(CURLOPT_URL, options.base.text)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_HTTP_VERSION, options.base.isTLS ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(min(options.connectTimeout * 1000, Double(Int32.max)))))
        set(CURLOPT_BUFFERSIZE, 64 << 10)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_NOPROGRESS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        // Without it, giving up while a name is being resolved blocks this thread until the resolver returns.
        set(CURLOPT_QUICK_EXIT, 1)
        if let file = options.caFile { set(CURLOPT_CAINFO, file) }
    }

    /// Sets everything that differs from request to request, so that nothing of the one before remains.
    func prepare(_ job: Job, base: OriginBase) {
        unsafe message[0] = 0
        set(CURLOPT_CONNECT_ONLY, job.isProbe ? 1 : 0)
        unsafe set(CURLOPT_POSTFIELDS, nil)
        set(CURLOPT_HTTPGET, 1)
        unsafe set(CURLOPT_CUSTOMREQUEST, nil)
        if job.method == .head {
            set(CURLOPT_NOBODY, 1)
        } else {
            setBody(job.body)
            if job.method != .get || job.hasBody { set(CURLOPT_CUSTOMREQUEST, job.method.rawValue) }
        }
        setTarget(job, base: base)
        // A request that must not be repeated takes no connection that may be dead: a new one where there is nothing
        // else to stop libcurl from sending it again, and else one that was used a moment ago.
        set(CURLOPT_FRESH_CONNECT, job.isProbe || !job.isRepeatable && !job.hasBody ? 1 : 0)
        set(CURLOPT_MAXAGE_CONN, job.isRepeatable ? 118 : 1)
        setLines(job.lines)
    }

    /// `texts`: each ends in NUL. One block for all of them, used again by the next request: a list of libcurl's own would be two
    /// allocations a line.
    private func setLines(_ texts: [UInt8]) {
        let count = texts.count { $0 == 0 }
        let start = unsafe count * MemoryLayout<curl_slist>.stride
        if unsafe lines.count < start + texts.count {
            unsafe lines.deallocate()
            unsafe lines = .allocate(
                byteCount: start + texts.count, alignment: MemoryLayout<curl_slist>.alignment)
        }
        guard count > 0, let base = unsafe lines.baseAddress else { return unsafe set(CURLOPT_HTTPHEADER, nil) }
        unsafe UnsafeMutableRawBufferPointer(rebasing: lines[start...]).copyBytes(from: texts)
        let nodes = unsafe base.bindMemory(to: curl_slist.self, capacity: count)
        var text = unsafe (base + start).assumingMemoryBound(to: CChar.self)
        for index in 0..<count {
            let next = unsafe index + 1 < count ? nodes + index + 1 : nil
            unsafe (nodes + index).initialize(to: curl_slist(data: text, next: next))
            unsafe text += strlen(text) + 1
        }
        unsafe set(CURLOPT_HTTPHEADER, nodes)
    }

    private func setBody(_ body: Job.Body) {
        switch body {
        case .none: break
        case .small(let bytes):
            _ = unsafe holdfast_curl_set_length(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
            set(CURLOPT_POST, 1)
            unsafe bytes.withUnsafeBytes { bytes in
                // An empty array may have no address; the length says that nothing is read.
                unsafe bytes.isEmpty
                    ? set(CURLOPT_COPYPOSTFIELDS, "") : unsafe set(CURLOPT_COPYPOSTFIELDS, bytes.baseAddress)
            }
        case .upload(let upload):
            set(CURLOPT_UPLOAD, 1)
            _ = unsafe holdfast_curl_set_length(curl, CURLOPT_INFILESIZE_LARGE, curl_off_t(upload.length ?? -1))
        }
    }

    /// The target goes on the wire as it is. A plain HTTP proxy needs the whole URL there instead.
    private func setTarget(_ job: Job, base: OriginBase) {
        guard !job.isProbe else {
            unsafe set(CURLOPT_REQUEST_TARGET, nil)
            return
        }
        if usesURLAsTarget {
            let root = base.text.dropLast(base.prefix.utf8.count)
            let url = Array(root.utf8) + job.target
            unsafe url.withUnsafeBytes { unsafe set(CURLOPT_URL, $0.baseAddress) }
        } else {
            unsafe job.target.withUnsafeBytes { unsafe set(CURLOPT_REQUEST_TARGET, $0.baseAddress) }
        }
    }

    /// What libcurl says of the failure, else the general text of the code.
    func reason(_ code: CURLcode) -> String {
        unsafe message[0] != 0 ? String(cString: message) : String(cString: curl_easy_strerror(code))
    }

    private func set(_ option: CURLoption, _ value: Int) {
        _ = unsafe holdfast_curl_set_long(curl, option, value)
    }

    private func set(_ option: CURLoption, _ value: String) {
        unsafe value.withCString { unsafe set(option, UnsafeRawPointer($0)) }
    }

    private func set(_ option: CURLoption, _ value: UnsafeRawPointer?) {
        _ = unsafe holdfast_curl_set_pointer(curl, option, value)
    }
}

// libcurl's callbacks. File-scope functions: a closure would take the isolation of its place.

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    unsafe context.flatMap { unsafe Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue().transfer }
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe transfer(context)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

private func receiveHeadLine(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe transfer(context)?.receiveHeadLine(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

private func sendBody(
    _ room: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe transfer(context)?.sendBody(UnsafeMutableRawBufferPointer(start: room, count: size * count))
        ?? Int(CURL_READFUNC_ABORT)
}

/// A body is never sent from its start again: that is how a request is kept from being repeated.
private func refuseSeek(_: UnsafeMutableRawPointer?, _: curl_off_t, _: Int32) -> Int32 { CURL_SEEKFUNC_FAIL }

private func beforeRequest(
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32,
    _: Int32
) -> Int32 {
    unsafe transfer(context)?.beforeRequest() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}
