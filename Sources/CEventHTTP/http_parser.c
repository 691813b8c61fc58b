/* The strict HTTP/1.1 head parser and the chunked decoder (RFC 9112). No allocation, no I/O. */
#include "CEventHTTP.h"

#include <string.h>

static int is_token(uint8_t c) {
    static const uint8_t table[256] = {
        ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,
        ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1, ['~'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1,
        ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1,
        ['F'] = 1, ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1, ['O'] = 1,
        ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1, ['W'] = 1, ['X'] = 1, ['Y'] = 1,
        ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1,
        ['j'] = 1, ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1,
        ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
    };
    return table[c];
}

static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c; }

static int equals(const uint8_t *bytes, size_t length, const char *word) {
    if (length != strlen(word)) return 0;
    for (size_t i = 0; i < length; i++)
        if (lower(bytes[i]) != (uint8_t)word[i]) return 0;
    return 1;
}

static long refuse(int status, const char *why, const char **reason) {
    *reason = why;
    return -status;
}

/*
 * The end of the line at `p` (index of CR), or the refusal. *incomplete is set where the line has no end yet. What is too long
 * is so before its end is seen, whatever the end: the verdict must not depend on how the bytes were cut.
 */
static long line_end(const uint8_t *p, size_t from, size_t length, size_t limit, int status, int *incomplete,
                     const char **reason) {
    const uint8_t *feed = memchr(p + from, '\n', length - from);
    size_t end = feed ? (size_t)(feed - p) : length;
    int returns = end > from && p[end - 1] == '\r';
    if (end - from - (size_t)returns > limit)
        return refuse(status, status == 414 ? "the request line is too long" : "a field line is too long", reason);
    if (!feed) {
        *incomplete = 1;
        return 0;
    }
    if (!returns) return refuse(400, "a line ends without CR", reason);
    return (long)(end - 1);
}

/* Walks the comma-separated tokens of Connection. */
static void read_connection(const uint8_t *value, size_t length, int *close, int *keep) {
    size_t i = 0;
    while (i < length) {
        while (i < length && (value[i] == ',' || value[i] == ' ' || value[i] == '\t')) i++;
        size_t start = i;
        while (i < length && value[i] != ',') i++;
        size_t end = i;
        while (end > start && (value[end - 1] == ' ' || value[end - 1] == '\t')) end--;
        if (equals(value + start, end - start, "close")) *close = 1;
        if (equals(value + start, end - start, "keep-alive")) *keep = 1;
    }
}

/* Why a list of transfer codings other than `chunked` alone is refused: with chunks at its end 501, for the others; else 400, since
   nobody can tell where the body ends (RFC 9112 6.1 and 6.3). */
static long refuse_codings(const uint8_t *value, size_t length, const char **reason) {
    size_t i = 0, codings = 0, chunked = 0;
    int ends_in_chunks = 0;
    while (i < length) {
        size_t start = i;
        while (i < length && value[i] != ',') i++;
        size_t end = i;
        while (start < end && (value[start] == ' ' || value[start] == '\t')) start++;
        while (end > start && (value[end - 1] == ' ' || value[end - 1] == '\t')) end--;
        ends_in_chunks = equals(value + start, end - start, "chunked");
        codings++;
        chunked += (size_t)ends_in_chunks;
        i++;
    }
    int has_an_end = ends_in_chunks && chunked == 1 && codings > 1;
    return refuse(has_an_end ? 501 : 400, "only the transfer coding chunked is understood, once", reason);
}

