/// Why a JSON Patch can't be read or applied.
package struct JSONPatchError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// The patch is not one (RFC 6902 3 and 4).
        case malformed
        /// The document is not as the patch expects: a target is missing or a test failed.
        case failed
        /// The result would be too large or nested too deeply.
        case tooLarge
    }

    package var kind: Kind
    /// Index of the operation; nil where the patch as a whole is wrong.
    package var index: Int?
    /// What is wrong, without the index.
    package var reason: String

    package init(_ kind: Kind, index: Int?, reason: String) {
        self.kind = kind
        self.index = index
        self.reason = reason
    }

    /// For people, e.g. `operation 2: nothing is at /a/b`.
    package var description: String { index.map { "operation \($0): \(reason)" } ?? reason }
}

/// JSON Patch (RFC 6902). Applies as a whole or not at all.
package struct JSONPatch: Sendable, Hashable {
    /// One change, in the terms of RFC 6902 4.
    package enum Operation: Sendable, Hashable {
        case add(JSONPointer, JSONValue)
        case remove(JSONPointer)
        case replace(JSONPointer, JSONValue)
        case move(from: JSONPointer, to: JSONPointer)
        case copy(from: JSONPointer, to: JSONPointer)
        case test(JSONPointer, JSONValue)
    }

    package var operations: [Operation]

    package init(_ operations: [Operation]) { self.operations = operations }

    /// Reads a patch document. Members that an operation does not need are passed over.
    package init(_ document: JSONValue) throws(JSONPatchError) {
        guard let elements = document.array else {
            throw JSONPatchError(.malformed, index: nil, reason: "a JSON Patch is an array of operations")
        }
        operations = []
        operations.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            operations.append(try Self.operation(element, index))
        }
    }

    private static func operation(_ element: JSONValue, _ index: Int) throws(JSONPatchError) -> Operation {
        guard let name = element["op"]?.string else {
            throw JSONPatchError(.malformed, index: index, reason: "\"op\" is missing")
        }
        func pointer(_ member: String) throws(JSONPatchError) -> JSONPointer {
            guard let text = element[member]?.string, let pointer = JSONPointer(text) else {
                throw JSONPatchError(.malformed, index: index, reason: "\"\(member)\" must be a JSON Pointer")
            }
            return pointer
        }
        func value() throws(JSONPatchError) -> JSONValue {
            guard let value = element["value"] else {
                throw JSONPatchError(.malformed, index: index, reason: "\"value\" is missing")
            }
            return value
        }
        switch name {
        case "add": return .add(try pointer("path"), try value())
        case "remove": return .remove(try pointer("path"))
        case "replace": return .replace(try pointer("path"), try value())
        case "move": return .move(from: try pointer("from"), to: try pointer("path"))
        case "copy": return .copy(from: try pointer("from"), to: try pointer("path"))
        case "test": return .test(try pointer("path"), try value())
        default: throw JSONPatchError(.malformed, index: index, reason: "\"\(name)\" is no operation")
        }
    }

    /// The document with all operations applied in order. Since `copy` can double a document each time, what is copied may
    /// not exceed `copyLimit` bytes in sum. `stepLimit`: members and elements on the ways of all operations, each of which is
    /// perhaps looked at or moved; what is allowed takes about half a second.
    package func apply(
        to document: JSONValue, copyLimit: Int = 16 << 20, stepLimit: Int = 50_000_000
    ) throws(JSONPatchError) -> JSONValue {
        var applier = JSONPatchApplier(document: document, copyLimit: copyLimit, stepLimit: stepLimit)
        for (index, operation) in operations.enumerated() {
            applier.index = index
            try applier.apply(operation)
        }
        return applier.document
    }
}

private struct JSONPatchApplier {
    var document: JSONValue
    var copyLimit: Int
    var stepLimit: Int
    var index = 0

    init(document: JSONValue, copyLimit: Int, stepLimit: Int) {
        self.document = document
        self.copyLimit = copyLimit
        self.stepLimit = stepLimit
    }

