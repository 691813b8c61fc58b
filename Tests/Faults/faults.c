// Stands between a program and the kernel: makes chosen system calls fail or the process end, and notes what was written and what
// was put on disk. Linked into a test, or loaded into the release binary by LD_PRELOAD; then the rules are in the file that
// HOLDFAST_FAULTS names, read anew whenever another file has its place.
//
// The calls are the kernel's own, not libc's, so that nothing here can meet itself.

#define _GNU_SOURCE
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_RULES = 64, PATH_LENGTH = 1024 };
/// What becomes of a call; above 0: it fails with that error.
enum { PASSES = 0, SHORT = -1, ENDS_AFTER = -2, ENDS_BEFORE = -3 };

struct rule {
    char call[16], part[256];
    int what;
    long skip, times;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // guards the rules
static struct rule rules[MOST_RULES];
static atomic_int rule_count;
static atomic_long met;

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;  // held over a call and its record
static atomic_int journal = -1;
static char recorded[PATH_LENGTH];

// MARK: Rules

static int number_of(const char *name) {
    static const struct {
        const char *name;
        int number;
    } known[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},   {"EMFILE", EMFILE}, {"EROFS", EROFS},
                 {"EACCES", EACCES}, {"ENOENT", ENOENT}, {"EINTR", EINTR}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN},
                 {"short", SHORT},   {"killed", ENDS_AFTER}, {"kill", ENDS_BEFORE}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].number;
    fprintf(stderr, "faults: unknown: %s\n", name);
    abort();
}

void faults_set(const char *text) {
    pthread_mutex_lock(&lock);
    int count = 0;
    while (*text && count < MOST_RULES) {
        struct rule rule = {.times = -1};
        char what[16];
        if (sscanf(text, "%15s %255s %15s %ld %ld", rule.call, rule.part, what, &rule.skip, &rule.times) >= 3) {
            rule.what = number_of(what);
            rules[count++] = rule;
        }
        const char *end = strchr(text, '\n');
        text = end ? end + 1 : text + strlen(text);
    }
    rule_count = count;
    met = 0;
    pthread_mutex_unlock(&lock);
}

long faults_met(void) { return met; }

static const char *control;

__attribute__((constructor)) static void find_control(void) { control = getenv("HOLDFAST_FAULTS"); }

/// Takes the rules over where another file has come.
static void refresh(void) {
    static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
    static ino_t seen;
    struct stat status;
    if (!control || stat(control, &status) != 0) return;
    pthread_mutex_lock(&reading);
    if (status.st_ino != seen) {
        seen = status.st_ino;
        char text[8192];
        int file = (int)syscall(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC);
        long length = file < 0 ? 0 : syscall(SYS_read, file, text, sizeof text - 1);
        if (file >= 0) syscall(SYS_close, file);
        text[length > 0 ? length : 0] = 0;
        faults_set(text);
    }
    pthread_mutex_unlock(&reading);
}

static void end(const char *when, const char *call, const char *path) {
    char text[PATH_LENGTH + 64];
    int length = snprintf(text, sizeof text, "faults: ended %s %s %s\n", when, call, path);
    syscall(SYS_write, 2, text, length);
    syscall(SYS_kill, getpid(), SIGKILL);
    while (true) pause();
}

/// What is to become of a call.
static int judge(const char *call, const char *path) {
    int what = PASSES;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < rule_count && what == PASSES; i++) {
        struct rule *rule = &rules[i];
        if (strcmp(rule->call, call) != 0 || !strstr(path, rule->part) || rule->times == 0) continue;
        if (rule->skip > 0) {
            rule->skip--;
            continue;
        }
        if (rule->times > 0) rule->times--;
        what = rule->what;
        met++;
    }
    pthread_mutex_unlock(&lock);
    if (what == ENDS_BEFORE) end("before", call, path);
    return what;
}

static bool is_watching(void) {
    if (control) refresh();
    return rule_count > 0 || journal >= 0;
}

static void path_of(int descriptor, char path[PATH_LENGTH]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_LENGTH - 1);
    path[length > 0 ? length : 0] = 0;
}

// MARK: The journal

