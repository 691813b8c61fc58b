// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// For the product: the libraries of Swift's regular expressions, which nothing of it uses, would take 1 MiB at rest.
let lean: [SwiftSetting] =
    strict + [.unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])]

/// For the adapters, which touch C: every unsafe expression is marked.
let strictAtC: [SwiftSetting] = lean + [.strictMemorySafety()]

let package = Package(
    name: "holdfast",
    products: [
        .executable(name: "holdfast", targets: ["holdfast"])
    ],
    targets: [
        // C at the edge
        .target(
            name: "CEventHTTP",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])],
            linkerSettings: [.linkedLibrary("event_core"), .linkedLibrary("event_pthreads")]
        ),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

        .systemLibrary(name: "CProcess"),

        // What is served as it lies here; C, whose compiler embeds files.
        .target(
            name: "CPages",
            exclude: ["index.html", "style.css", "app.js", "document.js", "conflict.js", "events.js"],
            cSettings: [.unsafeFlags(["-std=c23", "-Wall", "-Wextra", "-Werror"])]),

        // pure
        .target(name: "HTTPModel", swiftSettings: lean),
        .target(name: "CacheCore", dependencies: ["HTTPModel"], swiftSettings: lean),

        // adapters
        .target(
            name: "EventServer", dependencies: ["CEventHTTP", "CacheCore", "HTTPModel"], swiftSettings: strictAtC),
        .target(
            name: "Storage", dependencies: ["CSQLite", "CCrypto", "CacheCore", "HTTPModel"], swiftSettings: strictAtC),
        .target(
            name: "OriginClient", dependencies: ["CCurl", "CacheCore", "HTTPModel"], swiftSettings: strictAtC),

        // the service
        .target(name: "Sync", dependencies: ["CacheCore", "HTTPModel"], swiftSettings: lean),
        .target(
            name: "API", dependencies: ["CPages", "CacheCore", "HTTPModel"], swiftSettings: lean),
        .target(
            name: "HoldfastService",
            dependencies: [
                "API", "Sync", "EventServer", "Storage", "OriginClient", "CProcess", "CacheCore", "HTTPModel",
            ],
            swiftSettings: lean),
        .executableTarget(name: "holdfast", dependencies: ["HoldfastService"], swiftSettings: lean),

        // tests
        .target(
            name: "TestSupport", dependencies: ["CacheCore", "HTTPModel"], path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(name: "HTTPModelTests", dependencies: ["HTTPModel", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "CacheCoreTests", dependencies: ["CacheCore", "HTTPModel", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "EventServerTests", dependencies: ["EventServer", "CacheCore", "HTTPModel", "TestSupport"],
            swiftSettings: strict),
        // Stands between the tests and the kernel; the release binary meets it by LD_PRELOAD. Nothing of the product knows it.
        .target(name: "Faults", path: "Tests/Faults", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
        .testTarget(
            name: "StorageTests", dependencies: ["Storage", "CacheCore", "HTTPModel", "TestSupport", "Faults"],
            exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "OriginClientTests",
            dependencies: ["OriginClient", "CacheCore", "HTTPModel", "TestSupport", "Faults"], swiftSettings: strict),
        .testTarget(
            name: "SyncTests", dependencies: ["Sync", "CacheCore", "HTTPModel", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "APITests", dependencies: ["API", "CacheCore", "HTTPModel", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "HoldfastServiceTests",
            dependencies: ["HoldfastService", "CacheCore", "HTTPModel", "TestSupport"], swiftSettings: strict),
    ]
)

// The thread sanitizer sees a contended Mutex handed over only with this target linked; Tests/SanitizedMutex says why.
if Context.environment["HOLDFAST_THREAD_SANITIZER"] != nil {
    package.targets.append(
        .target(
            name: "SanitizedMutex", path: "Tests/SanitizedMutex",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]))
    for target in package.targets where target.name == "HTTPModel" {
        target.dependencies.append("SanitizedMutex")
    }
}

// scripts/fuzz builds it with the fuzzer's instrumentation and runs it with its driver.
if Context.environment["HOLDFAST_FUZZ"] != nil {
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "DecoderFuzz", dependencies: ["CFuzzer", "HoldfastService", "CacheCore", "HTTPModel"],
            path: "Tests/Fuzz/Decoders", swiftSettings: strict),
    ]
}
