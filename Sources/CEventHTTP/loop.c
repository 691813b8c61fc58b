/* A loop: its listeners, its sweep over the deadlines, and what wakes it. */
#define _GNU_SOURCE /* accept4 */
#include "connection.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SWEEP_MILLISECONDS = 250 };
/* Few, so that the loops that share a listener share its connections. */
enum { ACCEPTS_A_WAKE = 4 };

void hl_tell_time(hl_loop *loop) {
    struct timeval now;
    event_base_gettimeofday_cached(loop->base, &now);
    loop->now = (double)now.tv_sec + (double)now.tv_usec / 1e6;
    struct timespec ticks;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &ticks);
    loop->ticks = (double)ticks.tv_sec + (double)ticks.tv_nsec / 1e9;
}

static void on_accept(evutil_socket_t descriptor, short what, void *argument) {
    (void)what;
    struct listener *listener = argument;
    hl_loop *loop = listener->loop;
    for (int i = 0; i < ACCEPTS_A_WAKE; i++) {
        int accepted = accept4(descriptor, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0) {
            hl_adopt(loop, accepted, listener->number);
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
    hl_tell_time(loop);
    if (loop->accept_paused && !loop->draining) {
        loop->accept_paused = 0;
        for (struct listener *l = loop->listeners; l; l = l->next) event_add(l->event, NULL);
    }
    for (hl_connection *c = loop->first, *next; c; c = next) {
        next = c->next;
        if (c->write_deadline > 0 && c->write_deadline <= loop->ticks) {
            hl_destroy(c, 1);
        } else if (c->deadline > 0 && c->deadline <= loop->ticks) {
            c->deadline = 0;
            if (c->phase == HEAD && waiting(&c->input)) {
                hl_refuse(c, 408, "the head of the request took too long");
            } else if (c->phase == EXCHANGE) {
                if (c->body_wanted) {
                    c->body_wanted = 0;
                    c->loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_SLOW);
                }
            } else {
                hl_destroy(c, 0);
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
    hl_tell_time(loop);
    loop->callbacks.woken(loop->context);
}

static void on_again(evutil_socket_t descriptor, short what, void *argument) {
    (void)descriptor;
    (void)what;
    hl_loop *loop = argument;
    hl_tell_time(loop);
    loop->callbacks.woken(loop->context);
}

void hl_loop_set_limits(hl_loop *loop, const hl_limits *limits) {
    loop->limits = *limits;
    if (loop->limits.head > READ_SIZE) loop->limits.head = READ_SIZE;
}

hl_loop *hl_loop_new(const hl_callbacks *callbacks, void *context, const hl_limits *limits, int64_t *connections) {
    hl_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->callbacks = *callbacks;
    loop->context = context;
    hl_loop_set_limits(loop, limits);
    loop->connections = connections;
    loop->base = event_base_new();
    loop->wake_descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!loop->base || loop->wake_descriptor < 0) {
        hl_loop_free(loop);
        return NULL;
    }
    loop->wake_event = event_new(loop->base, loop->wake_descriptor, EV_READ | EV_PERSIST, on_wake, loop);
    loop->again_event = event_new(loop->base, -1, 0, on_again, loop);
    loop->sweep_event = event_new(loop->base, -1, EV_PERSIST, on_sweep, loop);
    if (!loop->wake_event || !loop->again_event || !loop->sweep_event) {
        hl_loop_free(loop);
        return NULL;
    }
    struct timeval interval = {0, SWEEP_MILLISECONDS * 1000};
    hl_tell_time(loop);
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
    /* Accepted sockets inherit it: bytes that a vanished client never confirms count as not taken. No matter to a Unix socket. */
    unsigned int patience = (unsigned int)(loop->limits.write_seconds < 1e6 ? loop->limits.write_seconds * 1000 : 1e9);
    setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
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

void hl_loop_come_again(hl_loop *loop, int later) {
    static const struct timeval at_once = {0, 0};
    if (later) event_add(loop->again_event, &at_once);
    else event_active(loop->again_event, EV_TIMEOUT, 0);
}

void hl_loop_drain(hl_loop *loop) {
    loop->draining = 1;
    for (struct listener *l = loop->listeners; l; l = l->next) event_del(l->event);
    for (hl_connection *c = loop->first, *next; c; c = next) {
        next = c->next;
        if (c->phase == HEAD && waiting(&c->output) == 0) hl_destroy(c, 0);
    }
}

void hl_loop_stop(hl_loop *loop) {
    while (loop->first) hl_destroy(loop->first, 0);
    event_base_loopbreak(loop->base);
}

void hl_loop_free(hl_loop *loop) {
    while (loop->first) hl_destroy(loop->first, 0);
    while (loop->listeners) {
        struct listener *next = loop->listeners->next;
        event_free(loop->listeners->event);
        free(loop->listeners);
        loop->listeners = next;
    }
    if (loop->wake_event) event_free(loop->wake_event);
    if (loop->again_event) event_free(loop->again_event);
    if (loop->sweep_event) event_free(loop->sweep_event);
    if (loop->wake_descriptor >= 0) close(loop->wake_descriptor);
    if (loop->base) event_base_free(loop->base);
    hl_buffer_release(&loop->output);
    free(loop);
}

int64_t hl_loop_busy(const hl_loop *loop) {
    int64_t busy = 0;
    for (const hl_connection *c = loop->first; c; c = c->next) busy += c->exchange || waiting(&c->output);
    return busy;
}

double hl_loop_now(const hl_loop *loop) { return loop->now; }
void hl_loop_append(hl_loop *loop, const void *bytes, size_t length) { hl_buffer_keep(&loop->output, bytes, length); }
