import CacheCore

extension Action {
    var record: [UInt8] {
        var writer = RecordWriter()
        writer.write(id)
        writer.write(request.json().bytes)
        writer.write(partition.text)
        writer.write(partitions) { writer, partitions in writer.write(partitions) { $0.write($1.text) } }
        writer.write(stores) { $0.write($1) }
        writer.write(createdAt)
        writer.write(state)
        writer.write(completion)
        for number in [
            progress.done, progress.bytes, progress.fetched, progress.failed, progress.pinned, progress.damaged,
            progress.repaired,
        ] { writer.write(number) }
        writer.write(progress.total)
        writer.write(progress.position)
        writer.write(startedAt)
        writer.write(finishedAt)
        writer.write(executionTime)
        writer.write(starts)
        writer.write(problem) { writer, problem in
            writer.write(problem.code)
            writer.write(problem.detail)
        }
        writer.write(progress.withoutCredential)
        return writer.bytes
    }

    init(record: [UInt8]) throws(RecordError) {
        var reader = try RecordReader(record)
        let id = try reader.text()
        let json = try reader.blob()
        guard let request = try? ActionRequest(json: JSONValue(parsing: json)) else { throw RecordError() }
        let partition = try reader.partition()
        let partitions = try reader.optional { (reader) throws(RecordError) in
            try reader.list { (reader) throws(RecordError) in try reader.partition() }
        }
        self.init(
            id: id, request: request, partition: partition, partitions: partitions,
            stores: try reader.list { (reader) throws(RecordError) in try reader.text() },
            createdAt: try reader.real())
        state = try reader.constant()
        completion = try reader.constant()
        progress.done = try reader.integer64()
        progress.bytes = try reader.integer64()
        progress.fetched = try reader.integer64()
        progress.failed = try reader.integer64()
        progress.pinned = try reader.integer64()
        progress.damaged = try reader.integer64()
        progress.repaired = try reader.integer64()
        progress.total = try reader.optional { (reader) throws(RecordError) in try reader.integer64() }
        progress.position = try reader.optionalText()
        startedAt = try reader.optional { (reader) throws(RecordError) in try reader.real() }
        finishedAt = try reader.optional { (reader) throws(RecordError) in try reader.real() }
        executionTime = try reader.real()
        starts = try reader.integer()
        problem = try reader.optional { (reader) throws(RecordError) in
            ActionProblem(try reader.constant(), try reader.text())
        }
        // Databases before version 11 end here.
        if !reader.isAtEnd { progress.withoutCredential = try reader.integer64() }
        guard reader.isAtEnd else { throw RecordError() }
    }
}
