extension ActionRequest {
    /// The stores that an action works on, so that no other one does meanwhile. `patterns`: of all that are attached.
    package func stores(among patterns: [(store: String, paths: [PathPattern])]) -> [String] {
        switch self {
        case .refresh(let pattern): Self.stores(of: pattern, among: patterns)
        case .save: patterns.map(\.store)
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
}
