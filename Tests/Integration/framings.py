"""Bytes on which readers of HTTP/1.1 disagree: a request that may hide a second one. A third comes behind each case."""

import random

CASE = b"CASE"  # stands where a case's number comes, which has as many digits
HIDDEN = b"GET /resources/CASE/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
AFTER = b"GET /resources/CASE/after HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LINE = b"POST /resources/CASE/first HTTP/1.1"


def chunked(data, size=b"%x", end=b"0\r\n\r\n"):
    return size % len(data) + b"\r\n" + data + b"\r\n" + end


def post(*fields, body=b"", line=LINE, host=b"Host: localhost"):
    return b"\r\n".join([line, *([host] if host else []), b"Content-Type: text/plain", *fields]) + b"\r\n\r\n" + body


LONG = b"Content-Length: %d" % len(HIDDEN)
CHUNKS = b"Transfer-Encoding: chunked"
BOTH = b"0\r\n\r\n" + HIDDEN  # no body for who reads chunks, a request for who reads a length

# What is right: read in full, the hidden request being a part of the body.
ACCEPTED = {
    "a length": post(LONG, body=HIDDEN),
    "chunks": post(CHUNKS, body=chunked(HIDDEN)),
    "chunks in upper case": post(b"TRANSFER-ENCODING: CHUNKED", body=chunked(HIDDEN)),
    "a chunk size with zeros": post(CHUNKS, body=chunked(b"ab", b"0000%x")),
    "a chunk extension": post(CHUNKS, body=chunked(b"ab", b'%x;a="b;c"')),
    "a trailer": post(CHUNKS, body=chunked(b"ab", end=b"0\r\nContent-Length: 5\r\n\r\n")),
    "spaces around a length": post(b"Content-Length:   2 ", body=b"ab"),
    "a length with zeros": post(b"Content-Length: 0002", body=b"ab"),
    "an empty line in front": b"\r\n" + post(LONG, body=HIDDEN),
    "absolute-form": post(LONG, body=HIDDEN, line=b"POST http://localhost/resources/CASE/first HTTP/1.1"),
    "a name close to the length's": post(LONG, b"Content_Length: 0", b"Content-Length2: 0", body=HIDDEN),
    "Connection names the length": post(LONG, b"Connection: content-length", body=HIDDEN),
}