static void note(const char *kind, ino_t inode, long long offset, const char *path, const void *bytes, size_t length) {
    char head[PATH_LENGTH + 128];
    int count = snprintf(head, sizeof head, "%s %lu %lld %zu %s\n", kind, (unsigned long)inode, offset, length, path);
    struct iovec parts[] = {{head, (size_t)count}, {(void *)bytes, length}};
    if (syscall(SYS_writev, journal, parts, 2) != (long)(count + length)) abort();
}

/// Whether changes of a path are recorded. The index of a log is made anew from the log.
static bool is_recorded(const char *path) {
    size_t length = strlen(path);
    return journal >= 0 && strncmp(path, recorded, strlen(recorded)) == 0 &&
           !(length > 4 && strcmp(path + length - 4, "-shm") == 0);
}

static ino_t inode_of(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

void faults_record(const char *folder, const char *path) {
    pthread_mutex_lock(&order);
    if (journal >= 0) syscall(SYS_close, journal);
    journal = -1;
    if (folder) {
        snprintf(recorded, sizeof recorded, "%s", folder);
        journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    pthread_mutex_unlock(&order);
}

void faults_mark(long number) {
    pthread_mutex_lock(&order);
    if (journal >= 0) note("mark", 0, number, "-", NULL, 0);
    pthread_mutex_unlock(&order);
}

// MARK: Opening

static int open_file(const char *path, int flags, mode_t mode) {
    if (!is_watching()) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    // Of two threads that open a file which is not there yet, one makes it.
    pthread_mutex_lock(&order);
    bool is_new = flags & O_CREAT && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
    int what = judge("open", path);
    if (what == PASSES && is_new) what = judge("create", path);
    if (what == PASSES && !is_new && (flags & O_ACCMODE) != O_RDONLY) what = judge("change", path);
    if (what > 0) {
        pthread_mutex_unlock(&order);
        errno = what;
        return -1;
    }
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    int error = errno;
    if (file >= 0 && is_recorded(path)) {
        if (is_new) note("create", inode_of(file), 0, path, NULL, 0);
        else if (flags & O_TRUNC) note("truncate", inode_of(file), 0, path, NULL, 0);
    }
    pthread_mutex_unlock(&order);
    if (what == ENDS_AFTER) end("after", "open", path);
    errno = error;
    return file;
}

#define OPENS(name)                                     \
    int name(const char *path, int flags, ...) {        \
        mode_t mode = 0;                                \
        if (flags & (O_CREAT | __O_TMPFILE)) {          \
            va_list more;                               \
            va_start(more, flags);                      \
            mode = (mode_t)va_arg(more, unsigned);      \
            va_end(more);                               \
        }                                               \
        return open_file(path, flags, mode);            \
    }
OPENS(open)
OPENS(open64)

// MARK: Reading and writing

static ssize_t read_at(int descriptor, void *bytes, size_t count, off_t offset) {
    if (is_watching()) {
        char path[PATH_LENGTH];
        path_of(descriptor, path);
        int what = judge("read", path);
        if (what > 0) {
            errno = what;
            return -1;
        }
    }
    return syscall(SYS_pread64, descriptor, bytes, count, offset);
}
ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) { return read_at(descriptor, bytes, count, offset); }
ssize_t pread64(int descriptor, void *bytes, size_t count, off_t offset) { return read_at(descriptor, bytes, count, offset); }

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (!is_watching()) return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    char path[PATH_LENGTH];
    path_of(descriptor, path);
    int what = judge("write", path);
    if (what > 0) {
        errno = what;
        return -1;
    }
    if (what == SHORT && count > 1) count = 1;
    pthread_mutex_lock(&order);
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    int error = errno;
    if (written > 0 && is_recorded(path)) note("write", inode_of(descriptor), offset, path, bytes, (size_t)written);
    pthread_mutex_unlock(&order);
    if (what == ENDS_AFTER) end("after", "write", path);
    errno = error;
    return written;
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return write_at(descriptor, bytes, count, offset);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
    return write_at(descriptor, bytes, count, offset);
}

