import HoldfastService

@main
enum Holdfast {
    static func main() {
        Program.main(arguments: Array(CommandLine.arguments.dropFirst()))
    }
}
