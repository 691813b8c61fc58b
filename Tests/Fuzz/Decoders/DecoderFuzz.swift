import CFuzzer
import Glibc

/// What HOLDFAST_FUZZ_DECODER may name: a decoder of what clients, the origin, operators or files say, and the properties that
/// hold whatever the bytes are. scripts/fuzz builds and runs it.
private let decoders: [String: @Sendable ([UInt8]) -> Void] = [
    "ranges": judgeRanges, "structured": judgeStructuredFields, "caching": judgeCaching, "dates": judgeDates,
    "json": judgeJSON, "patches": judgePatches, "snapshots": judgeSnapshot, "configuration": judgeConfiguration,
    "targets": judgeTargets, "lists": judgeLists,
]

private let decoder: @Sendable ([UInt8]) -> Void = {
    let name = getenv("HOLDFAST_FUZZ_DECODER").map { String(cString: $0) } ?? ""
    guard let decoder = decoders[name] else {
        fatalError("HOLDFAST_FUZZ_DECODER is one of \(decoders.keys.sorted().joined(separator: ", "))")
    }
    return decoder
}()

/// libFuzzer's own name for it: its archive asks for the symbol.
@_cdecl("LLVMFuzzerTestOneInput")
func judge(_ bytes: UnsafePointer<UInt8>?, _ length: Int) -> Int32 {
    decoder(Array(UnsafeBufferPointer(start: bytes, count: length)))
    return 0
}

/// Ends the process where a property does not hold, which libFuzzer takes for a finding.
func hold(_ condition: Bool, _ property: StaticString) {
    if !condition { fatalError("\(property)") }
}

@main enum DecoderFuzz {
    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &arguments, judge))
    }
}
