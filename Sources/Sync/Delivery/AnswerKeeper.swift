package import CacheCore
package import HTTPModel

/// Reads answers into the store, as a whole or up to what a record needs.
package struct AnswerKeeper: Sendable {
    /// Bytes of a refused write's answer that are kept.
    package static let recordLimit = 64 << 10

    private let store: any Store
    private let settings: Settings
    private let target: Target

    /// `target`: what the answers are about.
    package init(_ context: DeliveryContext, at target: Target) {
        store = context.store
        settings = context.settings.current
        self.target = target
    }

    /// Why a body could not be kept.
    package enum Failure: Error, Sendable {
        /// It ended early.
        case cut
        case store(StoreError)
    }

    /// End-to-end fields without secrets: what is kept of an answer.
    package func keptFields(_ fields: HTTPFields) -> HTTPFields {
        var kept = Secrets.removed(from: fields, settings: settings)
        HopByHop.remove(from: &kept)
        return kept
    }

    /// The whole body, in constant memory.
    package func whole(_ response: OriginResponse, for purpose: ContentPurpose) async throws(Failure) -> Content {
        if response.whole?.isEmpty ?? false { return .empty }
        let length = response.fields["Content-Length"].flatMap { Int64($0) }
        let writer: any BodyWriter
        do throws(StoreError) {
            writer = try await store.makeBody(for: purpose, at: target, length: length)
        } catch {
            response.body.cancel()
            throw .store(error)
        }
        do {
            while let piece = try await response.body.next() { try await writer.append(piece) }
        } catch let error as StoreError {
            writer.discard()
            response.body.cancel()
            throw .store(error)
        } catch {
            writer.discard()
            throw .cut
        }
        do throws(StoreError) {
            return try await writer.finish()
        } catch {
            throw .store(error)
        }
    }

    /// The answer for a record: at most `recordLimit` bytes of its body, none where they can't be had.
    package func record(_ response: OriginResponse) async -> KeptAnswer {
        var bytes: [UInt8] = []
        while bytes.count < Self.recordLimit, let piece = try? await response.body.next() { bytes += piece }
        response.body.cancel()
        let content =
            bytes.isEmpty
            ? nil : try? await store.makeContent(Array(bytes.prefix(Self.recordLimit)), for: .operation, at: target)
        return KeptAnswer(status: response.status, fields: keptFields(response.fields), content: content)
    }
}
