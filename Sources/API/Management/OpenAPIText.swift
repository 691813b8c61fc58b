/// openapi.yaml, word for word.
enum OpenAPIText {
    static let yaml = ##"""
        openapi: 3.1.0
        info: {title: Holdfast, version: "1"}
        paths: {}

        """##
}