/* The head in at most `limits->head` bytes; 0 where it has no end in them. */
static long parse(const uint8_t *p, size_t length, const hl_limits *limits, hl_request *out, const char **reason) {
    size_t at = 0;
    int incomplete = 0;
    /* An empty line before the request line is passed over (RFC 9112 2.2), once. */
    if (length >= 2 && p[0] == '\r' && p[1] == '\n') at = 2;
    if (length > at && (p[at] == '\r' || p[at] == '\n')) {
        if (length == 1) return 0;
        if (at == 2 || p[at] == '\n' || length > 1) return refuse(400, "the request line is empty", reason);
    }
    size_t start = at;
    long end = line_end(p, at, length, limits->line, 414, &incomplete, reason);
    if (end < 0) return end;
    if (incomplete) return 0;

    out->base = p;
    out->field_count = 0;
    out->chunked = out->has_length = out->expects_continue = 0;
    out->content_length = 0;

    size_t i = start;
    while (i < (size_t)end && is_token(p[i])) i++;
    if (i == start || i - start > 32 || i >= (size_t)end || p[i] != ' ')
        return refuse(400, "the method is malformed", reason);
    out->method = (hl_slice){(uint32_t)start, (uint32_t)(i - start)};
    size_t target = ++i;
    while (i < (size_t)end && p[i] > 0x20 && p[i] != 0x7f) i++;
    if (i == target || i >= (size_t)end || p[i] != ' ') return refuse(400, "the request target is malformed", reason);
    out->target = (hl_slice){(uint32_t)target, (uint32_t)(i - target)};
    i++;
    if ((size_t)end - i != 8 || memcmp(p + i, "HTTP/", 5) != 0 || p[i + 6] != '.' || p[i + 5] < '0' || p[i + 5] > '9'
        || p[i + 7] < '0' || p[i + 7] > '9')
        return refuse(400, "the HTTP version is malformed", reason);
    if (p[i + 5] != '1') return refuse(505, "only the versions 1.0 and 1.1 of HTTP are served", reason);
    out->minor_version = p[i + 7] == '0' ? 0 : 1;

    int hosts = 0, close = 0, keep = 0, lengths = 0, codings = 0;
    at = (size_t)end + 2;
    for (;;) {
        if (at >= length) return 0;
        incomplete = 0;
        if (p[at] == '\r') {
            if (at + 1 >= length) return 0;
            if (p[at + 1] != '\n') return refuse(400, "a CR stands alone", reason);
            break;
        }
        end = line_end(p, at, length, limits->head, 431, &incomplete, reason);
        if (end < 0) return end;
        if (incomplete) return 0;
        if (p[at] == ' ' || p[at] == '\t') return refuse(400, "a field line is folded", reason);
        size_t name = at;
        while (at < (size_t)end && is_token(p[at])) at++;
        if (at == name || at >= (size_t)end || p[at] != ':')
            return refuse(400, "a field name is malformed", reason);
        size_t name_length = at - name;
        at++;
        while (at < (size_t)end && (p[at] == ' ' || p[at] == '\t')) at++;
        size_t value = at, last = (size_t)end;
        while (last > value && (p[last - 1] == ' ' || p[last - 1] == '\t')) last--;
        for (size_t k = value; k < last; k++)
            if ((p[k] < 0x20 && p[k] != '\t') || p[k] == 0x7f)
                return refuse(400, "a field value has a control character", reason);
        if (out->field_count >= limits->fields || out->field_count >= HL_MAX_FIELDS)
            return refuse(431, "there are too many fields", reason);
        out->fields[out->field_count++] = (hl_field){{(uint32_t)name, (uint32_t)name_length},
                                                     {(uint32_t)value, (uint32_t)(last - value)}};
        size_t size = last - value;
        switch (name_length) {
        case 4:
            if (equals(p + name, 4, "host")) {
                hosts++;
                for (size_t k = value; k < last; k++)
                    if (p[k] == ' ' || p[k] == '\t' || p[k] == ',' || p[k] == '/' || p[k] == '@' || p[k] == '\\')
                        return refuse(400, "Host is malformed", reason);
            }
            break;
        case 6:
            if (equals(p + name, 6, "expect")) {
                if (!equals(p + value, size, "100-continue"))
                    return refuse(417, "only the expectation 100-continue can be met", reason);
                out->expects_continue = 1;
            }
            break;
        case 10:
            if (equals(p + name, 10, "connection")) read_connection(p + value, size, &close, &keep);
            break;
        case 14:
            if (equals(p + name, 14, "content-length")) {
                if (lengths++) return refuse(400, "Content-Length is repeated", reason);
                if (size == 0 || size > 18) return refuse(size ? 413 : 400, "Content-Length can't be used", reason);
                int64_t total = 0;
                for (size_t k = value; k < last; k++) {
                    if (p[k] < '0' || p[k] > '9') return refuse(400, "Content-Length is no number", reason);
                    total = total * 10 + (p[k] - '0');
                }
                out->has_length = 1;
                out->content_length = total;
            }
            break;
        case 17:
            if (equals(p + name, 17, "transfer-encoding")) {
                if (codings++) return refuse(400, "Transfer-Encoding is repeated", reason);
                if (!equals(p + value, size, "chunked")) return refuse_codings(p + value, size, reason);
                out->chunked = 1;
            }
            break;
        default:
            break;
        }
        at = (size_t)end + 2;
    }
    if (lengths && codings) return refuse(400, "Transfer-Encoding and Content-Length come together", reason);
    if (codings && out->minor_version == 0) return refuse(400, "Transfer-Encoding needs HTTP/1.1", reason);
    if (hosts > 1 || (hosts == 0 && out->minor_version == 1)) return refuse(400, "Host must be there once", reason);
    if (out->content_length > limits->body) return refuse(413, "the body is larger than maxBodySize", reason);
    if (out->minor_version == 0) out->expects_continue = 0;
    out->keep_alive = close ? 0 : out->minor_version == 1 ? 1 : (uint8_t)keep;
    out->head_length = (uint32_t)(at + 2);
    return (long)(at + 2);
}

