import CacheCore
import HTTPModel

/// A server copy with the fields that a test names, received at `at` (seconds since 1970).
func makeCopy(
    _ fields: HTTPFields, status: Int = 200, at: Double = 1000, delay: Double = 0, selecting: [HTTPField] = [],
    isExpired: Bool = false, isListed: Bool = false, explicitOnly: Bool = false, epoch: Int64 = 1
) -> ServerCopy {
    ServerCopy(
        status: status, fields: fields, content: .empty, requestTime: at - delay, responseTime: at,
        selecting: selecting, isExpired: isExpired, isListed: isListed, explicitFreshnessOnly: explicitOnly,
        epoch: epoch)
}

func date(_ seconds: Double) -> String { HTTPDate(seconds).text }

extension Policy {
    init(_ change: (inout Policy) -> Void) {
        self.init()
        change(&self)
    }
}
