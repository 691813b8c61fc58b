import HTTPModel

/// The parameters of a query, decoded as forms send them, in order.
package struct QueryParameters: Sendable, Hashable {
    private let items: [QueryParameter]

    /// Takes the text after the `?`; nil and "" give none.
    package init(_ query: Substring?) { items = query.map { QueryParameter.split($0) } ?? [] }

    /// Names in order, repeated ones included.
    package var names: [String] { items.map(\.name) }

    /// The first value of that name.
    package subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// Every value of that name, in order.
    package func values(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }
}
