"""Start, memory, and the tail of the latency."""

import signal
import socket
import threading
import time

import contestants
from harness import Figure, ask, ask_json, latencies, wrk
from rows_hits import KIB, documents, fill, warm
from rows_origin import queue_writes

MIB = KIB * KIB


def start(space):
    """start with 1,000,000 entries and 100,000 pending operations, to the first hit"""
    origin = contestants.nginx_origin(space, documents(space, [KIB]))
    data = space.folder / "many"
    options = {"data": data, "maxStoreSize": "16GiB"}
    server = contestants.holdfast(space, origin, name="Holdfast, filling", **options)
    fill(space, server, 1_000_000, "/resources")
    space.end(server, signal.SIGTERM)
    took = [first_hit(space, origin, f"start {n}", options) for n in range(space.rounds)]
    yield Figure("start", "start with 1,000,000 entries to the first hit", f"{median(took):.3f} s", "", "",
                 median(took), 0.2, True, "s")
    server = contestants.holdfast(space, origin, name="Holdfast, queueing", **options)
    queue_writes(space, server, 100_000)
    space.end(server, signal.SIGKILL)
    took = [first_hit(space, origin, f"start queued {n}", options) for n in range(space.rounds)]
    yield Figure("start", "the same with 100,000 pending operations, after kill -9", f"{median(took):.3f} s", "", "",
                 median(took), None, True, "s")


def first_hit(space, origin, name, options):
    """Seconds from exec to the answer of a stored target. The origin is not asked: FETCH_FROM_CACHE."""
    begun = time.monotonic()
    server = contestants.holdfast(space, origin, name=name, wait=False, **options)
    while True:
        try:
            status = ask(server.port, "GET", "/resources/any/777", headers={
                "Sync-Policy": "fetch-policy=FETCH_FROM_CACHE"})[0]
        except OSError:
            time.sleep(0.002)
            continue
        if status != 200:
            raise RuntimeError(f"{name}: {status}")
        took = time.monotonic() - begun
        space.end(server, signal.SIGKILL)
        return took


def median(values):
    return sorted(values)[len(values) // 2]


def memory(space):
    """memory at rest, with 10,000 idle connections, 1,000 event listeners, and of an entry beyond its body and headers"""
    origin = contestants.nginx_origin(space, documents(space, [KIB]))
    server = contestants.holdfast(space, origin, limits={"connections": 12_000})
    idle = server.resident_bytes()
    yield Figure("memory", "resident at rest", f"{idle / MIB:.1f} MiB", "", "", idle / MIB, 20, True, "MiB")
    crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10_000)]
    ask(server.port, "GET", "/health/live")
    grown = server.resident_bytes() - idle
    for one in crowd:
        one.close()
    yield Figure("memory", "10,000 idle connections", f"+{grown / MIB:.1f} MiB", "", "", grown / MIB, 8, True, "MiB")
    server = contestants.holdfast(space, origin, name="Holdfast with listeners", limits={"connections": 12_000})
    idle = server.resident_bytes()
    crowd = [listener(server) for _ in range(1_000)]
    grown = server.resident_bytes() - idle
    for one in crowd:
        one.close()
    yield Figure("memory", "1,000 event listeners", f"+{grown / MIB:.1f} MiB", "", "", grown / MIB, 32, True, "MiB")
    server = contestants.holdfast(space, origin, name="Holdfast with entries", memoryLimit="1GiB", maxStoreSize="4GiB")
    warm(server, "/resources/any/1")
    head = len(str(ask(server.port, "GET", "/resources/any/1")[1]))
    few, many = 10_000, 110_000
    # What the first ones bring with them, pools and buffers, is no entry's.
    before = filled(space, server, few)
    each = (filled(space, server, many) - before) / (many - few) - KIB - head
    yield Figure("memory", "an entry in the view beyond its body and headers", f"{each:.0f} bytes", "", "", each, 300,
                 True, "bytes")


def filled(space, server, count):
    """Bytes in memory with so many entries, all in the view."""
    for _ in range(2):  # what is asked for again is in the view
        fill(space, server, count, "/resources")
    time.sleep(12)  # Holdfast looks every 10 s at what its allocator keeps free.
    return server.resident_bytes()


def listener(server):
    """A stream of events that has begun."""
    stream = socket.create_connection(("127.0.0.1", server.port))
    stream.sendall(b"GET /cache/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while b"id: " not in stream.recv(4096):
        pass
    return stream


def percentiles(space, server, path, rate, seconds=5):
    """The 99th and 99.9th percentile of the latency at a steady rate, in seconds."""
    taken = latencies(space, server, path, 32, seconds, rate)
    return taken[int(len(taken) * 0.99)], taken[int(len(taken) * 0.999)]


def tail(space):
    """99th and 99.9th percentile of a hit at 70 % of the peak rate: alone, during delivery, during uploads of 64 MiB"""
    origin = contestants.nginx_origin(space, documents(space, [KIB]))
    server = contestants.holdfast(space, origin)
    static = contestants.nginx_static(space, space.folder / "documents")
    path = f"/resources/{KIB}"
    warm(server, path)
    rate = 0.7 * wrk(server, path, seconds=space.seconds).rate
    alone = percentiles(space, static, f"/{KIB}", 0.7 * wrk(static, f"/{KIB}", seconds=space.seconds).rate)
    for work, background in (("alone", None), ("while 10,000 operations are delivered", deliver),
                             ("while files of 64 MiB are uploaded", upload)):
        over = threading.Event()
        thread = None
        if background is deliver:
            queue_writes(space, server, 10_000)
        if background:
            thread = threading.Thread(target=background, args=(server, over))
            thread.start()
        found = percentiles(space, server, path, rate)
        over.set()
        if thread:
            thread.join()
        for name, ours, theirs in zip(("99th", "99.9th"), found, alone):
            yield Figure("tail", f"{name} percentile of a hit, {work}", f"{ours * 1e3:.2f} ms", "nginx static, alone",
                         f"{theirs * 1e3:.2f} ms", ours / theirs, None, True)


def deliver(server, over):
    ask(server.port, "PUT", "/cache/network", b'{"offline":false}', {"Content-Type": "application/json"})
    while ask_json(server.port, "/cache")["pending"] and not over.wait(0.05):
        pass


def upload(server, over):
    content, number = bytes(64 * MIB), 0
    while not over.is_set():
        number += 1
        ask(server.port, "PUT", f"/files/large/{number % 4}", content, {"Content-Type": "application/octet-stream"})
