/// What a request may do here, by its access token (design 13).
package enum Access: Sendable, Hashable {
    /// No valid token where tokens are required: only the open pages (/cache/ui, /health, /problems).
    case open
    /// A read-only token.
    case readOnly
    /// A full token, or no tokens are configured.
    case full
}
