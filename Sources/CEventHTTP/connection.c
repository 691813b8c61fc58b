/*
 * One connection: reading heads, answering, closing. It owns memory only while a head is incomplete, a write is short, or
 * pipelined bytes wait behind an exchange; reads and answers given at once pass through two buffers of the loop.
 */
#include "connection.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OUTPUT_SIZE = 131072, PART_AT_ONCE = 1 << 20 };

void hl_want_read(hl_connection *c, int on) {
    if (c->closed_by_peer) on = 0;
    if (on == c->reading) return;
    c->reading = (uint8_t)on;
    if (on) event_add(c->read_event, NULL);
    else event_del(c->read_event);
}

/* An answer that is cut ends with a reset, never with a FIN that would make a part look like the whole. */
void hl_destroy(hl_connection *c, int reset) {
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
    hl_buffer_release(&c->input);
    hl_buffer_release(&c->output);
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
int hl_put(hl_connection *c, const void *bytes, size_t length) {
    size_t sent = 0;
    if (waiting(&c->output) == 0) {
        if (send_now(c, bytes, length, &sent) < 0) return -1;
        if (sent == length) return 0;
        event_add(c->write_event, NULL);
        c->write_deadline = c->loop->ticks + c->loop->limits.write_seconds;
    }
    hl_buffer_keep(&c->output, (const uint8_t *)bytes + sent, length - sent);
    return 0;
}

int hl_send_part(hl_connection *c) {
    int64_t before = c->file_left;
    /* One that reads fast must not keep the others waiting. */
    while (c->file_left > 0 && before - c->file_left < PART_AT_ONCE) {
        size_t most = c->file_left < PART_AT_ONCE ? (size_t)c->file_left : PART_AT_ONCE;
        off_t offset = (off_t)c->file_offset;
        ssize_t n = sendfile(c->descriptor, c->file, &offset, most);
        if (n > 0) {
            c->file_offset += n;
            c->file_left -= n;
        } else if (n == 0) {
            return -1; /* the file has become shorter */
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    if (c->file_left > 0) event_add(c->write_event, NULL);
    if (c->file_left == 0) c->write_deadline = 0;
    else if (c->file_left < before || c->write_deadline == 0) c->write_deadline = c->loop->ticks + c->loop->limits.write_seconds;
    return 0;
}

/* Sends the loop's output, where answers of this connection stand. */
static int flush_loop_output(hl_connection *c) {
    buffer *output = &c->loop->output;
    int broken = waiting(output) ? hl_put(c, output->bytes + output->start, waiting(output)) : 0;
    output->start = output->end = 0;
    if (output->capacity > 4 * OUTPUT_SIZE) hl_buffer_release(output);
    return broken;
}

/*
 * Closes once everything is sent; until then only the write deadline rules. The write side is shut first, so that the peer reads
 * the answer before any reset.
 */
void hl_close_after_output(hl_connection *c) {
    c->phase = CLOSING;
    c->deadline = 0;
    hl_buffer_release(&c->input);
    if (waiting(&c->output) == 0) {
        c->deadline = c->loop->ticks + LINGER_SECONDS;
        shutdown(c->descriptor, SHUT_WR);
        if (c->closed_by_peer) {
            hl_destroy(c, 0);
            return;
        }
        hl_want_read(c, 1);
    } else {
        hl_want_read(c, 0);
    }
}

void hl_refuse(hl_connection *c, int status, const char *reason) {
    c->loop->callbacks.refuse(c->loop->context, status, reason);
    if (flush_loop_output(c) < 0) hl_destroy(c, 0);
    else hl_close_after_output(c);
}

/* The deadline between and within heads. None runs while an answer moves: that time is the client's, up to the write deadline. */
static void await_head(hl_connection *c) {
    hl_loop *loop = c->loop;
    if (waiting(&c->output)) c->deadline = 0;
    else c->deadline = loop->ticks + (waiting(&c->input) ? loop->limits.head_seconds : loop->limits.idle_seconds);
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
            hl_refuse(c, (int)-head, reason);
            return;
        }
        at += (size_t)head;
        request.body_is_here =
            !request.chunked && request.content_length > 0 && (uint64_t)request.content_length <= length - at;
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
                hl_destroy(c, 0);
                return;
            }
            /* A client that does not read what it asked for waits with its further requests. */
            if (waiting(&c->output) > OUTPUT_SIZE) break;
            continue;
        }
        /* An exchange is attached. */
        if (answer == HL_TAKEN_WITH_BODY) {
            at += (size_t)request.content_length;
            c->body_left = 0;
            c->body_done = 1;
            c->expects = 0;
        }
        if (flush_loop_output(c) < 0) {
            hl_destroy(c, 0);
            return;
        }
        c->phase = EXCHANGE;
        c->deadline = 0;
        break;
    }
    if (c->phase == HEAD && flush_loop_output(c) < 0) {
        hl_destroy(c, 0);
        return;
    }
    /* Keep what is left; `bytes` may be the kept input itself. */
    if (bytes == loop->input) hl_buffer_keep(&c->input, bytes + at, length - at);
    else c->input.start += at;
    if (waiting(&c->input) == 0) hl_buffer_release(&c->input);
    if (close_now) {
        hl_close_after_output(c);
        return;
    }
    if (c->phase == HEAD) {
        /* That of an incomplete head runs since its first byte. */
        if (at > 0 || waiting(&c->output) || !waiting(&c->input)) await_head(c);
        if (c->closed_by_peer) hl_close_after_output(c);
        else hl_want_read(c, waiting(&c->output) <= OUTPUT_SIZE);
    } else {
        /* One look at the socket stays armed to see a reset, unless bytes wait already. */
        hl_want_read(c, waiting(&c->input) == 0);
        if (c->body_wanted) hl_use_body(c);
    }
}

