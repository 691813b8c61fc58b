"""What a service holds once a test is over: descriptors as at its start, and little more memory."""

import collections
import os
import pathlib
import re

# Bytes of resident memory above those at the start. Prepared hits, SQLite's pages and the allocator's spare memory take most of it;
# a test moves bodies of 128 MiB, or thousands of connections.
MEMORY = 96 << 20
CONNECTIONS = 3  # of a store to its database: one writes, two read
UPLOAD = re.compile(r"/uploads/\w+$")


def connections(pid):
    """Ports of both ends of each TCP connection and listener, by the inode of its socket."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, here, there, _, *rest = line.split()
            found[rest[5]] = (int(here.split(":")[-1], 16), int(there.split(":")[-1], 16))
    return found


def descriptors(holdfast):
    """How often each kind of descriptor is there: files by their path. Connections to the origin are left out: they are pooled, and
    those that it has reset, which no table shows, go when they would be used."""
    folder = pathlib.Path(f"/proc/{holdfast.process.pid}/fd")
    held = collections.Counter()
    tcp = connections(holdfast.process.pid)
    for number in os.listdir(folder):
        try:
            name = os.readlink(folder / number)
        except FileNotFoundError:
            continue
        kind, _, inode = name.partition(":[")
        here, there = tcp.get(inode.rstrip("]"), (None, None))
        if kind != "socket":
            held[kind] += 1
        elif here == holdfast.port:
            held["connection of a client" if there else "listener"] += 1
    return held


def more(held, before):
    """What is there more often, but for uploads that go on, and the files of stores that were attached since and hold their lock."""
    found = held - before
    stores = tuple(name.removesuffix(".lock") for name in found if name.endswith(".lock"))
    return {
        name: count for name, count in found.items()
        if not UPLOAD.search(name) and (count > CONNECTIONS or not name.startswith(stores) or name.endswith(" (deleted)"))}
