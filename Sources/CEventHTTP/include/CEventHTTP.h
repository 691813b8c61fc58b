/*
 * HTTP/1.1 server connections on libevent's loops.
 *
 * No libevent header is seen here: Debian's redefine feature macros and break Swift's Glibc module in the same compile.
 * Everything but hl_loop_wake and hl_listen belongs to the loop's own thread.
 */
#ifndef HL_CEVENTHTTP_H
#define HL_CEVENTHTTP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One piece of a head, as offset and length from its first byte. */
typedef struct hl_slice {
    uint32_t offset;
    uint32_t length;
} hl_slice;

typedef struct hl_field {
    hl_slice name;
    hl_slice value;
} hl_field;

enum { HL_MAX_FIELDS = 256 };

/* A parsed request head. The slices point into `base`, valid during the callback only. */
typedef struct hl_request {
    const uint8_t *base;
    uint32_t head_length;
    hl_slice method;
    hl_slice target;
    uint32_t field_count;
    uint8_t minor_version;
    uint8_t keep_alive;        /* what the client asks for */
    uint8_t chunked;           /* the body is chunked */
    uint8_t has_length;        /* Content-Length was there */
    uint8_t expects_continue;
    uint8_t body_is_here;      /* all of a body that is not chunked stands behind the head */
    int64_t content_length;    /* 0 without a body */
    hl_field fields[HL_MAX_FIELDS];
} hl_request;

/* Limits in bytes and seconds. */
typedef struct hl_limits {
    uint32_t line;
    uint32_t fields;
    uint32_t head;
    int64_t body;
    int64_t connections;
    double head_seconds;
    double idle_seconds;
    double body_seconds;
    double write_seconds;
} hl_limits;

/*
 * Parses a head at `bytes`. Returns its length; 0 while it is incomplete; minus the status of the refusal otherwise, with
 * `*reason` a short sentence. Touches no memory but `out`.
 */
long hl_parse_head(const uint8_t *bytes, size_t length, const hl_limits *limits, hl_request *out, const char **reason);

/* Decoder of a chunked body. Zeroed is ready. */
typedef struct hl_chunks {
    uint64_t left;      /* of the present chunk */
    uint32_t state;
    uint32_t count;     /* digits of a size, bytes of an extension or trailer section */
} hl_chunks;

/*
 * Decodes from `bytes`: `*piece` and `*piece_length` are body bytes (none: 0), the result is how many bytes of the input were
 * used, or -1 for a malformed body. `*done` is set at the end of the trailer section.
 */
long hl_chunks_decode(hl_chunks *chunks, const uint8_t *bytes, size_t length, const uint8_t **piece,
                      size_t *piece_length, int *done);

typedef struct hl_loop hl_loop;
typedef struct hl_connection hl_connection;

/* What the request callback answers. */
enum {
    HL_ANSWERED = 1, /* the answer is in the loop's output */
    HL_TAKEN = 2,    /* an exchange was attached with hl_connection_attach */
    HL_TAKEN_WITH_BODY = 3 /* the same, and the body that is here was copied */
};

/* How a body piece comes. */
enum { HL_BODY_MORE = 0, HL_BODY_END = 1, HL_BODY_MALFORMED = 2, HL_BODY_TOO_LARGE = 3, HL_BODY_SLOW = 4 };

/* Called on the loop's thread. `context` is the loop's; `exchange` what was attached. */
typedef struct hl_callbacks {
    int (*request)(void *context, hl_connection *connection, const hl_request *request, int listener, double now);
    void (*body)(void *exchange, const uint8_t *bytes, size_t length, int how);
    void (*drained)(void *exchange);
    /* The client has closed its side of the connection. */
    void (*left)(void *exchange);
    /* The connection is gone; the exchange is detached. */
    void (*closed)(void *exchange);
    void (*woken)(void *context);
    /* Writes a whole refusal to the loop's output with hl_loop_append. */
    void (*refuse)(void *context, int status, const char *reason);
} hl_callbacks;

/* NULL where libevent has no loop to give. The limits are copied. */
hl_loop *hl_loop_new(const hl_callbacks *callbacks, void *context, const hl_limits *limits, int64_t *connections);
/* From the loop's own thread: for what begins from now on. */
void hl_loop_set_limits(hl_loop *loop, const hl_limits *limits);
/* Listens on the descriptor too; shared between loops. 0, or errno. */
int hl_loop_add_listener(hl_loop *loop, int descriptor, int listener);
/* Runs until hl_loop_stop. */
void hl_loop_run(hl_loop *loop);
/* From any thread: `woken` is called soon. */
void hl_loop_wake(hl_loop *loop);
/* The same from the loop's own thread, without a system call; `later`: only after the next look at the sockets. */
void hl_loop_come_again(hl_loop *loop, int later);
/* Stops accepting and closes idle connections; running exchanges go on. */
void hl_loop_drain(hl_loop *loop);
/* Closes everything, what is unfinished with a reset, and ends hl_loop_run. */
void hl_loop_stop(hl_loop *loop);
void hl_loop_free(hl_loop *loop);
/* Connections with an exchange or with bytes that were not sent yet. */
int64_t hl_loop_busy(const hl_loop *loop);
double hl_loop_now(const hl_loop *loop);
/* The loop's output for answers given inside the request callback. */
void hl_loop_append(hl_loop *loop, const void *bytes, size_t length);

void hl_connection_attach(hl_connection *connection, void *exchange);
/* Asks for one body piece; `body` follows, at once or later. */
void hl_connection_read_body(hl_connection *connection);
/* Sends or keeps bytes of the answer; the result is how many wait. */
size_t hl_connection_write(hl_connection *connection, const void *bytes, size_t length);
/* Sends a part of a file behind what waits; nothing else may be written before `drained`, which is called at once or later. The
   file stays open till then, or `closed`. */
void hl_connection_send_file(hl_connection *connection, int file, int64_t offset, int64_t length);
/* `drained` is called once when little waits. */
void hl_connection_notify_drained(hl_connection *connection);
/* Ends the exchange: it is detached without `closed`. */
void hl_connection_finish(hl_connection *connection, int keep_alive);
/* Ends an exchange that has not begun its answer with the server's refusal, and closes. `closed` is not called. */
void hl_connection_refuse(hl_connection *connection, int status, const char *reason);
/* Breaks off with a reset; `closed` is not called. */
void hl_connection_abort(hl_connection *connection);

/* A non-blocking listening socket for HOST and PORT, or for a path (host NULL). The descriptor, or minus errno. */
int hl_listen_tcp(const char *host, const char *port, char *bound, size_t bound_size);
int hl_listen_unix(const char *path);

#ifdef __cplusplus
}
#endif
#endif
