/// A configuration that can't be used: names the source, the key and what is allowed.
package struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
