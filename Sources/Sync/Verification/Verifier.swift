package import CacheCore
import HTTPModel

/// Decides from a look whether an edit whose outcome is unknown took effect (design 5, "Once in effect"). Pure.
///
/// 1. Nothing there: a DELETE is delivered; an edit that started from nothing is sent again; else it can't be told.
/// 2. Still the base, by validator or, without one, by bytes: sent again.
/// 3. Moved on, and what the edit set is there: delivered.
/// 4. All else can't be told: a conflict, whatever the policy.
package enum Verifier {
    package enum Verdict: Sendable, Hashable { case sendAgain, delivered, undecided }

    /// Bytes that the decision may need, read before. nil where they are none, too large or not there.
    package struct Bytes: Sendable {
        package var sent: [UInt8]?
        package var base: [UInt8]?
        package var seen: [UInt8]?

        package init(sent: [UInt8]? = nil, base: [UInt8]? = nil, seen: [UInt8]? = nil) {
            self.sent = sent
            self.base = base
            self.seen = seen
        }
    }

    package static func judge(_ operation: Operation, _ seen: Sighting, bytes: Bytes) -> Verdict {
        let knewNothing = startedFromNothing(operation)
        if seen.isGone {
            if operation.method == .delete { return .delivered }
            return knewNothing ? .sendAgain : .undecided
        }
        if !knewNothing, isStillBase(operation.base, seen) { return .sendAgain }
        if operation.method == .delete {
            // Without a base, a target that is still there shows no trace of the DELETE.
            return knewNothing ? .sendAgain : .undecided
        }
        return holds(operation, seen, bytes: bytes) ? .delivered : .undecided
    }

    /// Whether the edit had no version of the target to start from.
    package static func startedFromNothing(_ operation: Operation) -> Bool {
        if case .ifNoneMatch = operation.precondition { return true }
        return operation.base.etag == nil && operation.base.lastModified == nil && operation.base.content == nil
    }

    package static func isStillBase(_ base: Base, _ seen: Sighting) -> Bool {
        if let one = base.etag, let other = seen.etag { return EncodedTag.same(one, other) }
        if let content = base.content { return content == seen.content }
        return base.lastModified != nil && base.lastModified == seen.lastModified
    }

    /// Whether the target shows everything that the edit set; for content that is no JSON object, the same bytes.
    package static func holds(_ operation: Operation, _ seen: Sighting, bytes: Bytes) -> Bool {
        guard let sent = bytes.sent.flatMap({ try? JSONValue(parsing: $0) }),
            let target = bytes.seen.flatMap({ try? JSONValue(parsing: $0) })
        else { return isSameContent(operation, seen) }
        let base = bytes.base.flatMap { try? JSONValue(parsing: $0) }
        // What takes the place of a patch whose target is gone is sent as a PUT.
        let method = operation.precondition == .ifNoneMatch("*") ? .put : operation.method
        return EditTrace.of(method, type: operation.fields["Content-Type"], sent: sent, base: base)?
            .isLeft(in: target) ?? false
    }

    private static func isSameContent(_ operation: Operation, _ seen: Sighting) -> Bool {
        operation.method == .put && operation.body.map { $0 == seen.content } ?? (seen.content.length == 0)
    }
}