    mutating func apply(_ operation: JSONPatch.Operation) throws(JSONPatchError) {
        try countSteps(to: operation.places)
        switch operation {
        case .add(let path, let value): try insert(value, path)
        case .remove(let path): _ = try remove(path)
        case .replace(let path, let value):
            try checkDepth(of: value, at: path)
            guard path.value(in: document) != nil, path.set(value, in: &document) else { throw nothing(at: path) }
        case .move(let from, let to):
            if from.tokens == to.tokens {
                guard from.value(in: document) != nil else { throw nothing(at: from) }
                return
            }
            guard !to.tokens.starts(with: from.tokens) else {
                throw failed("\(from.text) can't move into itself")
            }
            try insert(try remove(from), to)
        case .copy(let from, let to):
            guard let value = from.value(in: document) else { throw nothing(at: from) }
            copyLimit -= value.size(upTo: copyLimit)
            guard copyLimit > 0 else {
                throw JSONPatchError(.tooLarge, index: index, reason: "the patch copies too much")
            }
            try insert(value, to)
        case .test(let path, let value):
            guard let current = path.value(in: document) else { throw nothing(at: path) }
            guard current.isEquivalent(to: value) else { throw failed("the value at \"\(path.text)\" differs") }
        }
    }

    private mutating func insert(_ value: JSONValue, _ path: JSONPointer) throws(JSONPatchError) {
        try checkDepth(of: value, at: path)
        guard path.insert(value, in: &document) else { throw failed("nothing can be added at \"\(path.text)\"") }
    }

    private mutating func remove(_ path: JSONPointer) throws(JSONPatchError) -> JSONValue {
        guard let removed = path.remove(from: &document) else { throw nothing(at: path) }
        return removed
    }

    private mutating func countSteps(to places: [JSONPointer]) throws(JSONPatchError) {
        for place in places { stepLimit -= place.steps(in: document) }
        guard stepLimit >= 0 else {
            throw JSONPatchError(.tooLarge, index: index, reason: "the patch takes too many steps")
        }
    }

    private func checkDepth(of value: JSONValue, at path: JSONPointer) throws(JSONPatchError) {
        let room = JSONValue.depthLimit - path.tokens.count
        guard room >= 0, value.isNested(within: room) else {
            throw JSONPatchError(.tooLarge, index: index, reason: "the result is nested too deeply")
        }
    }

    private func nothing(at path: JSONPointer) -> JSONPatchError { failed("nothing is at \"\(path.text)\"") }

    private func failed(_ reason: String) -> JSONPatchError { JSONPatchError(.failed, index: index, reason: reason) }
}

extension JSONPatch.Operation {
    fileprivate var places: [JSONPointer] {
        switch self {
        case .add(let place, _), .remove(let place), .replace(let place, _), .test(let place, _): [place]
        case .move(let from, let to), .copy(let from, let to): [from, to]
        }
    }
}

extension JSONPointer {
    /// How many members and elements the values on the way have, as far as the way goes.
    fileprivate func steps(in document: JSONValue) -> Int {
        var steps = 0
        var value = document
        for (index, token) in tokens.enumerated() {
            switch value {
            case .object(let members): steps += members.count
            case .array(let elements): steps += elements.count
            default: return steps
            }
            guard index + 1 < tokens.count, let next = JSONPointer(tokens: [token]).value(in: value) else { break }
            value = next
        }
        return steps
    }
}

extension JSONValue {
    /// About how many bytes the value takes as text; counting stops beyond the limit.
    fileprivate func size(upTo limit: Int) -> Int {
        switch self {
        case .null, .bool: return 4
        case .number(let text), .string(let text): return text.utf8.count + 2
        case .array(let elements):
            var size = 2
            for element in elements where size <= limit { size += 1 + element.size(upTo: limit - size) }
            return size
        case .object(let members):
            var size = 2
            for member in members where size <= limit {
                size += member.name.utf8.count + 4 + member.value.size(upTo: limit - size)
            }
            return size
        }
    }

    /// Whether arrays and objects nest at most so deep.
    fileprivate func isNested(within depth: Int) -> Bool {
        switch self {
        case .array(let elements): depth > 0 && elements.allSatisfy { $0.isNested(within: depth - 1) }
        case .object(let members): depth > 0 && members.allSatisfy { $0.value.isNested(within: depth - 1) }
        default: true
        }
    }
}
