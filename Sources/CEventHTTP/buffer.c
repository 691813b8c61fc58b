/* Bytes that wait: appended behind, used from the front. */
#include "connection.h"

#include <stdlib.h>
#include <string.h>

void hl_buffer_release(buffer *b) {
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

void hl_buffer_keep(buffer *b, const void *bytes, size_t length) {
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
