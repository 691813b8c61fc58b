"""What goes to the origin: pass-through reads, shared misses, and delivery of the queue."""

import concurrent.futures
import statistics
import time

import contestants
from harness import LOAD_CORE, Figure, ask, ask_json, interleave, latencies, ratio_figures, wrk
from rows_hits import KIB, documents

PASS_THROUGH = {"defaultPolicy": {"fetchPolicy": "FETCH_FROM_SERVICE", "noCache": True}}


def pass_through(space):
    """pass-through GET (FETCH_FROM_SERVICE): rate, and latency added to the origin's own"""
    origin = contestants.nginx_origin(space, documents(space, [KIB]))
    ours = contestants.holdfast(space, origin, **PASS_THROUGH)
    proxy = contestants.nginx_proxy(space, origin)
    runs = {
        "Holdfast": lambda: wrk(ours, f"/resources/{KIB}", seconds=space.seconds),
        "nginx proxy_pass": lambda: wrk(proxy, f"/{KIB}", seconds=space.seconds),
    }
    loads = interleave(space.rounds, runs)
    yield from ratio_figures("pass-through", "pass-through GET, 32 connections", loads["Holdfast"], "nginx proxy_pass",
                             loads["nginx proxy_pass"], 0.5)
    slow = contestants.slow_origin(space, 5)
    ours = contestants.holdfast(space, slow, name="Holdfast before 5 ms", **PASS_THROUGH)
    proxy = contestants.nginx_proxy(space, slow, name="nginx proxy_pass before 5 ms")
    asked = {"Holdfast": (ours, "/resources/a"), "nginx": (proxy, "/a"), "origin": (slow, "/a")}
    for connections, most in ((1, 1.5), (32, 2.0)):
        taken = {name: [] for name in asked}
        for _ in range(space.rounds):
            for name, (server, path) in asked.items():
                times = latencies(space, server, path, connections, space.seconds)
                taken[name].append(times[len(times) // 2])
        # Of each round by itself: the machine's mood is the same for the three.
        added, theirs = (statistics.median(mine - own for mine, own in zip(taken[name], taken["origin"]))
                         for name in ("Holdfast", "nginx"))
        yield Figure("pass-through", f"latency added to an origin of 5 ms, {connections} connections",
                     f"{added * 1e6:.0f} µs", "nginx proxy_pass", f"{theirs * 1e6:.0f} µs", added / theirs, most, True)


def shared_miss(space):
    """500 clients ask for one cold target at once: requests at the origin"""
    slow = contestants.slow_origin(space, 1000)
    ours = contestants.holdfast(space, slow)
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(500) as pool:
        answers = list(pool.map(lambda _: ask(ours.port, "GET", "/resources/cold")[0], range(500)))
    took = time.monotonic() - started
    if set(answers) != {200}:
        raise RuntimeError(f"answers: {sorted(set(answers))}")
    count = int(ask(slow.port, "GET", "/count")[2])
    yield Figure("shared-miss", "500 clients, one cold target: requests at the origin", f"{count}", "one", "1",
                 count, 1, True, "requests")
    yield Figure("shared-miss", "the same: last answer after the origin's own second", f"{took:.2f} s", "origin", "1 s",
                 took - 1, None, True, "s")


PUT = """
local n
local body = string.rep("x", {size})
local fields = {{ ["Content-Type"] = "application/octet-stream" }}
function init(arguments) n = tonumber(arguments[1] or 0) end
function request() n = n + 1; return wrk.format("PUT", "{prefix}/items/" .. n, fields, body) end
"""


def queue_writes(space, server, count):
    """Queues PUTs of 512 bytes to `count` resources and more, offline."""
    ask(server.port, "PUT", "/cache/network", b'{"offline":true}', {"Content-Type": "application/json"})
    script = space.folder / "put.lua"
    script.write_text(PUT.format(size=512, prefix="/resources"))
    sent = 0
    while (waiting := ask_json(server.port, "/cache")["pending"]) < count:
        sent += wrk(server, "/", connections=64, seconds=1, script=script, arguments=[sent]).count + 64
    return waiting


def drain(server):
    """Seconds of the delivery of all that waits, from the moment at which Holdfast may go online."""
    started = time.monotonic()
    ask(server.port, "PUT", "/cache/network", b'{"offline":false}', {"Content-Type": "application/json"})
    while ask_json(server.port, "/cache")["pending"]:
        time.sleep(0.01)
    return time.monotonic() - started


def delivery(space):
    """delivery of 10,000 queued PUTs, 8 lanes at once"""
    script = space.folder / "direct-put.lua"
    script.write_text(PUT.format(size=512, prefix=""))
    for name, origin, least in (("nginx return 204", contestants.nginx_no_content(space, cores=(LOAD_CORE,)), 0.25),
                                ("an origin of 1 ms", contestants.slow_origin(space, 1), 0.8)):
        ours = contestants.holdfast(space, origin, name=f"Holdfast before {name}", replayConcurrency=8)
        rates, direct = [], []
        for _ in range(space.rounds):
            waiting = queue_writes(space, ours, 10_000)
            rates.append(waiting / drain(ours))
            direct.append(wrk(origin, "/", connections=8, seconds=space.seconds, script=script).rate)
        rate, peer = sorted(rates)[len(rates) // 2], sorted(direct)[len(direct) // 2]
        yield Figure("delivery", f"10,000 queued PUTs delivered to {name}", f"{rate:,.0f}/s", "wrk, 8 connections",
                     f"{peer:,.0f}/s", rate / peer, least)
