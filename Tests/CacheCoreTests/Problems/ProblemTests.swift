import CacheCore
import HTTPModel
import Testing

@Suite struct `Problems` {
    @Test func `Every 401 names a scheme, and nothing else does`() {
        for code in ProblemCode.allCases {
            let problem = Problem(code, "")
            #expect(problem.fields.contains("WWW-Authenticate") == (problem.status == 401), "\(code)")
        }
    }
}
