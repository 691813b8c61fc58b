import CCurl
import CacheCore

/// A result code of libcurl, and what it means for who asked (design 8: what counts as no connection).
struct CurlFailure {
    private let code: CURLcode
    private let reason: String

    init(_ code: CURLcode, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The error of a transfer without a final head. `mayHaveBeenSent`: a connection was made for it at some time. A
    /// repeatable request that was sent on a dead connection and then found no new one counts as not connected.
    func error(mayHaveBeenSent: Bool, isRepeatable: Bool) -> OriginError {
        if !mayHaveBeenSent || isRepeatable && isConnectionLevel { return .unreachable(reason: reason, isTLS: isTLS) }
        switch code {
        case CURLE_OPERATION_TIMEDOUT: return .timeout(reason: reason)
        case CURLE_OK: return .noAnswer(reason: "the connection ended within the head of the answer")
        // What the parser of libcurl refuses; out of memory is its answer to an endless line.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_OUT_OF_MEMORY,
            CURLE_WRITE_ERROR:
            return .badAnswer(reason: reason)
        default: return .noAnswer(reason: reason)
        }
    }

    private var isConnectionLevel: Bool {
        switch code {
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_PROXY: true
        default: isTLS
        }
    }

    private var isTLS: Bool {
        switch code {
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
            true
        default: false
        }
    }
}
