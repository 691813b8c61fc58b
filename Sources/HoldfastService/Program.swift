import CacheCore
import EventServer
import Glibc

/// What the executable does with its arguments.
package enum Program {
    /// The version that --version and /cache tell.
    package static let version = "0.1.0"

    /// Runs to the end of the process. Its exit status is 0, 1 for a failure at start, 2 for arguments that can't be used.
    /// To be called on the main thread, before any other thread exists: that thread waits for signals from then on.
    package static func main(arguments: [String]) -> Never {
        if let lack = ThreadRoom.lack {
            write("holdfast: the threads it needs can't be had, raise the limit of processes: \(lack)\n", to: 2)
            exit(1)
        }
        DescriptorRoom.raise()
        let signals = Signals()
        Task { exit(await run(arguments, signals)) }
        signals.wait()
    }

    private static func run(_ arguments: [String], _ signals: Signals) async -> Int32 {
        let environment = ProcessEnvironment.all
        do {
            let options = try CommandLineOptions(arguments)
            switch options.mode {
            case .help:
                write(CommandLineOptions.help, to: 1)
            case .version:
                write("holdfast \(version)\n", to: 1)
            case .sampleOrigin(let address):
                return await runSample(address, signals)
            case .serve:
                let configuration = try Configuration(flags: options.values, environment: environment)
                return await serve(configuration, options, environment, signals)
            }
            return 0
        } catch {
            write("holdfast: \(error)\n", to: 2)
            return 2
        }
    }

    private static func serve(
        _ configuration: Configuration, _ options: CommandLineOptions, _ environment: [String: String],
        _ signals: Signals
    ) async -> Int32 {
        let application: Application
        do { application = try await Application(configuration) } catch {
            write("holdfast: \(error)\n", to: 2)
            return 1
        }
        for await signal in signals.stream {
            switch signal {
            case SIGHUP:
                application.reload { () throws(ConfigurationError) in
                    try Configuration(flags: options.values, environment: environment)
                }
            case SIGUSR1: await application.saveInBackground()
            default:
                await application.stop()
                return 0
            }
        }
        return 0
    }

    private static func runSample(_ address: String, _ signals: Signals) async -> Int32 {
        do {
            let server = EventServer(
                listeners: [try ListenAddress(parsing: address)], threads: 1, limits: ServerLimits(),
                handler: SampleOrigin())
            try server.start()
            write("sample origin on \(server.boundAddresses[0])\n", to: 2)
            for await signal in signals.stream where signal == SIGTERM || signal == SIGINT { break }
            await server.stop(deadline: 1)
            return 0
        } catch {
            write("holdfast: \(error)\n", to: 2)
            return 1
        }
    }

    private static func write(_ text: String, to descriptor: Int32) {
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
