"""Makes a small data folder as some binary writes it, for tests that later ones open it: entries, one of them a part, a conflict,
an upload that is not complete, and operations of which one holds a body in a file of its own.

    HOLDFAST_BINARY=… store_fixture.py FOLDER
"""

import shutil
import sqlite3
import sys

from origin import Origin
from service import Holdfast, eventually

LONG = b"0123456789abcdef" * 1100


def force(holdfast, offline):
    assert holdfast.call("PUT", "/cache/network", {"offline": offline}).status == 200


def fill(holdfast, origin):
    for number in (1, 2, 3):
        origin.put(f"/items/{number}", {"id": number, "name": "read"})
        holdfast.get(f"/items/{number}")
    holdfast.get("/items")
    origin.order(path="/part", status=206, body=b"01234",
                 headers={"Content-Range": "bytes 0-4/10", "ETag": '"p"', "Content-Type": "text/plain"})
    assert holdfast.call("GET", "/files/part", headers={"Range": "bytes=0-4"}).status == 206
    assert holdfast.call("POST", "/cache/uploads", b"begun", {"Content-Type": "text/plain"}).status == 201
    origin.put("/items/2", {"id": 2, "name": "moved on"})
    assert holdfast.put("/items/2", {"id": 2, "name": "refused"}).status == 412
    force(holdfast, True)
    assert holdfast.post("/items", {"name": "delivered"}, idempotency_key="delivered").status == 202
    force(holdfast, False)
    eventually(lambda: not holdfast.open_operations())
    force(holdfast, True)
    assert holdfast.put("/items/1", {"id": 1, "name": "edited"}, idempotency_key="put").status == 202
    assert holdfast.post("/items", {"name": "made"}, idempotency_key="post").status == 202
    assert holdfast.call("PUT", "/files/long", LONG, {"Content-Type": "text/plain"}).status == 202


def main(folder):
    origin = Origin()
    origin.collections.add("/items")
    origin.start()
    holdfast = Holdfast(origin.url).start()
    try:
        fill(holdfast, origin)
        holdfast.kill()
        with sqlite3.connect(holdfast.data / "holdfast.sqlite") as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        shutil.copytree(holdfast.data, folder, ignore=lambda *_: ["lock", "reserve"])
    finally:
        holdfast.close()
        origin.stop()


if __name__ == "__main__":
    main(sys.argv[1])
