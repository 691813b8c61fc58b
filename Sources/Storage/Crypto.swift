import CCrypto
package import CacheCore

/// SHA-256 over bytes that arrive piece by piece. One caller at a time.
@safe package struct SHA256: ~Copyable {
    private let context: OpaquePointer

    /// Fetched once: libcrypto looks for what `EVP_sha256` means at each beginning anew.
    private nonisolated(unsafe) static let algorithm = unsafe EVP_MD_fetch(nil, "SHA256", nil)

    package init() {
        guard let context = unsafe EVP_MD_CTX_new(), unsafe EVP_DigestInit_ex(context, Self.algorithm, nil) == 1 else {
            fatalError("libcrypto offers no SHA-256")
        }
        unsafe self.context = context
    }

    package mutating func update(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { bytes in
            let result = unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
            precondition(result == 1, "libcrypto failed to hash")
        }
    }

    /// The digest of all bytes so far; the hash is used up.
    package consuming func finish() -> Digest {
        var digest = [UInt8](repeating: 0, count: 32)
        let result = unsafe digest.withUnsafeMutableBufferPointer { digest in
            unsafe EVP_DigestFinal_ex(context, digest.baseAddress, nil)
        }
        precondition(result == 1, "libcrypto failed to hash")
        return Digest(bytes: digest)
    }

    /// The digest of bytes in memory.
    package static func digest(of bytes: [UInt8]) -> Digest {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }

    deinit { unsafe EVP_MD_CTX_free(context) }
}

/// A hash of any algorithm over bytes that pass by.
@safe package final class PassingHash: RunningHash {
    private let context: OpaquePointer
    private let algorithm: HashAlgorithm

    package init(_ algorithm: HashAlgorithm) {
        let kind = unsafe algorithm == .sha256 ? EVP_sha256() : EVP_sha512()
        guard let context = unsafe EVP_MD_CTX_new(), unsafe EVP_DigestInit_ex(context, kind, nil) == 1 else {
            fatalError("libcrypto offers no \(algorithm.rawValue)")
        }
        unsafe self.context = context
        self.algorithm = algorithm
    }

    package func update(_ bytes: [UInt8]) {
        let result = unsafe bytes.withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
        precondition(result == 1, "libcrypto failed to hash")
    }

    package func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: algorithm.length)
        let result = unsafe digest.withUnsafeMutableBufferPointer { digest in
            unsafe EVP_DigestFinal_ex(context, digest.baseAddress, nil)
        }
        precondition(result == 1, "libcrypto failed to hash")
        return digest
    }

    deinit { unsafe EVP_MD_CTX_free(context) }
}

// Used by one caller at a time, as `RunningHash` says.
extension PassingHash: @unchecked Sendable {}

/// HMAC-SHA-256 (RFC 2104).
package enum HMACSHA256 {
    /// 32 bytes.
    package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        let result = unsafe code.withUnsafeMutableBufferPointer { code in
            unsafe key.withUnsafeBytes { key in
                unsafe bytes.withUnsafeBufferPointer { bytes in
                    unsafe HMAC(
                        EVP_sha256(), key.baseAddress, Int32(key.count), bytes.baseAddress, bytes.count,
                        code.baseAddress, nil) != nil
                }
            }
        }
        precondition(result, "libcrypto failed to make a code")
        return code
    }
}

/// Bytes from libcrypto's generator, fit for keys.
package func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = unsafe bytes.withUnsafeMutableBufferPointer { unsafe RAND_bytes($0.baseAddress, Int32($0.count)) }
    precondition(result == 1, "libcrypto has no randomness")
    return bytes
}

/// Compares in a time that does not depend on where the bytes differ; lengths may be told apart.
package func constantTimeEquals(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    guard one.count == other.count else { return false }
    return unsafe one.withUnsafeBytes { one in
        unsafe other.withUnsafeBytes { other in
            unsafe CRYPTO_memcmp(one.baseAddress, other.baseAddress, one.count) == 0
        }
    }
}
