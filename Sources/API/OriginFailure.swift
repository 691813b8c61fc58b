package import CacheCore
import HTTPModel

/// What a request that the origin gave no usable answer to is told (design 12, "Reads").
package enum OriginFailure {
    /// `isHTTPCache`: under HTTP_CACHE "unreachable" is 504, as RFC 9111 5.2.1.7 has it; else 503 with Retry-After.
    package static func problem(_ error: OriginError, isHTTPCache: Bool) -> Problem {
        switch error {
        case .unreachable:
            return Problem(
                isHTTPCache ? .offlineGateway : .offline, "Ask again when the origin is reachable.",
                fields: ["Retry-After": "1"])
        case .timeout:
            return Problem(.originTimeout, "The origin did not answer in time. Ask again later.")
        case .noAnswer, .badAnswer, .cutBody, .cancelled:
            return Problem(.badAnswer, "The origin ended the connection or sent no usable HTTP. Ask again later.")
        }
    }
}
