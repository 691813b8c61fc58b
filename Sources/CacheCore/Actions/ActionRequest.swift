import HTTPModel

/// What an action can be asked to do.
package enum ActionType: String, Sendable, Hashable, CaseIterable {
    case refresh, prefetch, verify, reconcile, export, `import`, save
}

/// What one action is asked to do, as POST /cache/actions takes it.
package enum ActionRequest: Sendable, Hashable {
    /// Asks the origin for every entry whose path the pattern covers.
    case refresh(PathPattern)
    /// Fetches what is not there or has expired, and pins it where a priority is given.
    case prefetch(PrefetchSource, pin: PinPriority?)
    /// Compares bodies with their digests, and both sides of stores with a mirror; of all stores where none is named.
    case verify(store: String?)
    /// Compares and mends both sides of stores with a mirror; of all that have one where none is named.
    case reconcile(store: String?)
    /// Writes a snapshot to a file; of everybody's copies, or of what is nobody's alone.
    case export(file: String, isWhole: Bool)
    /// Takes a snapshot in from a file.
    case `import`(file: String)
    /// Saves the cached copies, as the mode has it.
    case save

    package var type: ActionType {
        switch self {
        case .refresh: .refresh
        case .prefetch: .prefetch
        case .verify: .verify
        case .reconcile: .reconcile
        case .export: .export
        case .import: .import
        case .save: .save
        }
    }

    /// Whether it asks the origin, and waits while that is away.
    package var needsOrigin: Bool { type == .refresh || type == .prefetch }

    /// Whether it works on whole stores, for which a full token is needed, and not on entries of the caller's.
    package var isOfStores: Bool { !needsOrigin }

    /// Targets that it names.
    package var targets: [Target] {
        switch self {
        case .prefetch(.targets(let targets), _): targets
        case .prefetch(.collection(let target), _), .prefetch(.links(let target, _), _): [target]
        default: []
        }
    }
}

/// What a prefetch is of.
package enum PrefetchSource: Sendable, Hashable {
    case targets([Target])
    /// A collection, all pages of it, and its members.
    case collection(Target)
    /// A document, and what it links to where the pointer finds links.
    case links(in: Target, JSONPointer)
}
