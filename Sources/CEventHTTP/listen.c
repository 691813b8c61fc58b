/* Listening sockets. */
#include "CEventHTTP.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int hl_listen_tcp(const char *host, const char *port, char *bound, size_t bound_size) {
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0 || !found) return -EADDRNOTAVAIL;
    int error = EADDRNOTAVAIL, descriptor = -1;
    for (struct addrinfo *a = found; a && descriptor < 0; a = a->ai_next) {
        int one = 1;
        descriptor = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
        if (descriptor < 0) {
            error = errno;
            continue;
        }
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(descriptor, a->ai_addr, a->ai_addrlen) != 0 || listen(descriptor, 1024) != 0) {
            error = errno;
            close(descriptor);
            descriptor = -1;
        }
    }
    freeaddrinfo(found);
    if (descriptor < 0) return -error;
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char name[INET6_ADDRSTRLEN + 1] = "", number[8] = "";
    if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) {
        error = errno;
        close(descriptor);
        return -error;
    }
    getnameinfo((struct sockaddr *)&address, size, name, sizeof name, number, sizeof number,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(bound, bound_size, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", name, number);
    return descriptor;
}

int hl_listen_unix(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    /* Anything else that has the name is somebody's: it stays. */
    struct stat there;
    if (lstat(path, &there) == 0 && !S_ISSOCK(there.st_mode)) return -ENOTSOCK;
    /* A socket that nobody listens on is left from before. */
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return -errno;
    int in_use = connect(probe, (struct sockaddr *)&address, sizeof address) == 0;
    int stale = !in_use && errno == ECONNREFUSED;
    close(probe);
    if (in_use) return -EADDRINUSE;
    if (stale) unlink(path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    mode_t old = umask(0177);
    int failed = bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0;
    int error = errno;
    umask(old);
    if (!failed && listen(descriptor, 1024) != 0) {
        failed = 1;
        error = errno;
    }
    if (failed) {
        close(descriptor);
        return -error;
    }
    return descriptor;
}
