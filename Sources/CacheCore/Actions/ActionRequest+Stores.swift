import HTTPModel

extension ActionRequest {
    /// The stores that an action works on, so that no other one does meanwhile. `patterns`: of all that are attached. Throws
    /// `not-found` where it names one that is not.
    package func stores(among patterns: [(store: String, paths: [PathPattern])]) throws -> [String] {
        switch self {
        case .refresh(let pattern): return Self.stores(of: pattern, among: patterns)
        case .prefetch(.targets(let targets), _):
            let stores = Set(targets.map { Self.store(of: $0, among: patterns) })
            return patterns.map(\.store).filter { stores.contains($0) }
        case .prefetch(.collection(let target), _):
            let path = target.path.utf8.last == UInt8(ascii: "/") ? target.path.dropLast() : target.path
            return Self.stores(of: PathPattern("\(path)/**"), among: patterns)
        case .verify(let name?), .reconcile(let name?):
            guard patterns.contains(where: { $0.store.hasSameBytes(as: name) }) else {
                throw Problem(.notFound, "No store of this name is attached.")
            }
            return [name]
        // A document may link to whatever there is.
        case .prefetch(.links, _), .verify, .reconcile, .export, .import, .save: return patterns.map(\.store)
        }
    }

    /// Those that may have targets which the pattern covers: not the default one where another has all of them.
    private static func stores(
        of pattern: PathPattern, among patterns: [(store: String, paths: [PathPattern])]
    ) -> [String] {
        let others = patterns.filter { $0.store != StoreName.standard }
        let isElsewhere = others.contains { $0.paths.contains { $0.covers(pattern) } }
        return (isElsewhere ? [] : [StoreName.standard])
            + others.filter { $0.paths.contains { $0.overlaps(pattern) } }.map(\.store)
    }

    /// The one whose pattern is the most specific of those that match.
    private static func store(
        of target: Target, among patterns: [(store: String, paths: [PathPattern])]
    ) -> String {
        let path = target.path
        let matching = patterns.flatMap { item in item.paths.filter { $0.matches(path) }.map { (item.store, $0) } }
        return matching.max { $0.1.specificity < $1.1.specificity }?.0 ?? StoreName.standard
    }
}
