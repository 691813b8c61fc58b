import Glibc
import HoldfastService

@main
enum Holdfast {
    static func main() async {
        exit(await Program.run(arguments: Array(CommandLine.arguments.dropFirst())))
    }
}
