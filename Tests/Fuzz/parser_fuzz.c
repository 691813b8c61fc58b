/*
 * The property of the parser: how the bytes of a request are cut into reads never changes what is understood. The first eight
 * bytes of an input choose the cuts, the rest is the request: a head, and the chunks behind it where it announces them.
 * `parser_fuzz` is built and run by scripts/fuzz.
 */
#include "CEventHTTP.h"

#include <stdlib.h>
#include <string.h>

/* Small limits, so that short inputs reach them. */
static const hl_limits limits = {.line = 64, .fields = 8, .head = 512, .body = 1 << 20};

typedef struct body {
    uint8_t bytes[1 << 16];
    size_t length;
    long used; /* up to the end of the body, -1 where it is malformed, -2 where it has no end */
} body;

static uint64_t seed;

/* A cut between 1 and `most`. */
static size_t cut(size_t most) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    size_t n = 1 + (size_t)(seed >> 33) % 16;
    return n < most ? n : most;
}

static void check(int holds) {
    if (!holds) abort();
}

/* A copy of exactly these bytes, so that a read beyond them is noticed. */
static uint8_t *copy(const uint8_t *bytes, size_t length) {
    uint8_t *made = malloc(length ? length : 1);
    memcpy(made, bytes, length);
    return made;
}

static void decode(const uint8_t *bytes, size_t length, int in_cuts, body *out) {
    hl_chunks chunks = {0};
    size_t at = 0, available = in_cuts ? 0 : length;
    out->length = 0;
    out->used = -2;
    while (at < length) {
        if (at == available) available += cut(length - available);
        uint8_t *seen = copy(bytes + at, available - at);
        const uint8_t *piece;
        size_t piece_length;
        int done;
        long used = hl_chunks_decode(&chunks, seen, available - at, &piece, &piece_length, &done);
        if (used >= 0) {
            check(used > 0 && (size_t)used <= available - at);
            if (piece_length) memcpy(out->bytes + out->length, piece, piece_length);
            out->length += piece_length;
            at += (size_t)used;
        }
        free(seen);
        if (used < 0 || done) {
            out->used = used < 0 ? -1 : (long)at;
            return;
        }
    }
}

static int same_head(const hl_request *a, const hl_request *b) {
    if (a->field_count != b->field_count || a->head_length != b->head_length || a->minor_version != b->minor_version)
        return 0;
    if (a->keep_alive != b->keep_alive || a->chunked != b->chunked || a->has_length != b->has_length) return 0;
    if (a->expects_continue != b->expects_continue || a->content_length != b->content_length) return 0;
    if (memcmp(&a->method, &b->method, sizeof a->method) != 0 || memcmp(&a->target, &b->target, sizeof a->target) != 0)
        return 0;
    return memcmp(a->fields, b->fields, a->field_count * sizeof a->fields[0]) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static hl_request whole, parts;
    static body at_once, in_cuts;
    if (size < sizeof seed || size > sizeof at_once.bytes) return 0;
    memcpy(&seed, data, sizeof seed);
    const uint8_t *bytes = data + sizeof seed;
    size_t length = size - sizeof seed;

    const char *reason = NULL, *other = NULL;
    uint8_t *all = copy(bytes, length);
    long head = hl_parse_head(all, length, &limits, &whole, &reason);
    long split = 0;
    for (size_t seen = 0; split == 0 && seen < length;) {
        seen += cut(length - seen);
        uint8_t *part = copy(bytes, seen);
        split = hl_parse_head(part, seen, &limits, &parts, &other);
        free(part);
    }
    check(head == split);
    if (head < 0) check(reason && other && strcmp(reason, other) == 0);
    if (head > 0) check((size_t)head <= length && (size_t)head <= limits.head && same_head(&whole, &parts));
    free(all);

    /* The chunks behind a head; the whole input where there is none, so that the decoder is reached soon. */
    size_t from = head > 0 && whole.chunked ? (size_t)head : 0;
    decode(bytes + from, length - from, 0, &at_once);
    decode(bytes + from, length - from, 1, &in_cuts);
    check(at_once.used == in_cuts.used && at_once.length == in_cuts.length);
    check(memcmp(at_once.bytes, in_cuts.bytes, at_once.length) == 0);
    return 0;
}
