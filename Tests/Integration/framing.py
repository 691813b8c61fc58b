"""What bytes of requests mean: a strict reading of what Holdfast sends on, and of the answers that it gives."""

import socket
import threading
from dataclasses import dataclass

TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


class Malformed(Exception):
    pass


@dataclass
class Message:
    """A request or an answer."""

    start: list  # the three parts of its first line
    fields: list  # pairs of lower-case name and value
    body: bytes
    is_whole: bool

    def all(self, name):
        return [value for other, value in self.fields if other == name]


def need(condition, what):
    if not condition:
        raise Malformed(what)


def read_head(data):
    """The first line's parts, the fields and what follows; nothing that RFC 9112 lets a reader forgive is forgiven."""
    head, end, rest = data.partition(b"\r\n\r\n")
    need(end, b"no end of the head in " + data[:200])
    lines = head.split(b"\r\n")
    need(not any(byte in line for line in lines for byte in b"\r\n\0"), b"a stray control character in " + head)
    fields = []
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        need(colon and name and TOKEN.issuperset(name), b"the field line " + line)
        fields.append((name.lower(), value.strip(b" \t")))
    parts = lines[0].split(b" ", 2)
    need(len(parts) >= 2, b"the first line " + lines[0])
    return parts, fields, rest


def read_chunks(data):
    """The body, whether it is whole, and what follows."""
    body = b""
    while True:
        size, end, data = data.partition(b"\r\n")
        if not end:
            return body, False, b""
        need(size and all(digit in b"0123456789abcdefABCDEF" for digit in size), b"the chunk size " + size)
        length = int(size, 16)
        if length == 0:
            need(data[:2] in (b"\r\n", b"\r", b""), b"trailers " + data[:40])
            return body, data[:2] == b"\r\n", data[2:]
        body += data[:length]
        if len(data) < length + 2:
            return body, False, b""
        need(data[length:length + 2] == b"\r\n", b"the end of a chunk")
        data = data[length + 2:]


def read_message(data, has_body=True, until_close=False):
    """One message and what follows it."""
    start, fields, rest = read_head(data)
    names = [name for name, _ in fields]
    lengths, codings = names.count(b"content-length"), names.count(b"transfer-encoding")
    need(lengths + codings <= 1, b"two framings: " + data[:400])
    if not has_body:
        return Message(start, fields, b"", True), rest
    if codings:
        need(dict(fields)[b"transfer-encoding"] == b"chunked", b"the coding")
        body, is_whole, rest = read_chunks(rest)
        return Message(start, fields, body, is_whole), rest
    if until_close and not lengths:
        return Message(start, fields, rest, True), b""
    length = int(dict(fields).get(b"content-length", 0))
    return Message(start, fields, rest[:length], len(rest) >= length), rest[length:]


def read_requests(data):
    """What an origin must understand of a connection's bytes: each request, and how many bytes its start leaves."""
    requests = []
    while data:
        length = len(data)
        message, data = read_message(data)
        need(len(message.start) == 3 and message.start[2] == b"HTTP/1.1", b"the request line")
        need(len(message.all(b"host")) == 1, b"Host is not there once")
        need(message.is_whole or not data, b"a request behind an open one")
        requests.append((message, length))
    return requests


def read_answers(data):
    """The final answers to requests that are not HEAD, in order."""
    answers = []
    while data:
        status = int(data[9:12])
        message, data = read_message(data, 200 <= status and status not in (204, 304), until_close=True)
        if status >= 200:
            answers.append((status, message))
    return answers


def exchange(port, data, timeout=5):
    """All that comes back for bytes, behind which the client sends no more. A reset ends it too."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                received += piece
        except ConnectionError:
            pass
    return received


class Tap:
    """Keeps what passes a road towards the origin."""

    def __init__(self, road):
        self.lock = threading.Lock()
        self.streams = {}  # by connection: pieces, each with its place among all
        self.count = 0
        road.heard = self.hear

    def hear(self, connection, piece):
        with self.lock:
            self.count += 1
            self.streams.setdefault(connection, []).append((self.count, piece))

    def requests(self):
        """All requests so far, read strictly, in the order in which they began."""
        with self.lock:
            streams = [list(pieces) for pieces in self.streams.values()]
        found = []
        for pieces in streams:
            for request, rest in read_requests(b"".join(piece for _, piece in pieces)):
                behind = 0
                for place, piece in reversed(pieces):
                    behind += len(piece)
                    if behind >= rest:
                        break
                found.append((place, request))
        return [request for _, request in sorted(found, key=lambda each: each[0])]