static int cut(int descriptor, off_t length) {
    if (!is_watching()) return (int)syscall(SYS_ftruncate, descriptor, length);
    char path[PATH_LENGTH];
    path_of(descriptor, path);
    int what = judge("truncate", path);
    if (what > 0) {
        errno = what;
        return -1;
    }
    pthread_mutex_lock(&order);
    int result = (int)syscall(SYS_ftruncate, descriptor, length);
    int error = errno;
    if (result == 0 && is_recorded(path)) note("truncate", inode_of(descriptor), length, path, NULL, 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return result;
}
int ftruncate(int descriptor, off_t length) { return cut(descriptor, length); }
int ftruncate64(int descriptor, off_t length) { return cut(descriptor, length); }

// MARK: Synchronising

static int synchronise(long call, int descriptor) {
    if (!is_watching()) return (int)syscall(call, descriptor);
    char path[PATH_LENGTH];
    path_of(descriptor, path);
    int what = judge("sync", path);
    pthread_mutex_lock(&order);
    int result = what > 0 ? -1 : (int)syscall(call, descriptor);
    int error = what > 0 ? what : errno;
    if (is_recorded(path)) note(result == 0 ? "sync" : "unsynced", inode_of(descriptor), 0, path, NULL, 0);
    pthread_mutex_unlock(&order);
    if (what == ENDS_AFTER) end("after", "sync", path);
    errno = error;
    return result;
}
int fsync(int descriptor) { return synchronise(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return synchronise(SYS_fdatasync, descriptor); }

// MARK: Names

/// Does a call that changes names; `other` is the second one, or NULL.
static int change(const char *call, const char *kind, const char *path, const char *other, long number, long mode) {
    bool watches = is_watching();
    int what = watches ? judge(call, other ? other : path) : PASSES;
    if (what > 0) {
        errno = what;
        return -1;
    }
    if (watches) pthread_mutex_lock(&order);
    int result = other ? (int)syscall(number, AT_FDCWD, path, AT_FDCWD, other, mode)
                       : (int)syscall(number, AT_FDCWD, path, mode);
    int error = errno;
    if (watches) {
        if (result == 0 && is_recorded(path)) note(kind, 0, 0, path, other, other ? strlen(other) : 0);
        pthread_mutex_unlock(&order);
    }
    if (what == ENDS_AFTER) end("after", call, other ? other : path);
    errno = error;
    return result;
}
int rename(const char *path, const char *other) { return change("rename", "rename", path, other, SYS_renameat2, 0); }
int link(const char *path, const char *other) { return change("rename", "link", path, other, SYS_linkat, 0); }
int unlink(const char *path) { return change("unlink", "unlink", path, NULL, SYS_unlinkat, 0); }
int mkdir(const char *path, mode_t mode) { return change("create", "mkdir", path, NULL, SYS_mkdirat, mode); }

// MARK: Threads

#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
bool faults_can_forbid_threads(void) { return false; }
#else
bool faults_can_forbid_threads(void) { return true; }

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    int what = is_watching() ? judge("thread", attributes ? "attributed" : "plain") : PASSES;
    return what > 0 ? what : next(thread, attributes, run, argument);
}
#endif

// MARK: Sockets

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
    int what = is_watching() ? judge("send", "socket") : PASSES;
    if (what > 0) {
        errno = what;
        return -1;
    }
    ssize_t sent = syscall(SYS_sendto, descriptor, bytes, count, flags, NULL, 0);
    int error = errno;
    if (what == ENDS_AFTER) end("after", "send", "socket");
    errno = error;
    return sent;
}

ssize_t recv(int descriptor, void *bytes, size_t count, int flags) {
    // What has not come yet is no passing of this point.
    ssize_t taken = syscall(SYS_recvfrom, descriptor, bytes, count, flags, NULL, NULL);
    int error = errno;
    int what = taken > 0 && is_watching() ? judge("recv", "socket") : PASSES;
    if (what == ENDS_AFTER) end("after", "recv", "socket");
    errno = what > 0 ? what : error;
    return what > 0 ? -1 : taken;
}

/// Names below `.test` are this machine's.
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    if (host && is_watching() && judge("resolve", host) != PASSES) {
        sleep(3);
        return EAI_AGAIN;
    }
    const char *last = host ? strrchr(host, '.') : NULL;
    return next(last && strcmp(last, ".test") == 0 ? "127.0.0.1" : host, service, hints, found);
}