/* Goes on with kept input after an exchange, a discard or a drained output. */
void hl_use_input(hl_connection *c) {
    if (waiting(&c->input) == 0) hl_buffer_release(&c->input);
    if (c->phase == HEAD) {
        if (c->loop->draining) {
            hl_close_after_output(c);
        } else if (waiting(&c->input)) {
            use_heads(c, c->input.bytes + c->input.start, waiting(&c->input));
        } else if (c->closed_by_peer) {
            hl_close_after_output(c);
        } else {
            await_head(c);
            hl_want_read(c, waiting(&c->output) <= OUTPUT_SIZE);
        }
    } else if (c->phase == EXCHANGE) {
        hl_use_body(c);
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
    hl_tell_time(loop);

    size_t kept = c->phase == HEAD ? waiting(&c->input) : 0;
    ssize_t n = recv(c->descriptor, loop->input + kept, READ_SIZE - kept, 0);
    if (n < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
        hl_destroy(c, 0);
        return;
    }
    if (n == 0) {
        c->closed_by_peer = 1;
        c->reading = 0;
        event_del(c->read_event);
        switch (c->phase) {
        case HEAD:
            if (waiting(&c->output)) hl_close_after_output(c);
            else hl_destroy(c, 0);
            break;
        case EXCHANGE:
            if (c->exchange) loop->callbacks.left(c->exchange);
            hl_use_body(c); /* a half-closed client still gets its answer */
            break;
        case DISCARD:
            hl_close_after_output(c);
            break;
        default:
            if (waiting(&c->output) == 0) hl_destroy(c, 0);
        }
        return;
    }
    switch (c->phase) {
    case HEAD:
        if (kept && is_still_open(c, kept, loop->input + kept, (size_t)n)) {
            hl_buffer_keep(&c->input, loop->input + kept, (size_t)n);
            return;
        }
        if (kept) {
            memcpy(loop->input, c->input.bytes + c->input.start, kept);
            c->input.start = c->input.end = 0;
        } else {
            c->deadline = loop->ticks + loop->limits.head_seconds;
        }
        use_heads(c, loop->input, kept + (size_t)n);
        break;
    case EXCHANGE:
        hl_buffer_keep(&c->input, loop->input, (size_t)n);
        if (!c->body_wanted) hl_want_read(c, 0);
        hl_use_body(c);
        break;
    case DISCARD:
        hl_buffer_keep(&c->input, loop->input, (size_t)n);
        hl_discard(c);
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
        hl_destroy(c, 0);
        return;
    }
    c->output.start += sent;
    if (sent) c->write_deadline = c->loop->ticks + c->loop->limits.write_seconds;
    if (waiting(&c->output)) {
        event_add(c->write_event, NULL);
    } else {
        hl_buffer_release(&c->output);
        c->write_deadline = 0;
        if (c->file_left > 0) {
            if (hl_send_part(c) < 0) {
                hl_destroy(c, 1);
                return;
            }
            if (c->file_left > 0) return;
        }
    }
    if (c->notify && waiting(&c->output) <= LOW_WATER && c->exchange) {
        c->notify = 0;
        c->loop->callbacks.drained(c->exchange);
    }
    if (waiting(&c->output)) return;
    switch (c->phase) {
    case HEAD:
        if (!c->reading || c->loop->draining) hl_use_input(c);
        else await_head(c);
        break;
    case DISCARD:
        c->deadline = c->loop->ticks + LINGER_SECONDS;
        break;
    case CLOSING:
        hl_close_after_output(c);
        break;
    default:
        break;
    }
}

void hl_adopt(hl_loop *loop, int descriptor, int listener) {
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
    c->deadline = loop->ticks + loop->limits.idle_seconds;
    if (__atomic_add_fetch(loop->connections, 1, __ATOMIC_RELAXED) > loop->limits.connections) {
        hl_refuse(c, 503, "too many connections are open");
        return;
    }
    hl_want_read(c, 1);
}
