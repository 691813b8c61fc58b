"""Hits: answers from the cache, against caches and a static server."""

import functools
import os
import tempfile
import time

import contestants
from harness import ALONE, BOTH, Figure, ask, interleave, ratio_figures, wrk

KIB = 1024


def documents(space, sizes):
    """A folder with one file for each size, named by it."""
    root = space.folder / "documents"
    root.mkdir()
    for size in sizes:
        (root / str(size)).write_bytes(bytes(ord("a") + n % 23 for n in range(1024)) * (size // 1024 + 1))
        with open(root / str(size), "r+b") as file:
            file.truncate(size)
    return root


def whole_answer(port, path):
    """The bytes of an answer as they are on the wire."""
    import socket
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        text = b""
        while piece := connection.recv(1 << 16):
            text += piece
    return text.replace(b"Connection: close\r\n", b"")


def warm(server, path):
    """Until the answer comes from the cache's memory."""
    for _ in range(3):
        status, fields, _ = ask(server.port, "GET", path)
        if status != 200:
            raise RuntimeError(f"{server.name}{path}: {status}")
    return fields


class Field:
    """The contestants of a hit with the paths under which they answer it."""

    def __init__(self, space, sizes, large=False, cores=ALONE):
        self.space = space
        root = documents(space, sizes)
        http = contestants.LARGE if large else contestants.SMALL
        origin = contestants.nginx_origin(space, root)
        self.ours = contestants.holdfast(space, origin, cores=cores)
        self.static = contestants.nginx_static(space, root, http, cores)
        self.cache = contestants.nginx_cache(space, origin, http, cores)
        self.varnish = contestants.varnish(space, origin, cores)
        self.bare = None

    def servers(self):
        found = {"Holdfast": self.ours, "nginx static": self.static, "nginx proxy_cache": self.cache,
                 "varnish": self.varnish}
        if self.bare:
            found["bare libevent loop"] = self.bare
        return found

    def add_bare_loop(self, path):
        warm(self.ours, f"/resources{path}")
        self.bare = contestants.bare_loop(self.space, whole_answer(self.ours.port, f"/resources{path}"))

    def measure(self, path, **load):
        runs = {}
        for name, server in self.servers().items():
            own = f"/resources{path}" if server is self.ours else path
            if server is not self.bare:
                warm(server, own)
            runs[name] = lambda server=server, own=own: wrk(server, own, seconds=self.space.seconds, **load)
        return interleave(self.space.rounds, runs)


def hit(space):
    """hit, 1 KiB, keep-alive, 32 connections"""
    field = Field(space, [KIB])
    field.add_bare_loop(f"/{KIB}")
    loads = field.measure(f"/{KIB}")
    work, ours = "hit 1 KiB, 32 connections", loads["Holdfast"]
    yield from ratio_figures("hit", work, ours, "nginx proxy_cache", loads["nginx proxy_cache"], 1.2, 1.5)
    yield from ratio_figures("hit", work, ours, "nginx static", loads["nginx static"], 1.0, 1.2)
    yield from ratio_figures("hit", work, ours, "bare libevent loop", loads["bare libevent loop"], None, 0.9)
    yield from ratio_figures("hit", work, ours, "varnish", loads["varnish"])


def hit_304(space):
    """hit, 304 on If-None-Match"""
    field = Field(space, [KIB])
    runs = {}
    for name, server in field.servers().items():
        own = f"/resources/{KIB}" if server is field.ours else f"/{KIB}"
        tag = warm(server, own)["ETag"]
        runs[name] = lambda server=server, own=own, tag=tag: wrk(
            server, own, seconds=space.seconds, headers=[f"If-None-Match: {tag}"])
    loads = interleave(space.rounds, runs)
    work, ours = "hit, 304 on If-None-Match", loads["Holdfast"]
    yield from ratio_figures("hit-304", work, ours, "nginx proxy_cache", loads["nginx proxy_cache"], 1.2)
    yield from ratio_figures("hit-304", work, ours, "nginx static", loads["nginx static"], 1.0)
    yield from ratio_figures("hit-304", work, ours, "varnish", loads["varnish"])


def hit_large(space):
    """hit, 64 MiB file"""
    size = 64 * KIB * KIB
    field = Field(space, [size], large=True)
    loads = field.measure(f"/{size}", connections=4)
    for name in ("nginx static", "nginx proxy_cache", "varnish"):
        target = 1.0 if name == "nginx static" else None
        yield from ratio_figures("hit-large", "hit 64 MiB, 4 connections", loads["Holdfast"], name, loads[name], target)


def hit_sizes(space):
    """hits of 100 bytes to 1 MiB, at 1, 32 and 1,000 connections"""
    sizes = [100, KIB, 10 * KIB, 100 * KIB, KIB * KIB]
    field = Field(space, sizes)
    shapes = [(size, 32) for size in sizes] + [(KIB, 1), (KIB, 1000)]
    for size, connections in shapes:
        loads = field.measure(f"/{size}", connections=connections)
        for name in ("nginx static", "nginx proxy_cache", "varnish"):
            yield from ratio_figures("hit-sizes", f"hit {size:,} bytes, {connections} connections",
                                     loads["Holdfast"], name, loads[name])


def hit_threads(space):
    """hits with two loop threads and two threads of load, all on the same two cores"""
    field = Field(space, [KIB], cores=BOTH)
    loads = field.measure(f"/{KIB}", connections=64, cores=BOTH)
    for name in ("nginx static", "nginx proxy_cache", "varnish"):
        yield from ratio_figures("hit-threads", "hit 1 KiB, two loop threads, 64 connections", loads["Holdfast"], name,
                                 loads[name])


def hit_pipelined(space):
    """hits, 16 requests in one write"""
    field = Field(space, [KIB])
    runs = {}
    for name, server in field.servers().items():
        own = f"/resources/{KIB}" if server is field.ours else f"/{KIB}"
        warm(server, own)
        script = space.folder / f"pipeline-{name.replace(' ', '-')}.lua"
        script.write_text(f"""
local many
function init() local one = wrk.format("GET", "{own}"); many = string.rep(one, 16) end
function request() return many end
""")
        runs[name] = lambda server=server, script=script, own=own: wrk(
            server, own, seconds=space.seconds, script=script)
    loads = interleave(space.rounds, runs)
    for name in ("nginx static", "nginx proxy_cache", "varnish"):
        yield from ratio_figures("hit-pipelined", "hit 1 KiB, 16 pipelined", loads["Holdfast"], name, loads[name])


def hit_private(space):
    """hits of a partition (Authorization) and of one of several variants (Vary)"""
    field = Field(space, [KIB])
    plain = field.measure(f"/{KIB}")["Holdfast"]
    headers = ["Authorization: Bearer 0123456789abcdef", "Accept-Language: en"]
    fields = dict(header.split(": ") for header in headers)
    for _ in range(3):
        ask(field.ours.port, "GET", f"/resources/{KIB}", headers=fields)
    own = interleave(space.rounds, {"Holdfast": lambda: wrk(
        field.ours, f"/resources/{KIB}", seconds=space.seconds, headers=headers)})["Holdfast"]
    yield Figure("hit-private", "hit 1 KiB with Authorization, CPU", f"{own.cpu * 1e6:.2f} µs", "the same without",
                 f"{plain.cpu * 1e6:.2f} µs", plain.cpu / own.cpu, None)


RANDOM = """
function init(arguments) math.randomseed(tonumber(arguments[1])) end
function request() return wrk.format("GET", "{prefix}/any/" .. {number}) end
"""
UNIFORM = "math.random(1, {entries})"
# Of Zipf's law with the exponent 1: the logarithm of the rank is evenly spread.
ZIPF = "math.floor({entries} ^ math.random())"


class Asking:
    """A load of random targets, others in each run."""

    def __init__(self, server, prefix, numbers, entries):
        self.server = server
        self.script = server.folder / f"random-{server.port}-{abs(hash(numbers))}.lua"
        self.script.write_text(RANDOM.format(prefix=prefix, number=numbers.format(entries=entries)))

    def run(self, seconds):
        return wrk(self.server, "/", seconds=seconds, script=self.script, arguments=[time.monotonic_ns() % 2**31])


def hit_many(space):
    """hits with 1,000,000 entries against 1,000, all in the view"""
    origin = contestants.nginx_origin(space, documents(space, [KIB]))
    runs = {}
    for entries in (1000, 1_000_000):
        server = contestants.holdfast(
            space, origin, name=f"Holdfast with {entries}", memoryLimit="4GiB", maxStoreSize="16GiB")
        for _ in range(2):  # into the store, and from there into the view
            fill(space, server, entries, "/resources")
        runs[entries] = functools.partial(Asking(server, "/resources", UNIFORM, entries).run, space.seconds)
    loads = interleave(space.rounds, runs)
    few, many = loads[1000], loads[1_000_000]
    yield Figure("hit-many", "hit among 1,000,000 entries, CPU", f"{many.cpu * 1e6:.2f} µs", "among 1,000",
                 f"{few.cpu * 1e6:.2f} µs", few.cpu / many.cpu, 0.9)


def hit_disk(space):
    """hits with 1,000,000 entries, uniform and Zipf, the view holding a tenth of them; nginx's files all in memory"""
    with tempfile.TemporaryDirectory(prefix="holdfast-", dir="/dev/shm") as memory:
        os.chmod(memory, 0o755)  # for nginx's worker
        yield from among_many(space, f"{memory}/nginx-cache")


def among_many(space, folder):
    entries = 1_000_000
    origin = contestants.nginx_origin(space, documents(space, [KIB]))
    ours = contestants.holdfast(space, origin, memoryLimit="160MiB", maxStoreSize="16GiB")
    cache = contestants.nginx_cache(space, origin, folder=folder, keys="256m")
    fill(space, ours, entries, "/resources")
    fill(space, cache, entries)
    for name, numbers in (("uniform", UNIFORM), ("Zipf", ZIPF)):
        runs = {}
        for server, prefix in ((ours, "/resources"), (cache, "")):
            asking = Asking(server, prefix, numbers, entries)
            asking.run(5)
            runs[server.name] = functools.partial(asking.run, space.seconds)
        loads = interleave(space.rounds, runs)
        yield from ratio_figures("hit-disk", f"hit among 1,000,000 entries, a tenth in the view, {name}",
                                 loads["Holdfast"], "nginx proxy_cache", loads["nginx proxy_cache"])


FILL = """
local n
function init(arguments) n = tonumber(arguments[1]) end
function request() n = math.min(n + 1, {entries}); return wrk.format("GET", "{prefix}/any/" .. n) end
"""


def fill(space, server, entries, prefix=""):
    """Reads targets 1 to `entries` over many connections, and the last one until a load's time is over."""
    script = space.folder / "fill.lua"
    script.write_text(FILL.format(prefix=prefix, entries=entries))
    done = 0
    while done < entries:
        done += wrk(server, "/", connections=64, seconds=5, script=script, arguments=[done]).count
