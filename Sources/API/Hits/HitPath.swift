import CacheCore
import HTTPModel

/// Answers plain GETs and HEADs from the view in the loop thread's write buffer, without building a String (design 15, "the hot path").
/// Whatever is not plain is left to the pipeline.
struct HitPath<View: HitView>: Sendable {
    let view: View
    let settings: SettingsBox
    let counters: Counters
    let identities: HitIdentities

    func answer(_ request: borrowing RawRequest, into sink: inout some ResponseSink & ~Copyable) -> Bool {
        let method = request[request.method]
        let isHead = method.matches("HEAD")
        guard request.minorVersion == 1, isHead || method.matches("GET") else { return false }
        let target = request[request.target]
        let route: Route
        let length: Int
        if target.hasPrefix("/resources") {
            (route, length) = (.resources, 10)
        } else if target.hasPrefix("/files") {
            (route, length) = (.files, 6)
        } else {
            return false
        }
        let rest = UnsafeRawBufferPointer(rebasing: target[length...])
        guard rest.isEmpty || rest[0] == UInt8(ascii: "/") || rest[0] == UInt8(ascii: "?") else { return false }
        guard let plain = PlainFields(request), isAdmitted(plain, request) else { return false }
        let bytes = request.bytes
        let fields = request.fields
        let now = request.now
        var partition = PartitionID.none
        if plain.hasCredentials {
            guard let known = identities.partition(of: fields, in: bytes, settings.hot) else { return false }
            partition = known
        }
        let key = HitKey(partition: partition, route: route, target: rest)
        let isAnswered = view.withHit(key, selects: { selects($0, fields, bytes) }) { parts in
            guard now < parts.freshUntil else { return false }
            guard let condition = plain.ifNoneMatch else {
                sink.append(parts.head)
                Self.close(parts, now: now, &sink)
                if !isHead { sink.append(parts.body) }
                return true
            }
            guard !parts.etag.isEmpty, bytes[condition].elementsEqual(parts.etag) else { return false }
            Self.appendText("HTTP/1.1 304 Not Modified\r\n", &sink)
            sink.append(parts.notModifiedFields)
            Self.close(parts, now: now, &sink)
            return true
        }
        if isAnswered {
            counters.count(.requests)
            counters.count(.hits)
        }
        return isAnswered
    }

    /// The gatekeeper's rules for a read, as far as they can be judged by bytes; what fails here takes the slow way.
    private func isAdmitted(_ plain: PlainFields, _ request: borrowing RawRequest) -> Bool {
        let needsToken = settings.needsTokens
        if !needsToken, plain.isLocal { return true }
        let hot = settings.hot
        guard needsToken else {
            let host = request[plain.host]
            let bare = PlainFields.withoutPort(host)
            return hot.hosts.contains { $0.withUnsafeBytes { host.equalsFolded($0) || bare.equalsFolded($0) } }
        }
        guard let token = plain.token else { return false }
        let given = request[token]
        return hot.tokens.contains { ConstantTime.equal(given, $0) }
    }

    /// Age, Cache-Status and the empty line.
    private static func close(_ parts: HitParts, now: Double, _ sink: inout some ResponseSink & ~Copyable) {
        appendText("Age: ", &sink)
        appendNumber(max(0, now - parts.bornAt), &sink)
        if parts.earlierCaches.isEmpty {
            appendText("\r\nCache-Status: Holdfast; hit; ttl=", &sink)
        } else {
            appendText("\r\nCache-Status: ", &sink)
            sink.append(parts.earlierCaches)
            appendText("Holdfast; hit; ttl=", &sink)
        }
        appendNumber(parts.freshUntil - now, &sink)
        appendText("\r\n\r\n", &sink)
    }

