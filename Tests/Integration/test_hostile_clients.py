"""Clients that are slow, greedy or many on purpose: they are told no, or wait, and others are served meanwhile."""

import contextlib
import json
import os
import resource
import socket
import threading
import time

import pytest

from framing import exchange, read_answers
from service import eventually

SOON = 1.0  # seconds in which others are served


@contextlib.contextmanager
def connections(port, count, send=b"", receive_buffer=None):
    """So many clients at once, each having sent the same."""
    opened = []
    try:
        for _ in range(count):
            client = socket.socket()
            opened.append(client)
            if receive_buffer:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            client.connect(("127.0.0.1", port))
            if send:
                client.sendall(send)
        yield opened
    finally:
        for client in opened:
            client.close()


def descriptors(holdfast):
    return len(os.listdir(f"/proc/{holdfast.process.pid}/fd"))


def served(holdfast, target="/items/1"):
    """Whether another client gets its answer soon."""
    began = time.monotonic()
    return holdfast.get(target).status == 200 and time.monotonic() - began < SOON


def status(data):
    """Of the only answer; None where there is none."""
    answers = read_answers(data)
    assert len(answers) <= 1
    return answers[0][0] if answers else None


def received(client):
    """All that still comes; a reset ends it too."""
    data = b""
    client.settimeout(5)
    with contextlib.suppress(ConnectionError):
        while piece := client.recv(65536):
            data += piece
    return data


@pytest.fixture
def kept(origin, holdfast_with):
    """A service with short limits that keeps /items/1."""
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/items/1", {"n": 1})
    holdfast = holdfast_with(limits={"head": 1, "idle": 2, "write": 1})
    assert holdfast.get("/items/1").status == 200
    return holdfast


def test_heads_that_drip_in_hold_nobody_up_and_end_with_408(kept):
    with connections(kept.port, 500, b"GET /resources/items/1 HTTP/1.1\r\nHost: localhost\r\n") as clients:
        began = time.monotonic()
        for _ in range(20):
            for client in clients:
                with contextlib.suppress(ConnectionError):  # its second is over
                    client.sendall(b"X: y\r\n")
            assert served(kept)
        ended = {status(received(client)) for client in clients}
        assert 408 in ended <= {408, None}  # what still dripped in may have reset the answer
        assert time.monotonic() - began < 4
    assert served(kept)


def test_bodies_that_drip_in_hold_nobody_up(kept):
    head = b"PUT /files/%d HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\nContent-Length: 1000\r\n\r\n"
    with connections(kept.port, 200) as clients:
        for number, client in enumerate(clients):
            client.sendall(head % number)
        for _ in range(5):
            for client in clients:
                client.sendall(b"x")
            assert served(kept)
    assert served(kept)


def test_readers_that_do_not_read_cost_little_and_are_cut_off(origin, kept):
    origin.put("/big", b"x" * (8 << 20), content_type="application/octet-stream")
    assert len(kept.call("GET", "/files/big").body) == 8 << 20
    idle, memory = descriptors(kept), kept.memory()
    ask = b"GET /files/big HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connections(kept.port, 100, ask, receive_buffer=4096):
        time.sleep(0.3)
        assert served(kept)
        assert kept.memory() - memory < 32 << 20
        eventually(lambda: descriptors(kept) <= idle + 2, 6)
    assert served(kept)


def test_a_client_that_asks_on_and_on_without_reading_waits(kept):
    memory = kept.memory()
    ask = b"GET /resources/items/1 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000
    with connections(kept.port, 10, receive_buffer=4096) as clients:
        for client in clients:
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(400):
                    client.send(ask)
        assert served(kept)
        assert kept.memory() - memory < 32 << 20
    assert served(kept)


GET = b"GET /resources/items/1 HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("flood, refusal", [
    (GET + b"X: y\r\n" * 1000 + b"\r\n", 431),
    (GET + b"X: " + b"y" * 200_000 + b"\r\n\r\n", 431),
    (GET + b"y" * 200_000, 431),
    (GET + b"Cookie: a=b\r\n" * 99 + b"X-Long: " + b"y" * 64_000 + b"\r\n\r\n", 431),
    (b"GET /resources/" + b"y" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    (b"G" * 200_000, 414),
    (b"\r\n" * 100_000, 400),
    (b"\0" * 200_000, 414),
], ids=["fields", "a value", "a name", "cookies", "a target", "a method", "empty lines", "zeros"])
def test_floods_of_a_head_are_refused_before_their_end(kept, flood, refusal):
    memory = kept.memory()
    answer = exchange(kept.port, flood)
    assert not answer or status(answer) == refusal  # the rest of a flood may reset what was answered
    with connections(kept.port, 1) as (client,):
        for at in range(0, len(flood), 4096):
            with contextlib.suppress(ConnectionError):
                client.sendall(flood[at:at + 4096])
                time.sleep(0.001)
        assert status(received(client)) in (refusal, None)
    assert kept.memory() - memory < 8 << 20
    assert served(kept)


def test_ten_thousand_idle_connections_cost_a_kilobyte_each_and_one_more_is_told_so(origin, holdfast):
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/items/1", {"n": 1})
    assert holdfast.get("/items/1").status == 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        if hard < 11_000:
            pytest.skip("so many descriptors are not allowed here")
        memory = holdfast.memory()
        with connections(holdfast.port, 10_000, GET + b"\r\n") as clients:
            for client in clients:
                assert client.recv(4096).startswith(b"HTTP/1.1 200")
            assert holdfast.memory() - memory < 10_000 << 10
            assert status(exchange(holdfast.port, GET + b"\r\n")) == 503
        eventually(lambda: descriptors(holdfast) < 100)
        assert served(holdfast)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("count, answer", [(5_000, 202), (100_000, 413)])
def test_a_patch_of_many_steps_holds_nobody_up(origin, kept, count, answer):
    origin.put("/items/2", {f"member {n:06d}": n for n in range(count)})
    assert kept.get("/items/2").status == 200
    origin.stop()
    patch = [{"op": "replace", "path": f"/member {n:06d}", "value": 0} for n in range(count)]
    answers = []
    sender = threading.Thread(target=lambda: answers.append(kept.call(
        "PATCH", "/resources/items/2", json.dumps(patch).encode(), {"Content-Type": "application/json-patch+json"})))
    with connections(kept.port, 20) as clients:  # some at each loop
        sender.start()
        while sender.is_alive():
            for client in clients:
                began = time.monotonic()
                client.sendall(GET + b"\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 200")
                assert time.monotonic() - began < SOON
    assert answers[0].status == answer
