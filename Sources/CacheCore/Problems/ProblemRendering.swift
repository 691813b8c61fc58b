import HTTPModel

extension Problem {
    /// The body as application/problem+json (RFC 9457). `instance`: the URI path of what was asked for, without secrets.
    package func body(instance: String?) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONValue.object(omittingNil: [
            "type": .string("/problems/" + code.slug),
            "title": .string(code.meaning.title),
            "status": JSONValue(status),
            "detail": .string(detail),
            "instance": instance.map { .string($0) },
        ]).write(into: &bytes)
        // The further members are JSON already.
        for member in members {
            bytes.removeLast()
            bytes.append(UInt8(ascii: ","))
            JSONValue.string(member.name).write(into: &bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes += member.json.utf8
            bytes.append(UInt8(ascii: "}"))
        }
        return bytes
    }

    /// The refusal that a store's error is answered with (design 12).
    package static func from(_ error: StoreError) -> Problem {
        switch error {
        case .full:
            Problem(.storeFull, "Nothing was kept. Deliver or discard queued writes, or raise maxStoreSize.")
        case .tooLarge:
            Problem(.tooLarge, "The store can never hold a body of this size. Raise maxStoreSize or send less.")
        case .failed:
            Problem(.storeFailed, "Nothing was kept. The log says why; try again when the disk is in order.")
        case .detached, .closed:
            Problem(
                .storeDetached, "The store of this target was just attached, detached or stopped. Send it again.",
                fields: ["Retry-After": "0"])
        case .outdated:
            Problem(
                .operationBusy, "Another process is at work on this target. Send it again.",
                fields: ["Retry-After": "0"])
        case .side(let side, let error):
            from(error).at(side)
        case .mirrorFailed:
            Problem(
                .mirrorFailed,
                "The write was accepted and is kept in the primary location alone. Don't send it again; see to the mirror.",
                members: [Member("accepted", json: "true")]
            ).at(.mirror)
        case .several(let failures): from(failures)
        case .corrupt:
            Problem(
                .storeFailed,
                "The stored bytes are damaged and are not served. Ask again while the origin is reachable.",
                status: 500)
        }
    }

    /// A temporary target that never became a real one (design 4, "POST").
    package static var temporaryGone: Problem {
        Problem(
            .notFound,
            "The create of this temporary target was deleted or given up here, or the origin named no resource for it. "
                + "GET /cache/operations tells which; write to another target.",
            status: 410)
    }

    /// That of the first, with the `failures` of all.
    private static func from(_ failures: [StoreFailure]) -> Problem {
        var problem = from(failures[0].error)
        let all = failures.map { failure -> JSONValue in
            let own = from(failure.error)
            return .object(omittingNil: [
                "store": .string(failure.store), "type": .string("/problems/" + own.code.slug),
                "title": .string(own.code.meaning.title),
                "location": failure.error.side.map { .string($0.rawValue) },
            ])
        }
        problem.members.append(Member("failures", json: String(decoding: JSONValue.array(all).bytes, as: UTF8.self)))
        return problem
    }

    /// The same, with the location that it speaks of.
    package func at(_ side: StoreSide) -> Problem {
        var problem = self
        problem.members.append(Member("location", json: "\"\(side.rawValue)\""))
        return problem
    }
}

extension StoreError {
    /// The side that it speaks of.
    fileprivate var side: StoreSide? {
        switch self {
        case .side(let side, _): side
        case .mirrorFailed: .mirror
        default: nil
        }
    }
}
