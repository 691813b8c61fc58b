/* What the files of this target share: loops, connections and their buffers. All of it runs on the loop's own thread. */
#pragma once
#include "CEventHTTP.h"

enum { READ_SIZE = 65536, LOW_WATER = 65536, LINGER_SECONDS = 2 };

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
    struct event *again_event;
    struct event *sweep_event;
    int wake_descriptor;
    hl_callbacks callbacks;
    void *context;
    hl_limits limits;
    int64_t *connections; /* of all loops together */
    struct listener *listeners;
    hl_connection *first;
    double now;   /* by the wall clock, for what is answered */
    double ticks; /* by one that nobody sets, for deadlines */
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
    int file;              /* whose part is being sent */
    int64_t file_offset, file_left;
    double deadline;       /* 0: none */
    double write_deadline; /* 0: none */
    buffer input;          /* bytes read and not yet used */
    buffer output;         /* bytes that the socket did not take */
};

static inline size_t waiting(const buffer *b) { return b->end - b->start; }
/* Sends what the socket takes of a file part; -1 where the connection or the file is broken. */
int hl_send_part(hl_connection *c);
void hl_buffer_release(buffer *b);
void hl_buffer_keep(buffer *b, const void *bytes, size_t length);

/* Sets the loop's times to that of this round of events. */
void hl_tell_time(hl_loop *loop);

/* Takes over an accepted socket. */
void hl_adopt(hl_loop *loop, int descriptor, int listener);
void hl_want_read(hl_connection *c, int on);
/* Sends bytes behind what waits already. -1: broken. */
int hl_put(hl_connection *c, const void *bytes, size_t length);
/* Each of these may end and free the connection. */
void hl_destroy(hl_connection *c, int reset);
void hl_close_after_output(hl_connection *c);
void hl_refuse(hl_connection *c, int status, const char *reason);
void hl_use_input(hl_connection *c);
void hl_discard(hl_connection *c);
void hl_use_body(hl_connection *c);
