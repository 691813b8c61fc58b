import CacheCore

extension ServiceContext {
    /// Whether JSON at the target is a list that no rule of the configuration describes: an array, or parallel arrays (design 1,
    /// "resource"). Longer ones than `maxJSONSize` are taken for lists only as arrays.
    func isList(_ content: Content, at target: Target) async throws -> Bool {
        switch ListSign(ofStart: try await store.start(of: content, length: ListSign.length)) {
        case .array: return true
        case .none: return false
        case .parallel:
            let limit = settings.current.maxJSONSize
            guard content.length <= limit else { return false }
            let bytes = try await store.bytes(of: content, limit: limit)
            return ListDocument(bytes, at: target, rule: .byDefault, originBase: origin.base) != nil
        }
    }
}
