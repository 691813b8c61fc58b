/*
 * Loops and connections. A connection owns memory only while a head is incomplete, a write is short, or pipelined bytes wait
 * behind an exchange; reads and answers given at once pass through two buffers of the loop.
 */
#define _GNU_SOURCE /* accept4 */
#include "CEventHTTP.h"

#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_SIZE = 65536, OUTPUT_SIZE = 131072, LOW_WATER = 65536, DRAIN_LIMIT = 65536, SWEEP_MILLISECONDS = 250 };
/* Few, so that the loops that share a listener share its connections. */
enum { ACCEPTS_A_WAKE = 4, LINGER_SECONDS = 2 };

typedef struct buffer {
    uint8_t *bytes;
    size_t start, end, capacity;
} buffer;

struct listener {
    struct event *event;
    hl_loop *loop;
    int number;
    struct listener *next;
};

struct hl_loop {
    struct event_base *base;
    struct event *wake_event;
    struct event *sweep_event;
    int wake_descriptor;
    hl_callbacks callbacks;
    void *context;
    hl_limits limits;
    int64_t *connections; /* of all loops together */
    struct listener *listeners;
    hl_connection *first;
    double now;
    int draining, accept_paused;
    buffer output;
    uint8_t input[READ_SIZE];
};

enum phase { HEAD, EXCHANGE, DISCARD, CLOSING };

struct hl_connection {
    hl_loop *loop;
    hl_connection *previous, *next;
    struct event *read_event, *write_event;
    void *exchange;
    int descriptor;
    int listener;
    uint8_t phase;
    uint8_t body_wanted, body_done, expects, chunked, notify, reading, closed_by_peer, keep_after_discard;
    uint8_t begun; /* bytes of the exchange's answer have been written */
    int64_t body_left; /* of a Content-Length body */
    int64_t body_seen; /* of a chunked one */
    hl_chunks chunks;
    double deadline;       /* 0: none */
    double write_deadline; /* 0: none */
    buffer input;          /* bytes read and not yet used */
    buffer output;         /* bytes that the socket did not take */
};

/* ---- buffers ---- */

static size_t waiting(const buffer *b) { return b->end - b->start; }

