"""Everything at once: clients write and read while the service is killed, at random and at chosen system calls, while its disk
fails now and then, and while the origin and the road to it come, go and misbehave. Then what was acknowledged is compared with
what the origin has. A kill leaves behind what the system calls before it did: the points are therefore system calls.

    torture.py [MINUTES] [--seed N]
"""

import argparse
import random
import sys
import threading
import time

from crash_rounds import Rounds
from faults import Faults
from road import Road
from service import Holdfast

# Around each of these a state of an operation, of a body file, or of what the origin knows changes.
POINTS = [
    "write -wal", "sync -wal", "write .sqlite", "sync .sqlite", "create /bodies/tmp/", "write /bodies/tmp/", "sync /bodies/tmp/",
    "rename /bodies/", "sync /bodies", "unlink /bodies/", "send socket", "recv socket",
]
DISK_FAULTS = [
    "sync -wal EIO", "write -wal EIO", "write -wal ENOSPC", "write /bodies/ ENOSPC", "sync /bodies/ EIO", "create /data/ EMFILE",
    "read /bodies/ EIO", "write /data/ short",
]
BLOBS = 4


class Reader(threading.Thread):
    """Reads files whose bytes follow from their ETag."""

    def __init__(self, holdfast):
        super().__init__(daemon=True)
        self.holdfast, self.ended, self.count, self.wrong = holdfast, False, 0, []

    def run(self):
        number = 0
        while not self.ended:
            number += 1
            path = f"/blobs/{number % BLOBS}"
            try:
                answer = self.holdfast.get(path, cache_control="max-age=0" if number % 2 else "max-age=60")
            except Exception:  # cut by a kill, or by an origin whose answer was cut
                time.sleep(0.01)
                continue
            if answer.status == 200:
                self.count += 1
                if answer.body != blob(answer.headers["ETag"]):
                    self.wrong.append(f"{path}: {answer!r}")
            time.sleep(0.005)


def blob(tag):
    return tag.encode() * 6_000


class Torture(Rounds):
    def __init__(self, seed, honours_keys):
        self.faults = Faults()
        self.road = None
        self.crashes = []
        self.points = {}
        super().__init__(seed, honours_keys)
        self.reader = Reader(self.holdfast)
        self.reader.start()

    def make_holdfast(self, honours_keys):
        self.road = Road(self.origin.port).open()
        return Holdfast(
            self.road.url, settle=0.5, idempotentOrigin=honours_keys, environment=self.faults.environment,
            timeouts={"connect": 1, "firstByte": 1, "idle": 1, "stale": 0.3})

    def toggle(self):
        self.road.close() if self.road.listener else self.road.open()

    def crash(self):
        chance = self.chance
        self.change_blobs()
        self.spoil_road()
        if chance.random() < 0.4:
            self.toggle()
        rules = [f"{chance.choice(DISK_FAULTS)} {chance.randrange(10)} {chance.randint(1, 3)}"]
        point = chance.choice(POINTS)
        rules = rules if chance.random() < 0.4 else []
        is_at_point = chance.random() < 0.7
        if is_at_point:
            rules.append(f"{point} {chance.choice(['kill', 'killed'])} {chance.randrange(40)} 1")
        self.faults.set(*rules)
        self.end_within(1 if is_at_point else chance.random() * 0.3, point)
        self.faults.set()
        if chance.random() < 0.3:
            self.toggle()
        if chance.random() < 0.2:  # killed while it starts
            self.faults.set(f"{point} kill {chance.randrange(6)} 1")
            self.holdfast.start(wait=False)
            self.end_within(0.5, point)
            self.faults.set()
        self.holdfast.start()

    def end_within(self, seconds, point):
        """Kills the service unless it ends within some seconds at its point."""
        process = self.holdfast.process
        end = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        if process.poll() is None:
            self.holdfast.kill()
        elif process.returncode == -9:
            self.points[point] = self.points.get(point, 0) + 1
        else:
            self.crashes.append(f"ended with {process.returncode}: {self.holdfast.log_text()[-3000:]}")

    def change_blobs(self):
        path, tag = f"/blobs/{self.chance.randrange(BLOBS)}", f'"b{self.rounds}"'
        self.origin.put(path, blob(tag), tag=tag, content_type="text/plain")

    def spoil_road(self):
        chance = self.chance
        self.road.sever()  # what a black hole took a part of must not go on
        self.road.smooth()
        match chance.randrange(10):
            case 0: self.road.piece, self.road.latency = 1000, 0.002
            case 1: self.road.rate = 500_000
            case 2: self.road.cut_after = chance.choice([0, 1, 100, 5000])
            case 3: self.road.cut_after, self.road.resets = chance.choice([0, 30, 1000]), True
            case 4: self.road.swallows = True
            case 5: self.road.garbage = b"\x00\xff no HTTP\r\n\r\n"

    def verify(self):
        self.road.sever()
        self.road.smooth()
        if not self.road.listener:
            self.road.open()
        wrong = super().verify()
        wrong += [("wrong bytes", text) for text in self.reader.wrong] + [("crashes", text) for text in self.crashes]
        return wrong

    def run(self, is_over):
        try:
            return super().run(is_over)
        finally:
            self.reader.ended = True
            self.road.close()
            self.faults.remove()


def main(minutes, seed):
    print(f"seed {seed}", flush=True)
    totals = {"rounds": 0, "acknowledged": 0, "delivered": 0, "stopped": 0, "read": 0}
    found = {kind: 0 for kind in ("lost", "repeated", "out of order", "wrong bytes", "crashes")}
    points = {}
    for honours_keys in (True, False):
        torture = Torture(seed, honours_keys)
        end = time.monotonic() + minutes * 30
        wrong = torture.run(lambda: time.monotonic() > end)
        totals["rounds"] += torture.rounds
        totals["acknowledged"] += torture.accepted
        totals["delivered"] += torture.delivered
        totals["stopped"] += torture.held
        totals["read"] += torture.reader.count
        for kind, _ in wrong:
            found[kind] += 1
        for point, times in torture.points.items():
            points[point] = points.get(point, 0) + times
    print("killed at:", ", ".join(f"{point} {times}" for point, times in sorted(points.items())))
    print(", ".join(f"{name} {number}" for name, number in {**totals, **found}.items()))
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("minutes", nargs="?", type=float, default=60)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = options.parse_args()
    sys.exit(main(arguments.minutes, arguments.seed))