    private static func appendText(_ text: StaticString, _ sink: inout some ResponseSink & ~Copyable) {
        sink.append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whole seconds, not below 0, in decimal.
    private static func appendNumber(_ seconds: Double, _ sink: inout some ResponseSink & ~Copyable) {
        var rest = UInt64(min(max(seconds, 0), 1e15))
        var digits: InlineArray<20, UInt8> = .init(repeating: 0)
        var start = 20
        repeat {
            start -= 1
            digits[start] = UInt8(rest % 10) + 0x30
            rest /= 10
        } while rest > 0
        withUnsafeBytes(of: &digits) { sink.append(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// Whether the request carries exactly the values that the hit is for.
    private func selects(
        _ selecting: UnsafeRawBufferPointer, _ fields: UnsafeBufferPointer<RawRequest.FieldSlices>,
        _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        var rest = selecting[...]
        while let nameEnd = rest.firstIndex(of: 0) {
            let name = UnsafeRawBufferPointer(rebasing: rest[rest.startIndex..<nameEnd])
            guard let valueEnd = rest[(nameEnd + 1)...].firstIndex(of: 0) else { return false }
            let value = UnsafeRawBufferPointer(rebasing: rest[(nameEnd + 1)..<valueEnd])
            var found = 0
            for field in fields where bytes[field.name].equalsFolded(name) {
                found += 1
                guard bytes[field.value].elementsEqual(value) else { return false }
            }
            guard found == 1 || found == 0 && value.isEmpty else { return false }
            rest = rest[(valueEnd + 1)...]
        }
        return true
    }
}

/// The fields of a request that is plain enough for the hot path.
struct PlainFields {
    /// The single tag of If-None-Match.
    private(set) var ifNoneMatch: RawRequest.Slice?
    private(set) var host = RawRequest.Slice(offset: 0, length: 0)
    /// localhost, 127.0.0.1 or [::1]: served whatever the settings say.
    private(set) var isLocal = false
    /// Whether any field is a credential.
    private(set) var hasCredentials = false
    /// The value of Holdfast-Token.
    private(set) var token: RawRequest.Slice?

    /// nil where any field could change the answer.
    init?(_ request: borrowing RawRequest) {
        var hosts = 0
        for field in request.fields {
            let name = request[field.name]
            switch name.count {
            case 4 where name.equalsFolded("host"):
                hosts += 1
                host = field.value
            case 6 where name.equalsFolded("accept"): break
            case 10 where name.equalsFolded("user-agent"): break
            case 10 where name.equalsFolded("connection"):
                guard request[field.value].equalsFolded("keep-alive") else { return nil }
            case 13 where name.equalsFolded("if-none-match"):
                guard ifNoneMatch == nil else { return nil }
                ifNoneMatch = field.value
            case 14 where name.equalsFolded("holdfast-token"):
                guard token == nil else { return nil }
                token = field.value
            case 15 where name.equalsFolded("accept-encoding") || name.equalsFolded("accept-language"): break
            case _ where Self.isCredential(name):
                // One without a value does not count.
                guard field.value.length > 0 else { return nil }
                hasCredentials = true
            default: return nil
            }
        }
        guard hosts == 1 else { return nil }
        let bare = Self.withoutPort(request[host])
        isLocal = bare.equalsFolded("127.0.0.1") || bare.equalsFolded("localhost") || bare.equalsFolded("[::1]")
    }

    /// Whether a field of that name carries credentials without being configured (`CredentialFields.builtIn`).
    static func isCredential(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 6: name.equalsFolded("cookie")
        case 7: name.equalsFolded("api-key")
        case 9: name.equalsFolded("x-api-key")
        case 12: name.equalsFolded("x-auth-token")
        case 13: name.equalsFolded("authorization")
        case 14: name.equalsFolded("x-access-token")
        case 19: name.equalsFolded("proxy-authorization")
        default: false
        }
    }

    /// The name of a Host value.
    static func withoutPort(_ host: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var name = host[...]
        while let last = name.last, last.isDigit { name = name.dropLast() }
        let end = name.last == UInt8(ascii: ":") && name.count > 1 ? name.endIndex - 1 : host.endIndex
        return UnsafeRawBufferPointer(rebasing: host[host.startIndex..<end])
    }
}

extension UnsafeRawBufferPointer {
    subscript(slice: RawRequest.Slice) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[Int(slice.offset)..<Int(slice.offset + slice.length)])
    }

    func matches(_ text: StaticString) -> Bool { count == text.utf8CodeUnitCount && hasPrefix(text) }

    func hasPrefix(_ text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where self[index] != text.utf8Start[index] { return false }
        return true
    }

    /// `text` in lower case.
    func equalsFolded(_ text: StaticString) -> Bool {
        equalsFolded(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// `other` in lower case.
    func equalsFolded(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index].asciiLowercased != other[index] { return false }
        return true
    }
}
