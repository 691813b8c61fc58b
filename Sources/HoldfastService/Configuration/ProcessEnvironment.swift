import CProcess

/// The environment that the process was started with.
enum ProcessEnvironment {
    static var all: [String: String] {
        var all: [String: String] = [:]
        guard var next = hl_environment() else { return all }
        while let line = next.pointee {
            let text = String(cString: line)
            if let equals = text.firstIndex(of: "=") {
                all[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            next += 1
        }
        return all
    }
}
