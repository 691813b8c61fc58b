"""Accepted writes: durable before the answer, against Redis with appendfsync always and the disk itself."""

import os
import re
import statistics
import subprocess
import time

import contestants
from harness import LOAD_CORE, Figure, ask, pinned, wrk
from rows_origin import PUT


def redis_set(server, size, connections, seconds):
    """SETs a second of redis-benchmark from the load generator's core; about `seconds` long."""
    def run(count):
        text = subprocess.run(
            ["redis-benchmark", "-p", str(server.port), "-t", "set", "-d", str(size), "-c", str(connections),
             "-n", str(count), "-r", "100000000", "--csv"],
            capture_output=True, text=True, check=True, preexec_fn=pinned(LOAD_CORE)).stdout
        return float(re.search(r'"SET","([\d.]+)"', text)[1])
    return run(int(run(2000) * seconds) + 1000)


def fdatasync_rate(folder, seconds):
    """How often a second the disk takes 4 KiB and an fdatasync."""
    file = os.open(folder / "probe", os.O_CREAT | os.O_WRONLY)
    count, started = 0, time.monotonic()
    while time.monotonic() - started < seconds:
        os.pwrite(file, b"x" * 4096, 4096 * (count % 1024))
        os.fdatasync(file)
        count += 1
    os.close(file)
    return count / (time.monotonic() - started)


def compare(space, row, size, connections, target=None):
    script = space.folder / f"put-{size}.lua"
    script.write_text(PUT.format(size=size, prefix=f"/resources/{size}-{connections}"))
    ours, theirs, disk = [], [], []
    for number in range(space.rounds):
        origin = contestants.nginx_origin(space)
        server = contestants.holdfast(space, origin, name=f"Holdfast {row} {size} {connections} {number}",
                                      maxStoreSize="64GiB")
        ask(server.port, "PUT", "/cache/network", b'{"offline":true}', {"Content-Type": "application/json"})
        redis = contestants.redis(space)
        ours.append(wrk(server, "/", connections=connections, seconds=space.seconds, script=script).rate)
        theirs.append(redis_set(redis, size, connections, space.seconds))
        disk.append(fdatasync_rate(space.folder, 1))
        for one in (server, redis, origin):
            space.end(one)
    rate, peer = statistics.median(ours), statistics.median(theirs)
    work = f"queued PUT of {size:,} bytes, {connections} connections"
    yield Figure(row, work, f"{rate:,.0f}/s", "Redis, appendfsync always", f"{peer:,.0f}/s", rate / peer, target)
    yield Figure(row, f"{work}: writes an fdatasync of the disk", f"{rate:,.0f}/s", "fdatasync",
                 f"{statistics.median(disk):,.0f}/s", rate / statistics.median(disk), None)


def queued_put(space):
    """queued PUT of 512 bytes, durable, 64 connections"""
    yield from compare(space, "queued-put", 512, 64, 1.0)


def queued_sizes(space):
    """queued PUTs of 100 bytes to 64 KiB at 1 to 256 connections"""
    for size, connections in ((512, 1), (512, 16), (512, 256), (100, 64), (4096, 64), (65536, 64)):
        yield from compare(space, "queued-sizes", size, connections)
