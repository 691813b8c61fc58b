/// Pin priority of the SDK: high ones sync first. Pinned entries are never evicted.
package enum PinPriority: String, Sendable, Hashable { case normal, high }

/// Why an entry is pinned (seeds/semantics 1.8).
package struct Pins: Sendable, Hashable {
    /// For itself.
    package var own: PinPriority?
    /// For what led to it when that was downloaded ahead: a collection, or a document with links. Such a pin is of no use without the
    /// other's, and goes with it.
    package var ancillary: [Target: PinPriority]

    package init(own: PinPriority? = nil, ancillary: [Target: PinPriority] = [:]) {
        self.own = own
        self.ancillary = ancillary
    }

    package var isEmpty: Bool { own == nil && ancillary.isEmpty }

    /// The highest of all; nil where there is none.
    package var priority: PinPriority? {
        guard !isEmpty else { return nil }
        return own == .high || ancillary.values.contains(.high) ? .high : .normal
    }

    /// The one for what led to it; nil: the own one.
    package subscript(source: Target?) -> PinPriority? {
        get { source.map { ancillary[$0] } ?? own }
        set { if let source { ancillary[source] = newValue } else { own = newValue } }
    }

    /// With those of another that it lacks.
    package func joined(with other: Pins) -> Pins {
        Pins(own: own ?? other.own, ancillary: ancillary.merging(other.ancillary) { mine, _ in mine })
    }
}
