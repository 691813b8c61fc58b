import Glibc

/// How many descriptors the process may have open: one for each connection of a client, and more for what it asks for.
enum DescriptorRoom {
    /// Raises the limit that is in force to the highest that the system allows. It stands at 1024 mostly, for programs that use
    /// select(2), which nothing here does.
    static func raise() {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(kind, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(kind, &limit)
    }
}