static void release(buffer *b) {
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

static void keep(buffer *b, const void *bytes, size_t length) {
    if (length == 0) return;
    if (b->start && b->start == b->end) b->start = b->end = 0;
    if (b->capacity - b->end < length) {
        size_t used = waiting(b);
        if (b->start && b->capacity >= used + length && b->start >= used) {
            memcpy(b->bytes, b->bytes + b->start, used);
        } else {
            size_t capacity = b->capacity ? b->capacity : 512;
            while (capacity < used + length) capacity *= 2;
            uint8_t *grown = malloc(capacity);
            if (!grown) abort(); /* out of memory is fatal in this one place */
            if (used) memcpy(grown, b->bytes + b->start, used);
            free(b->bytes);
            b->bytes = grown;
            b->capacity = capacity;
        }
        b->start = 0;
        b->end = used;
    }
    memcpy(b->bytes + b->end, bytes, length);
    b->end += length;
}

/* ---- connections ---- */

static void on_read(evutil_socket_t descriptor, short what, void *argument);
static void on_write(evutil_socket_t descriptor, short what, void *argument);
static void use_input(hl_connection *c);

static void want_read(hl_connection *c, int on) {
    if (c->closed_by_peer) on = 0;
    if (on == c->reading) return;
    c->reading = (uint8_t)on;
    if (on) event_add(c->read_event, NULL);
    else event_del(c->read_event);
}

/* An answer that is cut ends with a reset, never with a FIN that would make a part look like the whole. */
static void destroy(hl_connection *c, int reset) {
    hl_loop *loop = c->loop;
    if (waiting(&c->output) || (c->exchange && c->begun)) reset = 1;
    if (c->exchange) {
        void *exchange = c->exchange;
        c->exchange = NULL;
        loop->callbacks.closed(exchange);
    }
    event_free(c->read_event);
    event_free(c->write_event);
    if (reset) {
        struct linger linger = {1, 0};
        setsockopt(c->descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    close(c->descriptor);
    release(&c->input);
    release(&c->output);
    if (c->previous) c->previous->next = c->next;
    else loop->first = c->next;
    if (c->next) c->next->previous = c->previous;
    __atomic_fetch_sub(loop->connections, 1, __ATOMIC_RELAXED);
    free(c);
}

/* Sends what it can; -1 where the connection is broken (not yet destroyed). */
static int send_now(hl_connection *c, const uint8_t *bytes, size_t length, size_t *sent) {
    *sent = 0;
    while (*sent < length) {
        ssize_t n = send(c->descriptor, bytes + *sent, length - *sent, MSG_NOSIGNAL);
        if (n >= 0) {
            *sent += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return 0;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

/* Sends bytes behind what waits already. -1: broken. */
static int put(hl_connection *c, const void *bytes, size_t length) {
    size_t sent = 0;
    if (waiting(&c->output) == 0) {
        if (send_now(c, bytes, length, &sent) < 0) return -1;
        if (sent == length) return 0;
        event_add(c->write_event, NULL);
        c->write_deadline = c->loop->now + c->loop->limits.write_seconds;
    }
    keep(&c->output, (const uint8_t *)bytes + sent, length - sent);
    return 0;
}

/* Sends the loop's output, where answers of this connection stand. */
static int flush_loop_output(hl_connection *c) {
    buffer *output = &c->loop->output;
    int broken = waiting(output) ? put(c, output->bytes + output->start, waiting(output)) : 0;
    output->start = output->end = 0;
    if (output->capacity > 4 * OUTPUT_SIZE) release(output);
    return broken;
}

/*
 * Closes once everything is sent; until then only the write deadline rules. The write side is shut first, so that the peer reads
 * the answer before any reset.
 */
static void close_after_output(hl_connection *c) {
    c->phase = CLOSING;
    c->deadline = 0;
    release(&c->input);
    if (waiting(&c->output) == 0) {
        c->deadline = c->loop->now + LINGER_SECONDS;
        shutdown(c->descriptor, SHUT_WR);
        if (c->closed_by_peer) {
            destroy(c, 0);
            return;
        }
        want_read(c, 1);
    } else {
        want_read(c, 0);
    }
}

static void refuse(hl_connection *c, int status, const char *reason) {
    c->loop->callbacks.refuse(c->loop->context, status, reason);
    if (flush_loop_output(c) < 0) destroy(c, 0);
    else close_after_output(c);
}

/* The deadline between and within heads. None runs while an answer moves: that time is the client's, up to the write deadline. */
static void await_head(hl_connection *c) {
    hl_loop *loop = c->loop;
    if (waiting(&c->output)) c->deadline = 0;
    else c->deadline = loop->now + (waiting(&c->input) ? loop->limits.head_seconds : loop->limits.idle_seconds);
}

/* Gives body pieces from the kept input for as long as one is wanted. The connection may be gone afterwards: -1. */
static int use_body(hl_connection *c) {
    hl_loop *loop = c->loop;
    while (c->body_wanted && c->exchange) {
        if (c->body_done) {
            c->body_wanted = 0;
            loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_END);
            return 0;
        }
        size_t have = waiting(&c->input);
        if (have == 0) {
            if (c->closed_by_peer) {
                c->body_wanted = 0;
                loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_MALFORMED);
                return 0;
            }
            c->deadline = loop->now + loop->limits.body_seconds;
            want_read(c, 1);
            return 0;
        }
        const uint8_t *at = c->input.bytes + c->input.start;
        const uint8_t *piece = NULL;
        size_t length = 0;
        if (c->chunked) {
            int done = 0;
            long used = hl_chunks_decode(&c->chunks, at, have, &piece, &length, &done);
            if (used < 0) {
                c->body_wanted = 0;
                c->body_done = 1;
                c->chunked = 2; /* the rest of the connection can't be used */
                loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_MALFORMED);
                return 0;
            }
            c->input.start += (size_t)used;
            c->body_seen += (int64_t)length;
            c->body_done = (uint8_t)done;
            if (c->body_seen > loop->limits.body) {
                c->body_wanted = 0;
                loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_TOO_LARGE);
                return 0;
            }
        } else {
            piece = at;
            length = have < (uint64_t)c->body_left ? have : (size_t)c->body_left;
            c->input.start += length;
            c->body_left -= (int64_t)length;
            c->body_done = c->body_left == 0;
        }
        if (length) {
            c->body_wanted = 0;
            loop->callbacks.body(c->exchange, piece, length, HL_BODY_MORE);
            /* The callback copies and never frees this connection. */
        }
    }
    return 0;
}

/* Parses and answers what stands in `bytes` in phase HEAD; keeps the rest. */
static void use_heads(hl_connection *c, const uint8_t *bytes, size_t length) {
    hl_loop *loop = c->loop;
    hl_request request;
    size_t at = 0;
    int close_now = 0;
    while (at < length) {
        const char *reason = NULL;
        long head = hl_parse_head(bytes + at, length - at, &loop->limits, &request, &reason);
        if (head == 0) break;
        if (head < 0) {
            refuse(c, (int)-head, reason);
            return;
        }
        at += (size_t)head;
        c->chunked = request.chunked;
        c->body_left = request.content_length;
        c->body_seen = 0;
        c->body_done = !request.chunked && request.content_length == 0;
        c->expects = request.expects_continue && !c->body_done;
        c->body_wanted = 0;
        c->begun = 0;
        memset(&c->chunks, 0, sizeof c->chunks);
        /* Bytes behind this head have to outlive the callback; the answer at once needs none of it. */
        int answer = loop->callbacks.request(loop->context, c, &request, c->listener, loop->now);
        if (answer == HL_ANSWERED) {
            if (loop->draining) {
                close_now = 1;
                break;
            }
            if (waiting(&loop->output) >= OUTPUT_SIZE && flush_loop_output(c) < 0) {
                destroy(c, 0);
                return;
            }
            /* A client that does not read what it asked for waits with its further requests. */
            if (waiting(&c->output) > OUTPUT_SIZE) break;
            continue;
        }
        /* An exchange is attached. */
        if (flush_loop_output(c) < 0) {
            destroy(c, 0);
            return;
        }
        c->phase = EXCHANGE;
        c->deadline = 0;
        break;
    }
    if (c->phase == HEAD && flush_loop_output(c) < 0) {
        destroy(c, 0);
        return;
    }
    /* Keep what is left; `bytes` may be the kept input itself. */
    if (bytes == loop->input) keep(&c->input, bytes + at, length - at);
    else c->input.start += at;
    if (waiting(&c->input) == 0) release(&c->input);
    if (close_now) {
        close_after_output(c);
        return;
    }
    if (c->phase == HEAD) {
        /* That of an incomplete head runs since its first byte. */
        if (at > 0 || waiting(&c->output) || !waiting(&c->input)) await_head(c);
        if (c->closed_by_peer) close_after_output(c);
        else want_read(c, waiting(&c->output) <= OUTPUT_SIZE);
    } else {
        /* One look at the socket stays armed to see a reset, unless bytes wait already. */
        want_read(c, waiting(&c->input) == 0);
        if (c->body_wanted) use_body(c);
    }
}

/* Goes on with kept input after an exchange, a discard or a drained output. */
static void use_input(hl_connection *c) {
    if (waiting(&c->input) == 0) release(&c->input);
    if (c->phase == HEAD) {
        if (c->loop->draining) {
            close_after_output(c);
        } else if (waiting(&c->input)) {
            use_heads(c, c->input.bytes + c->input.start, waiting(&c->input));
        } else if (c->closed_by_peer) {
            close_after_output(c);
        } else {
            await_head(c);
            want_read(c, waiting(&c->output) <= OUTPUT_SIZE);
        }
    } else if (c->phase == EXCHANGE) {
        use_body(c);
    }
}

/* Reads and drops a small rest of a body nobody read, so that the connection can go on. */
static void discard(hl_connection *c) {
    while (!c->body_done && waiting(&c->input)) {
        const uint8_t *piece;
        size_t length;
        int done = 0;
        if (c->chunked) {
            long used = hl_chunks_decode(&c->chunks, c->input.bytes + c->input.start, waiting(&c->input), &piece, &length, &done);
            if (used < 0) {
                close_after_output(c);
                return;
            }
            c->input.start += (size_t)used;
            c->body_done = (uint8_t)done;
            c->body_seen += used;
        } else {
            length = waiting(&c->input) < (uint64_t)c->body_left ? waiting(&c->input) : (size_t)c->body_left;
            c->input.start += length;
            c->body_left -= (int64_t)length;
            c->body_done = c->body_left == 0;
            c->body_seen += (int64_t)length;
        }
        if (c->body_seen > DRAIN_LIMIT) {
            close_after_output(c);
            return;
        }
    }
    if (c->body_done) {
        c->phase = HEAD;
        if (c->keep_after_discard) use_input(c);
        else close_after_output(c);
    } else if (c->closed_by_peer) {
        close_after_output(c);
    } else {
        c->deadline = waiting(&c->output) ? 0 : c->loop->now + LINGER_SECONDS;
        want_read(c, 1);
    }
}

/* Whether `n` more bytes behind the kept `head` can't end it or break a limit, so that parsing it again would tell nothing. */
static int is_still_open(const hl_connection *c, size_t kept, const uint8_t *more, size_t n) {
    const hl_limits *limits = &c->loop->limits;
    if (kept < 2 || kept + n >= limits->head || memchr(more, '\n', n)) return 0;
    return kept + n <= limits->line || memchr(c->input.bytes + c->input.start + 2, '\n', kept - 2);
}

static void on_read(evutil_socket_t descriptor, short what, void *argument) {
    (void)descriptor;
    (void)what;
    hl_connection *c = argument;
    hl_loop *loop = c->loop;
    struct timeval now;
    event_base_gettimeofday_cached(loop->base, &now);
    loop->now = (double)now.tv_sec + (double)now.tv_usec / 1e6;

    size_t kept = c->phase == HEAD ? waiting(&c->input) : 0;
    ssize_t n = recv(c->descriptor, loop->input + kept, READ_SIZE - kept, 0);
    if (n < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
        destroy(c, 0);
        return;
    }
    if (n == 0) {
        c->closed_by_peer = 1;
        c->reading = 0;
        event_del(c->read_event);
        switch (c->phase) {
        case HEAD:
            if (waiting(&c->output)) close_after_output(c);
            else destroy(c, 0);
            break;
        case EXCHANGE:
            use_body(c); /* a half-closed client still gets its answer */
            break;
        case DISCARD:
            close_after_output(c);
            break;
        default:
            if (waiting(&c->output) == 0) destroy(c, 0);
        }
        return;
    }
    switch (c->phase) {
    case HEAD:
        if (kept && is_still_open(c, kept, loop->input + kept, (size_t)n)) {
            keep(&c->input, loop->input + kept, (size_t)n);
            return;
        }
        if (kept) {
            memcpy(loop->input, c->input.bytes + c->input.start, kept);
            c->input.start = c->input.end = 0;
        } else {
            c->deadline = loop->now + loop->limits.head_seconds;
        }
        use_heads(c, loop->input, kept + (size_t)n);
        break;
    case EXCHANGE:
        keep(&c->input, loop->input, (size_t)n);
        if (!c->body_wanted) want_read(c, 0);
        use_body(c);
        break;
    case DISCARD:
        keep(&c->input, loop->input, (size_t)n);
        discard(c);
        break;
    default:
        break; /* closing: what still comes is dropped until the peer closes or the deadline */
    }
}

static void on_write(evutil_socket_t descriptor, short what, void *argument) {
    (void)descriptor;
    (void)what;
    hl_connection *c = argument;
    size_t sent = 0;
    if (send_now(c, c->output.bytes + c->output.start, waiting(&c->output), &sent) < 0) {
        destroy(c, 0);
        return;
    }
    c->output.start += sent;
    if (sent) c->write_deadline = c->loop->now + c->loop->limits.write_seconds;
    if (waiting(&c->output)) {
        event_add(c->write_event, NULL);
    } else {
        release(&c->output);
        c->write_deadline = 0;
    }
    if (c->notify && waiting(&c->output) <= LOW_WATER && c->exchange) {
        c->notify = 0;
        c->loop->callbacks.drained(c->exchange);
    }
    if (waiting(&c->output)) return;
    switch (c->phase) {
    case HEAD:
        if (!c->reading || c->loop->draining) use_input(c);
        else await_head(c);
        break;
    case DISCARD:
        c->deadline = c->loop->now + LINGER_SECONDS;
        break;
    case CLOSING:
        close_after_output(c);
        break;
    default:
        break;
    }
}

static void adopt(hl_loop *loop, int descriptor, int listener) {
    hl_connection *c = calloc(1, sizeof *c);
    if (!c) {
        close(descriptor);
        return;
    }
    int one = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->loop = loop;
    c->descriptor = descriptor;
    c->listener = listener;
    c->read_event = event_new(loop->base, descriptor, EV_READ | EV_PERSIST, on_read, c);
    c->write_event = event_new(loop->base, descriptor, EV_WRITE, on_write, c);
    if (!c->read_event || !c->write_event) {
        if (c->read_event) event_free(c->read_event);
        if (c->write_event) event_free(c->write_event);
        close(descriptor);
        free(c);
        return;
    }
    c->next = loop->first;
    if (c->next) c->next->previous = c;
    loop->first = c;
    c->deadline = loop->now + loop->limits.idle_seconds;
    if (__atomic_add_fetch(loop->connections, 1, __ATOMIC_RELAXED) > loop->limits.connections) {
        refuse(c, 503, "too many connections are open");
        return;
    }
    want_read(c, 1);
}

static void on_accept(evutil_socket_t descriptor, short what, void *argument) {
    (void)what;
    struct listener *listener = argument;
    hl_loop *loop = listener->loop;
    for (int i = 0; i < ACCEPTS_A_WAKE; i++) {
        int accepted = accept4(descriptor, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0) {
            adopt(loop, accepted, listener->number);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* No descriptor is left: the sweep listens again. */
            loop->accept_paused = 1;
            for (struct listener *l = loop->listeners; l; l = l->next) event_del(l->event);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

static void on_sweep(evutil_socket_t descriptor, short what, void *argument) {
    (void)descriptor;
    (void)what;
    hl_loop *loop = argument;
    struct timeval now;
    event_base_gettimeofday_cached(loop->base, &now);
    loop->now = (double)now.tv_sec + (double)now.tv_usec / 1e6;
    if (loop->accept_paused && !loop->draining) {
        loop->accept_paused = 0;
        for (struct listener *l = loop->listeners; l; l = l->next) event_add(l->event, NULL);
    }
    for (hl_connection *c = loop->first, *next; c; c = next) {
        next = c->next;
        if (c->write_deadline > 0 && c->write_deadline <= loop->now) {
            destroy(c, 1);
        } else if (c->deadline > 0 && c->deadline <= loop->now) {
            c->deadline = 0;
            if (c->phase == HEAD && waiting(&c->input)) {
                refuse(c, 408, "the head of the request took too long");
            } else if (c->phase == EXCHANGE) {
                if (c->body_wanted) {
                    c->body_wanted = 0;
                    c->loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_SLOW);
                }
            } else {
                destroy(c, 0);
            }
        }
    }
}

static void on_wake(evutil_socket_t descriptor, short what, void *argument) {
    (void)what;
    hl_loop *loop = argument;
    uint64_t count;
    ssize_t n = read(descriptor, &count, sizeof count);
    (void)n;
    struct timeval now;
    event_base_gettimeofday_cached(loop->base, &now);
    loop->now = (double)now.tv_sec + (double)now.tv_usec / 1e6;
    loop->callbacks.woken(loop->context);
}

/* ---- loops ---- */

hl_loop *hl_loop_new(const hl_callbacks *callbacks, void *context, const hl_limits *limits, int64_t *connections) {
    hl_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->callbacks = *callbacks;
    loop->context = context;
    loop->limits = *limits;
    if (loop->limits.head > READ_SIZE) loop->limits.head = READ_SIZE;
    loop->connections = connections;
    loop->base = event_base_new();
    loop->wake_descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!loop->base || loop->wake_descriptor < 0) {
        hl_loop_free(loop);
        return NULL;
    }
    loop->wake_event = event_new(loop->base, loop->wake_descriptor, EV_READ | EV_PERSIST, on_wake, loop);
    loop->sweep_event = event_new(loop->base, -1, EV_PERSIST, on_sweep, loop);
    if (!loop->wake_event || !loop->sweep_event) {
        hl_loop_free(loop);
        return NULL;
    }
    struct timeval interval = {0, SWEEP_MILLISECONDS * 1000};
    struct timeval now;
    event_base_gettimeofday_cached(loop->base, &now);
    loop->now = (double)now.tv_sec + (double)now.tv_usec / 1e6;
    if (event_add(loop->wake_event, NULL) != 0 || event_add(loop->sweep_event, &interval) != 0) {
        hl_loop_free(loop);
        return NULL;
    }
    return loop;
}

int hl_loop_add_listener(hl_loop *loop, int descriptor, int number) {
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) return ENOMEM;
    listener->loop = loop;
    listener->number = number;
    listener->event = event_new(loop->base, descriptor, EV_READ | EV_PERSIST, on_accept, listener);
    if (!listener->event || event_add(listener->event, NULL) != 0) {
        if (listener->event) event_free(listener->event);
        free(listener);
        return ENOMEM;
    }
    listener->next = loop->listeners;
    loop->listeners = listener;
    return 0;
}

void hl_loop_run(hl_loop *loop) { event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY); }

void hl_loop_wake(hl_loop *loop) {
    uint64_t one = 1;
    ssize_t n = write(loop->wake_descriptor, &one, sizeof one);
    (void)n;
}

void hl_loop_drain(hl_loop *loop) {
    loop->draining = 1;
    for (struct listener *l = loop->listeners; l; l = l->next) event_del(l->event);
    for (hl_connection *c = loop->first, *next; c; c = next) {
        next = c->next;
        if (c->phase == HEAD && waiting(&c->output) == 0) destroy(c, 0);
    }
}

void hl_loop_stop(hl_loop *loop) {
    while (loop->first) destroy(loop->first, 0);
    event_base_loopbreak(loop->base);
}

void hl_loop_free(hl_loop *loop) {
    while (loop->first) destroy(loop->first, 0);
    while (loop->listeners) {
        struct listener *next = loop->listeners->next;
        event_free(loop->listeners->event);
        free(loop->listeners);
        loop->listeners = next;
    }
    if (loop->wake_event) event_free(loop->wake_event);
    if (loop->sweep_event) event_free(loop->sweep_event);
    if (loop->wake_descriptor >= 0) close(loop->wake_descriptor);
    if (loop->base) event_base_free(loop->base);
    release(&loop->output);
    free(loop);
}

int64_t hl_loop_busy(const hl_loop *loop) {
    int64_t busy = 0;
    for (const hl_connection *c = loop->first; c; c = c->next) busy += c->exchange || waiting(&c->output);
    return busy;
}

double hl_loop_now(const hl_loop *loop) { return loop->now; }
void hl_loop_append(hl_loop *loop, const void *bytes, size_t length) { keep(&loop->output, bytes, length); }

/* ---- exchanges ---- */

void hl_connection_attach(hl_connection *c, void *exchange) {
    c->exchange = exchange;
    c->notify = 0;
}

void hl_connection_read_body(hl_connection *c) {
    /* Behind the answer's head it would be a part of its body. */
    if (c->expects && !c->body_done && !c->begun) {
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        if (waiting(&c->input) == 0 && put(c, go_on, sizeof go_on - 1) < 0) {
            destroy(c, 0);
            return;
        }
        c->expects = 0;
    }
    c->body_wanted = 1;
    if (c->phase == EXCHANGE) use_body(c);
}

size_t hl_connection_write(hl_connection *c, const void *bytes, size_t length) {
    c->begun = 1;
    if (put(c, bytes, length) < 0) {
        destroy(c, 0);
        return 0;
    }
    return waiting(&c->output);
}

void hl_connection_notify_drained(hl_connection *c) {
    c->notify = 1;
    if (waiting(&c->output) <= LOW_WATER) {
        c->notify = 0;
        c->loop->callbacks.drained(c->exchange);
    }
}

void hl_connection_finish(hl_connection *c, int keep_alive) {
    c->exchange = NULL;
    c->body_wanted = 0;
    if (c->loop->draining || c->chunked == 2) keep_alive = 0;
    if (!c->body_done) {
        /* A client that still waits for 100 may send its body or not: only closing is unambiguous. */
        if (c->expects || (!c->chunked && c->body_left > DRAIN_LIMIT)) {
            close_after_output(c);
            return;
        }
        c->phase = DISCARD;
        c->keep_after_discard = (uint8_t)(keep_alive != 0);
        c->body_seen = 0;
        discard(c);
        return;
    }
    if (!keep_alive) {
        close_after_output(c);
        return;
    }
    c->phase = HEAD;
    use_input(c);
}

void hl_connection_refuse(hl_connection *c, int status, const char *reason) {
    c->exchange = NULL;
    c->body_wanted = 0;
    refuse(c, status, reason);
}

void hl_connection_abort(hl_connection *c) {
    c->exchange = NULL;
    destroy(c, 1);
}

/* ---- listening ---- */

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
    getsockname(descriptor, (struct sockaddr *)&address, &size);
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