long hl_parse_head(const uint8_t *p, size_t length, const hl_limits *limits, hl_request *out, const char **reason) {
    int full = length >= limits->head;
    long head = parse(p, full ? limits->head : length, limits, out, reason);
    return head == 0 && full ? refuse(431, "the head is too large", reason) : head;
}

enum { SIZE, SIZE_SPACE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER_START, TRAILER_NAME, TRAILER, TRAILER_LF, LAST_LF };
enum { CHUNK_SECTION_LIMIT = 16384 };

static int hex(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

long hl_chunks_decode(hl_chunks *s, const uint8_t *p, size_t length, const uint8_t **piece, size_t *piece_length,
                      int *done) {
    *piece = NULL;
    *piece_length = 0;
    *done = 0;
    size_t i = 0;
    while (i < length) {
        uint8_t c = p[i];
        switch (s->state) {
        case SIZE: {
            int digit = hex(c);
            if (digit >= 0) {
                if (++s->count > 15) return -1;
                s->left = s->left << 4 | (uint64_t)digit;
            } else if (s->count == 0) {
                return -1;
            } else if (c == ';' || c == ' ' || c == '\t') {
                s->state = c == ';' ? EXTENSION : SIZE_SPACE;
                s->count = 0;
            } else if (c == '\r') {
                s->state = SIZE_LF;
            } else {
                return -1;
            }
            i++;
            break;
        }
        case SIZE_SPACE: /* only an extension may follow (RFC 9112 7.1.1) */
            if (c == ';') s->state = EXTENSION;
            else if ((c != ' ' && c != '\t') || ++s->count > CHUNK_SECTION_LIMIT) return -1;
            i++;
            break;
        case EXTENSION:
            if (c == '\r') s->state = SIZE_LF;
            else if ((c < 0x20 && c != '\t') || c == 0x7f || ++s->count > CHUNK_SECTION_LIMIT) return -1;
            i++;
            break;
        case SIZE_LF:
            if (c != '\n') return -1;
            s->count = 0;
            s->state = s->left ? DATA : TRAILER_START;
            i++;
            break;
        case DATA: {
            size_t n = length - i;
            if (n > s->left) n = (size_t)s->left;
            *piece = p + i;
            *piece_length = n;
            s->left -= n;
            if (s->left == 0) s->state = DATA_CR;
            return (long)(i + n);
        }
        case DATA_CR:
            if (c != '\r') return -1;
            s->state = DATA_LF;
            i++;
            break;
        case DATA_LF:
            if (c != '\n') return -1;
            s->state = SIZE;
            s->count = 0;
            i++;
            break;
        case TRAILER_START:
            if (c == '\r') {
                s->state = LAST_LF;
                i++;
                break;
            }
            if (!is_token(c)) return -1;
            s->state = TRAILER_NAME;
            break;
        case TRAILER_NAME:
            if (c == ':') s->state = TRAILER;
            else if (!is_token(c) || ++s->count > CHUNK_SECTION_LIMIT) return -1;
            i++;
            break;
        case TRAILER:
            if (c == '\r') s->state = TRAILER_LF;
            else if ((c < 0x20 && c != '\t') || c == 0x7f || ++s->count > CHUNK_SECTION_LIMIT) return -1;
            i++;
            break;
        case TRAILER_LF:
            if (c != '\n') return -1;
            s->state = TRAILER_START;
            i++;
            break;
        case LAST_LF:
            if (c != '\n') return -1;
            *done = 1;
            return (long)(i + 1);
        default:
            return -1;
        }
    }
    return (long)i;
}
