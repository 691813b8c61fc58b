"""HTTP/1.1 on the wire, slow and broken peers, connections: faults that users met in systems of this kind."""

import concurrent.futures
import http.client
import os
import re
import socket
import threading
import time

import pytest

from service import eventually, receipt

HIDDEN = b"GET /resources/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLOSE = b"GET /resources/next HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def raw(port, sent, seconds=10):
    """All that comes back until the service closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(sent)
        received = b""
        try:
            while piece := connection.recv(65536):
                received += piece
        except ConnectionResetError:
            pass
        return received


def statuses(received):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


def post(*fields, body=b""):
    head = b"".join(b"%b\r\n" % field for field in fields)
    return b"POST /resources/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n%b\r\n%b" % (head, body)


def test_X01_a_coding_in_front_of_chunked_never_lets_the_length_count(origin, holdfast):
    body = b"0\r\n\r\n" + HIDDEN
    length = b"Content-Length: %d" % len(body)
    received = raw(holdfast.port, post(b"Transfer-Encoding: gzip, chunked", length, body=body))
    assert statuses(received) in ([400], [501])
    assert not origin.seen()


def test_X03_a_field_value_with_NUL_is_refused(origin, holdfast):
    received = raw(holdfast.port, b"GET /resources/a HTTP/1.1\r\nHost: localhost\r\nUser: a\x00b\r\n\r\n" + HIDDEN)
    assert statuses(received) == [400]
    assert not origin.seen()


def test_X05_a_chunked_body_that_nobody_reads_does_not_swallow_the_next_request(origin, holdfast):
    origin.put("/next", {"n": 1})
    request = b"PUT /resources/a?saveIfOffline=maybe HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    received = raw(holdfast.port, request + b"2\r\nab\r\n0\r\n\r\n" + CLOSE)
    assert statuses(received) in ([400], [400, 200])
    assert not origin.writes()
    if len(statuses(received)) == 1:
        assert b"Connection: close" in received


@pytest.mark.parametrize("fields, body", [
    ([b"Transfer-Encoding: chunked"], b"ffffffffffffffff0\r\nab\r\n0\r\n\r\n"),
    ([b"Transfer-Encoding: chunked", b"Content-Length: 5"], b"0\r\n\r\n"),
    ([b"Content-Length: 5", b"Transfer-Encoding: chunked"], b"0\r\n\r\n"),
], ids=["a chunk size that overflows", "chunked and a length", "a length and chunked"])
def test_X05_framing_that_can_be_read_in_two_ways_ends_the_connection(origin, holdfast, fields, body):
    received = raw(holdfast.port, post(*fields, body=body) + HIDDEN)
    assert statuses(received) == [400] and b"Connection: close" in received
    assert not origin.writes() and not origin.seen("GET", "/hidden")


def test_X07_an_answer_that_came_too_late_is_nobody_elses(origin, holdfast_with):
    holdfast = holdfast_with(timeouts={"firstByte": 0.3, "stale": 0.2})
    origin.put("/a", {"is": "a"})
    origin.put("/b", {"is": "b"})
    origin.order(method="GET", path="/a", delay=0.8)
    client = http.client.HTTPConnection("127.0.0.1", holdfast.port, timeout=10)
    client.request("GET", "/resources/a")
    late = client.getresponse()
    assert late.status == 504 and b"problems" in late.read()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        client.request("GET", "/resources/b", headers={"Cache-Control": "no-cache"})
        assert client.getresponse().read() == b'{"is": "b"}'
    client.close()


def test_X09_answers_that_never_come_cost_no_descriptor(holdfast_with):
    with socket.create_server(("127.0.0.1", 0), backlog=512) as silent:
        held = []

        def accept():
            try:
                while True:
                    held.append(silent.accept()[0])
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        holdfast = holdfast_with(origin=f"http://127.0.0.1:{silent.getsockname()[1]}",
                                 timeouts={"firstByte": 0.05, "stale": 0.05})

        def descriptors():
            return len(os.listdir(f"/proc/{holdfast.process.pid}/fd"))

        def ask(number):
            return holdfast.call("GET", f"/files/{number}").status

        with concurrent.futures.ThreadPoolExecutor(25) as pool:
            assert set(pool.map(ask, range(100))) == {504}
            before = eventually(lambda: descriptors() < 60 and descriptors(), 10)
            assert set(pool.map(ask, range(100, 1100))) == {504}
        eventually(lambda: descriptors() <= before + 3, 15)
        assert len(held) >= 100
        silent.shutdown(socket.SHUT_RDWR)
        for connection in held:
            connection.close()


@pytest.mark.parametrize("version, field", [(b"1.1", b""), (b"1.0", b"Connection: keep-alive\r\n")])
def test_X11_a_connection_serves_more_than_one_request(origin, holdfast, version, field):
    origin.headers["Cache-Control"] = "max-age=600"
    for name in "ab":
        origin.put(f"/{name}", {"is": name})
    with socket.create_connection(("127.0.0.1", holdfast.port), timeout=10) as connection:
        for name in (b"a", b"b", b"a"):
            connection.sendall(b"GET /resources/%b HTTP/%b\r\nHost: localhost\r\n%b\r\n" % (name, version, field))
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert (answer.status, answer.read()) == (200, b'{"is": "%b"}' % name)


class Closing:
    """An origin that says nothing of it and closes each connection after its second answer. `log` has the methods."""

    def __init__(self):
        self.log = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()
        except OSError:
            pass

    def serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            for _ in range(2):
                if not (request := lines.readline()):
                    return
                length = 0
                while (line := lines.readline()) not in (b"\r\n", b""):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                lines.read(length)
                self.log.append(request.split()[0].decode())
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def test_X13_a_connection_that_the_origin_closed_while_idle_costs_no_read_and_doubles_no_write(holdfast_with):
    origin = Closing()
    try:
        holdfast = holdfast_with(origin=origin.url, probe={"maxInterval": 60})
        for number in range(40):
            assert holdfast.call("GET", f"/files/{number}").body == b"ok"
        assert 40 <= origin.log.count("GET") <= 60
        for number in range(40):
            assert holdfast.call("POST", "/files/actions", b"x", {"Content-Type": "text/plain"}).status == 200
        assert origin.log.count("POST") == 40
    finally:
        origin.close()


def test_X15_an_expectation_that_nobody_knows_is_417_and_none_reaches_the_origin(origin, holdfast):
    received = raw(holdfast.port, post(b"Expect: foo", b"Content-Length: 2", body=b"ab") + HIDDEN)
    assert statuses(received) == [417]
    assert not origin.seen()
    with socket.create_connection(("127.0.0.1", holdfast.port), timeout=10) as connection:
        connection.sendall(post(b"Expect: 100-continue", b"Content-Length: 2"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"ab")
        assert connection.recv(65536).startswith(b"HTTP/1.1 201 ")
    assert "expect" not in origin.writes()[0].headers and origin.writes()[0].body == b"ab"


def test_X21_a_redirect_of_a_queued_upload_takes_the_whole_body_along(origin, holdfast):
    body = os.urandom(5_000_000)
    origin.stop()
    identifier = receipt(holdfast.call("PUT", "/files/old", body, {"Content-Type": "image/png"}))
    origin.order(method="PUT", path="/old", status=307, headers={"Location": "/new"})
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.documents["/new"].body == body and "/old" not in origin.documents
