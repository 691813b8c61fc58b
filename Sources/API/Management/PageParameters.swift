import CacheCore
import HTTPModel

/// The query parameters of the pages under /cache.
enum PageParameters {
    private static let paging: Set = ["partition", "limit", "after"]
    private static let filter: Set = ["partition", "prefix", "state", "tag"]

    /// Those that a page takes; nil where it does not matter. Others are refused: a misspelt one would widen what a DELETE concerns.
    static func names(_ method: HTTPMethod, _ path: [String]) -> Set<String>? {
        guard path.first == "cache" else { return nil }
        switch (path.dropFirst().first ?? "", path.count, method) {
        case ("ui", _, _): return nil
        case ("entry", 2, .delete): return ["target", "partition", "discard", "force"]
        case ("entry", _, _): return ["target", "partition"]
        case ("entries", _, .get): return filter.union(paging)
        case ("entries", _, _): return filter
        case ("operations", 2, .get): return paging.union(["state"])
        case ("operations", 2, .delete): return ["partition", "force"]
        case ("operations", 2, _), ("actions", 2, .post), ("events", _, _): return ["partition"]
        case ("operations", 3, .delete): return ["cascade", "force"]
        case ("conflicts", 2, _): return paging.union(["closed"])
        case ("uploads", 2, .get), ("actions", 2, .get): return paging
        case ("sync", _, _): return ["wait"]
        case ("save", _, _): return ["reason"]
        case ("snapshot", _, .get): return ["partitions"]
        case ("stores", 3, .delete): return ["leave"]
        default: return []
        }
    }

    /// Throws 400 for the first name that the page does not take.
    static func check(_ query: QueryParameters, _ method: HTTPMethod, _ path: [String]) throws(Problem) {
        guard let names = names(method, path), let unknown = query.names.first(where: { !names.contains($0) }) else {
            return
        }
        let allowed = names.isEmpty ? "none" : names.sorted().joined(separator: ", ")
        throw Problem(.badRequest, "“\(unknown)” is no parameter here. Allowed: \(allowed).")
    }
}