# What has two readings: refused, and nothing behind it is read.
REFUSED = {
    "two lengths": post(b"Content-Length: 0", LONG, body=HIDDEN),
    "the same length twice": post(LONG, LONG, body=HIDDEN),
    "a list of lengths": post(b"Content-Length: 2, 2", body=b"ab"),
    "a signed length": post(b"Content-Length: +2", body=b"ab"),
    "a negative length": post(b"Content-Length: -2", body=b"ab"),
    "a hexadecimal length": post(b"Content-Length: 0x2", body=b"ab"),
    "a length beyond 64 bits": post(b"Content-Length: 18446744073709551618", body=b"ab"),
    "no length in the field": post(b"Content-Length:", body=HIDDEN),
    "a length and chunks": post(LONG, CHUNKS, body=BOTH),
    "chunks and a length": post(CHUNKS, LONG, body=BOTH),
    "chunks twice": post(CHUNKS, CHUNKS, body=BOTH),
    "chunked, chunked": post(b"Transfer-Encoding: chunked, chunked", body=BOTH),
    "identity": post(b"Transfer-Encoding: identity", LONG, body=HIDDEN),
    "gzip, chunked": post(b"Transfer-Encoding: gzip, chunked", body=BOTH),
    "x, chunked": post(b"Transfer-Encoding: x, chunked", body=BOTH),
    "identity, chunked": post(b"Transfer-Encoding: identity, chunked", body=BOTH),
    "chunked behind a comma": post(b"Transfer-Encoding: ,chunked", LONG, body=BOTH),
    "chunked before a comma": post(b"Transfer-Encoding: chunked,", LONG, body=BOTH),
    "chunked with a parameter": post(b"Transfer-Encoding: chunked;q=1", LONG, body=BOTH),
    "a coding, and chunks in another field": post(b"Transfer-Encoding: gzip", CHUNKS, body=BOTH),
    "chunks, and a coding in another field": post(CHUNKS, b"Transfer-Encoding: identity", body=BOTH),
    "chunked, gzip": post(b"Transfer-Encoding: chunked, gzip", body=BOTH),
    "an unknown coding": post(b"Transfer-Encoding: xchunked", LONG, body=BOTH),
    "a quoted coding": post(b'Transfer-Encoding: "chunked"', LONG, body=BOTH),
    "a vertical tab before the coding": post(b"Transfer-Encoding: \x0bchunked", LONG, body=BOTH),
    "an empty coding": post(b"Transfer-Encoding:", LONG, body=BOTH),
    "a space before the colon": post(b"Transfer-Encoding : chunked", LONG, body=BOTH),
    "a tab before the colon": post(b"Content-Length\t: 0", body=HIDDEN),
    "a folded coding": post(b"Transfer-Encoding:\r\n chunked", LONG, body=BOTH),
    "a folded field": post(b"X: a\r\n Content-Length: 0", LONG, body=HIDDEN),
    "a space before the first field": post(host=b" Host: localhost", body=b""),
    "a CR within a value": post(b"X: a\rTransfer-Encoding: chunked", LONG, body=BOTH),
    "an LF ends a field": post(b"X: a\nTransfer-Encoding: chunked", LONG, body=BOTH),
    "LF alone": post(LONG, body=HIDDEN).replace(b"\r\n", b"\n"),
    "a NUL in a value": post(b"X: a\0b", LONG, body=HIDDEN),
    "a NUL in a name": post(b"Transfer-Encoding\0: chunked", LONG, body=BOTH),
    "a name with a byte above ASCII": post(b"Transfer-Encoding\xa0: chunked", LONG, body=BOTH),
    "no name": post(b": x", LONG, body=HIDDEN),
    "no colon": post(b"Transfer-Encoding chunked", LONG, body=BOTH),
    "two hosts": post(b"Host: localhost", LONG, body=HIDDEN),
    "no host": post(LONG, body=HIDDEN, host=None),
    "chunks in HTTP/1.0": post(CHUNKS, body=BOTH, line=LINE.replace(b"1.1", b"1.0")),
    "HTTP/2.0": post(LONG, body=HIDDEN, line=LINE.replace(b"1.1", b"2.0")),
    "HTTP/1.10": post(LONG, body=HIDDEN, line=LINE + b"0"),
    "no version": post(LONG, body=HIDDEN, line=LINE[:-9]),
    "two spaces before the version": post(LONG, body=HIDDEN, line=LINE.replace(b" HTTP", b"  HTTP")),
    "a tab before the version": post(LONG, body=HIDDEN, line=LINE.replace(b" HTTP", b"\tHTTP")),
    "a space behind the version": post(LONG, body=HIDDEN, line=LINE + b" "),
    "a space in the target": post(LONG, body=HIDDEN, line=LINE.replace(b"/first", b"/first x")),
    "a NUL in the target": post(LONG, body=HIDDEN, line=LINE.replace(b"/first", b"/first\0")),
    "two empty lines in front": b"\r\n\r\n" + post(LONG, body=HIDDEN),
    "a space in front": b" " + post(LONG, body=HIDDEN),
}

