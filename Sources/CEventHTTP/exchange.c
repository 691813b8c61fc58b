/* What an exchange asks of its connection, and the body of its request. */
#include "connection.h"

enum { DRAIN_LIMIT = 65536 };

/* Gives body pieces from the kept input for as long as one is wanted. */
void hl_use_body(hl_connection *c) {
    hl_loop *loop = c->loop;
    while (c->body_wanted && c->exchange) {
        if (c->body_done) {
            c->body_wanted = 0;
            loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_END);
            return;
        }
        size_t have = waiting(&c->input);
        if (have == 0) {
            if (c->closed_by_peer) {
                c->body_wanted = 0;
                loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_MALFORMED);
                return;
            }
            c->deadline = loop->ticks + loop->limits.body_seconds;
            hl_want_read(c, 1);
            return;
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
                return;
            }
            c->input.start += (size_t)used;
            c->body_seen += (int64_t)length;
            c->body_done = (uint8_t)done;
            if (c->body_seen > loop->limits.body) {
                c->body_wanted = 0;
                loop->callbacks.body(c->exchange, NULL, 0, HL_BODY_TOO_LARGE);
                return;
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
            /* The callback copies, and with MORE it never frees this connection. */
        }
    }
}

/* Reads and drops a small rest of a body nobody read, so that the connection can go on. */
void hl_discard(hl_connection *c) {
    while (!c->body_done && waiting(&c->input)) {
        const uint8_t *piece;
        size_t length;
        int done = 0;
        if (c->chunked) {
            long used = hl_chunks_decode(&c->chunks, c->input.bytes + c->input.start, waiting(&c->input), &piece, &length, &done);
            if (used < 0) {
                hl_close_after_output(c);
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
            hl_close_after_output(c);
            return;
        }
    }
    if (c->body_done) {
        c->phase = HEAD;
        if (c->keep_after_discard) hl_use_input(c);
        else hl_close_after_output(c);
    } else if (c->closed_by_peer) {
        hl_close_after_output(c);
    } else {
        /* Not renewed by what comes: a rest that trickles must not hold the connection. */
        if (waiting(&c->output)) c->deadline = 0;
        else if (c->deadline == 0) c->deadline = c->loop->ticks + LINGER_SECONDS;
        hl_want_read(c, 1);
    }
}

void hl_connection_attach(hl_connection *c, void *exchange) {
    c->exchange = exchange;
    c->notify = 0;
}

void hl_connection_read_body(hl_connection *c) {
    /* Behind the answer's head it would be a part of its body. */
    if (c->expects && !c->body_done && !c->begun) {
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        if (waiting(&c->input) == 0 && hl_put(c, go_on, sizeof go_on - 1) < 0) {
            hl_destroy(c, 0);
            return;
        }
        c->expects = 0;
    }
    c->body_wanted = 1;
    if (c->phase == EXCHANGE) hl_use_body(c);
}

size_t hl_connection_write(hl_connection *c, const void *bytes, size_t length) {
    c->begun = 1;
    if (hl_put(c, bytes, length) < 0) {
        hl_destroy(c, 0);
        return 0;
    }
    return waiting(&c->output);
}

void hl_connection_send_file(hl_connection *c, int file, int64_t offset, int64_t length) {
    c->begun = 1;
    c->file = file;
    c->file_offset = offset;
    c->file_left = length;
    if (waiting(&c->output) == 0 && hl_send_part(c) < 0) {
        hl_destroy(c, 1);
        return;
    }
    if (c->file_left == 0) c->loop->callbacks.drained(c->exchange);
    else c->notify = 1;
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
            hl_close_after_output(c);
            return;
        }
        c->phase = DISCARD;
        c->keep_after_discard = (uint8_t)(keep_alive != 0);
        c->body_seen = 0;
        c->deadline = 0;
        hl_discard(c);
        return;
    }
    if (!keep_alive) {
        hl_close_after_output(c);
        return;
    }
    c->phase = HEAD;
    hl_use_input(c);
}

void hl_connection_refuse(hl_connection *c, int status, const char *reason) {
    c->exchange = NULL;
    c->body_wanted = 0;
    hl_refuse(c, status, reason);
}

void hl_connection_abort(hl_connection *c) {
    c->exchange = NULL;
    hl_destroy(c, 1);
}