# Refused while the body is read: what came before may have been sent on, what comes behind never is.
BROKEN_BODIES = {
    "a chunk size with a sign": post(CHUNKS, body=chunked(b"ab", b"+%x")),
    "a chunk size with 0x": post(CHUNKS, body=chunked(b"ab", b"0x%x")),
    "a chunk size beyond 64 bits": post(CHUNKS, body=chunked(b"ab", b"1000000000000000%x")),
    "a space before a chunk size": post(CHUNKS, body=chunked(b"ab", b" %x")),
    "no chunk size": post(CHUNKS, body=b"\r\n" + HIDDEN),
    "an LF behind a chunk size": post(CHUNKS, body=b"2\nab\r\n0\r\n\r\n"),
    "an LF in a chunk extension": post(CHUNKS, body=b"2;a\nab\r\n0\r\n\r\n"),
    "a NUL in a chunk extension": post(CHUNKS, body=chunked(b"ab", b"%x;a\0b")),
    "a chunk without its end": post(CHUNKS, body=b"2\r\nab0\r\n\r\n"),
    "a chunk that ends in LF": post(CHUNKS, body=b"2\r\nab\n0\r\n\r\n"),
    "a chunk that ends in two other bytes": post(CHUNKS, body=b"2\r\nabxx0\r\n\r\n"),
    "a chunk longer than its size": post(CHUNKS, body=b"1\r\nab\r\n0\r\n\r\n"),
    "a trailer with a space before the colon": post(CHUNKS, body=chunked(b"ab", end=b"0\r\nX : y\r\n\r\n")),
    "a folded trailer": post(CHUNKS, body=chunked(b"ab", end=b"0\r\nX: y\r\n z\r\n\r\n")),
    "the last chunk ends in LF": post(CHUNKS, body=chunked(b"ab", end=b"0\n\r\n")),
    "trailers end in LF": post(CHUNKS, body=chunked(b"ab", end=b"0\r\n\n")),
}

FRAGMENTS = [
    b"", b"\r", b"\n", b"\0", b" ", b"\t", b"\x0b", b"\x7f", b"\x80", b"\xa0", b"\xff", b":", b";", b",", b'"', b"\\",
    b"/", b"//", b"@", b"#", b"?", b"%00", b"%0d%0a", b"..", b"%2e%2e", b"0", b"1", b"f", b"-", b"+", b"x", b"_",
    b"\r\n", b"\r\n ", b"\n\n", b"\r\n0\r\n\r\n", b"http://localhost", b"http://a@localhost", b"HTTP/1.0",
]

FIELDS = [
    b"Content-Length: 0", b"Content-Length: 3", b"Content-length : 3", b"Transfer-Encoding: chunked", b"TE: trailers",
    b"Transfer_Encoding: chunked", b"Transfer-Encoding: x, chunked", b"Transfer-Encoding: chunked, identity",
    b"Connection: close", b"Connection: keep-alive", b"Connection: Transfer-Encoding", b"Connection: upgrade",
    b"Upgrade: h2c", b"Expect: 100-continue", b"Trailer: Content-Length", b"X-Method-Override: GET",
    b"Host: other", b"X: \xff", b"X:", b"X", b"",
]

STARTS = [b"/resources/CASE/f", b"/resources/CASE/h"]


def mutated(seed):
    """One of the cases above with one or two faults more, most of them where framing is decided."""
    chance = random.Random(seed)
    cases = chance.choice([ACCEPTED, ACCEPTED, REFUSED, BROKEN_BODIES])
    data = chance.choice(list(cases.values()))
    for _ in range(chance.randint(1, 2)):
        changed = with_fault(chance, data)
        # The start of each target stays, so that it can be told whose request it is.
        if all(changed.count(start) >= data.count(start) for start in STARTS):
            data = changed
    return data


def with_fault(chance, data):
    lines = data.split(b"\r\n")
    kind = chance.randrange(5)
    if kind == 0:
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
        return b"\r\n".join(lines)
    if kind == 1:
        lines.insert(chance.randint(1, len(lines)), chance.choice(FIELDS))
        return b"\r\n".join(lines)
    at = chance.randrange(len(data))
    if kind == 2:  # where framing is decided
        words = [b"\r\n", b":", b"Content-Length", b"chunked", b"Transfer-", b" HTTP/1", b"/resources", b"\r\n\r\n"]
        at = max(0, data.find(chance.choice(words), at)) + chance.randrange(3)
    replaced = 0 if kind == 2 else chance.randrange(3)
    return data[:at] + chance.choice(FRAGMENTS) + data[at + replaced:]
