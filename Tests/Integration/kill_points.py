"""Kills holdfast on purpose at every system call that changes what is on disk or what the origin knows, one after another: a piece
of work is begun again and again, and the Nth call of a kind ends the process, until the work gets to its end. After each, what
was acknowledged is compared with what a new process and the origin have.

    kill_points.py [STRIDE]      every STRIDEth call (1); HOLDFAST_BINARY names the program
"""

import itertools
import json
import os
import pathlib
import shutil
import sqlite3
import sys
import tempfile

from faults import Faults
from origin import Origin
from service import Holdfast, eventually

OFFLINE, ONLINE = {"offline": True}, {"offline": False}
LONG = 40_000  # bytes; a body of its own
FIXTURES = pathlib.Path(__file__).parent.parent / "StorageTests" / "Fixtures"

# Between two of these nothing changes but bytes of a log that no commit has closed; those are hit with a wider stride.
ON_DISK = ["sync /data/", "create /data/", "rename /data/", "unlink /data/", "truncate /data/"]
ON_THE_WAY = ["send socket", "recv socket"]
WRITES = "write /data/"
WIDER = 9


def rules(points, stride):
    """Rules that kill, by point; each generator is to be ended by its user once the work gets to its end."""
    for point in [*points, WRITES]:
        step = stride * (WIDER if point == WRITES else 1)
        for when in ("kill", "killed"):
            yield (f"{point} {when} {n} 1" for n in itertools.count(0, step))


class Bench:
    """One service before one origin, killed again and again."""

    def __init__(self, **config):
        self.faults, self.origin = Faults(), Origin()
        self.origin.collections.add("/made")
        self.origin.start()
        self.holdfast = Holdfast(self.origin.url, settle=0.05, environment=self.faults.environment, **config)
        self.kills = 0

    def close(self):
        self.holdfast.close()
        self.origin.stop()
        self.faults.remove()

    def sweep(self, points, stride, begin, work, check):
        """`begin(n)` before the faults, `work(n)` until it is killed, `check(n, what work gave)` after a new start."""
        number = 0
        for series in rules(points, stride):
            for rule in series:
                number += 1
                begin(number)
                self.faults.set(rule)
                done = work(number)
                self.faults.set()
                was_killed = self.was_killed()
                self.holdfast.start()
                try:
                    check(number, done)
                except AssertionError as error:
                    raise AssertionError(f"after {rule}: {error}") from error
                if not was_killed:
                    break
                self.kills += 1

    def was_killed(self):
        """Whether the process met its point; it is ended in any case."""
        process = self.holdfast.process
        if process.poll() is None:
            self.holdfast.kill()
            return False
        assert process.returncode == -9, self.holdfast.log_text()[-3000:]
        return True

    def attempt(self, *arguments):
        """The answer; None where the service was killed before it."""
        return self.holdfast.attempt(*arguments)


# The states of an operation and its body


class Queue(Bench):
    """Writes of all kinds are accepted, some are changed, discarded or replaced, and all are delivered, refused or in conflict."""

    def begin(self, n):
        if n == 1:
            self.holdfast.start()
        self.origin.put(f"/stale/{n}", {"v": 0})
        self.origin.put(f"/gone/{n}", {"v": 0})
        for path in (f"/stale/{n}", f"/gone/{n}"):
            assert self.holdfast.get(path).status == 200
        self.origin.put(f"/stale/{n}", {"v": "theirs"})
        self.origin.order(method="PUT", path=f"/poor/{n}", status=422)

    def requests(self, n):
        long = json.dumps({"v": n, "text": "x" * LONG}).encode()
        return {
            "put": ("PUT", f"/put/{n}", {"v": n}), "merged": ("PUT", f"/put/{n}", {"v": n, "m": 1}),
            "long": ("PUT", f"/long/{n}", long), "made": ("POST", "/made", {"name": f"made-{n}"}),
            "stale": ("PUT", f"/stale/{n}", {"v": "mine"}), "gone": ("DELETE", f"/gone/{n}", None),
            "poor": ("PUT", f"/poor/{n}", {"v": n}), "dropped": ("PUT", f"/dropped/{n}", {"v": n}),
        }

    def send(self, n, name):
        method, path, body = self.requests(n)[name]
        headers = {"Idempotency-Key": f"{name}-{n}"} | ({"Content-Type": "application/json"} if body else {})
        return self.attempt(method, "/resources" + path, body, headers)

    def work(self, n):
        """The names of the writes that were answered, with what their answers were."""
        answers, ids = {}, {}
        self.attempt("PUT", "/cache/network", OFFLINE)
        for name in self.requests(n):
            answer = self.send(n, name)
            if answer is None:
                return answers
            answers[name] = answer.status
            ids[name] = answer.json()["id"] if answer.status == 202 else None
        answer = self.attempt("DELETE", f"/cache/operations/{ids['dropped']}")
        answers["discard"] = answer and answer.status
        self.attempt("PUT", "/cache/network", ONLINE)
        self.settle()
        self.retry(ids["poor"])
        return answers

    def settle(self):
        """Until all is final or stopped, or the process is gone."""
        def is_over():
            answer = self.attempt("GET", "/cache/operations?state=pending&state=sending&state=unknown")
            return answer is None or not answer.json()["items"]
        eventually(is_over, 20)

    def retry(self, identifier):
        answer = self.attempt("POST", f"/cache/operations/{identifier}/retry")
        if answer is not None and answer.status == 200:
            self.settle()

    def check(self, n, answers):
        self.holdfast.call("PUT", "/cache/network", ONLINE)
        self.settle()
        for operation in self.holdfast.operations({"failed"}):
            assert operation["target"] == f"/poor/{n}", operation
            self.retry(operation["id"])
        self.check_effects(n, answers)
        self.check_conflict(n, answers)
        for operation in self.holdfast.open_operations():
            self.holdfast.call("DELETE", f"/cache/operations/{operation['id']}")
        assert not self.holdfast.open_operations()

    def effects(self, path):
        return [r for r in self.origin.seen(path=path) if r.method in ("PUT", "DELETE") and r.status < 300]

    def check_effects(self, n, answers):
        """What was acknowledged is in effect, once; what was not may be, once, and never in part."""
        for name in ("long", "poor", "put"):
            path = f"/{name}/{n}"
            done = self.effects(path)
            assert len(done) <= (2 if name == "put" else 1), (path, done)
            if name in answers:
                assert done, (path, answers)
            for effect in done:
                assert json.loads(effect.body)["v"] == n, effect
        if "merged" in answers:
            assert self.origin.json(f"/put/{n}") == {"v": n, "m": 1}
        if "long" in answers:
            assert len(self.origin.json(f"/long/{n}")["text"]) == LONG
        if "gone" in answers:
            assert f"/gone/{n}" not in self.origin.documents
        if answers.get("discard", 500) is not None and answers.get("discard", 500) < 300:
            assert not self.effects(f"/dropped/{n}")
        count = [self.origin.json(p).get("name") for p in list(self.origin.documents) if p.startswith("/made/")].count(
            f"made-{n}")
        assert count == 1 if "made" in answers else count <= 1, (n, count)

    def check_conflict(self, n, answers):
        """The version of somebody else is never overwritten, and an acknowledged edit of it is kept as a conflict."""
        assert self.origin.json(f"/stale/{n}") == {"v": "theirs"}
        found = [c for c in self.holdfast.conflicts() if c["target"] == f"/stale/{n}"]
        assert len(found) == 1 if "stale" in answers else len(found) <= 1, found
        for conflict in found:
            shown = self.holdfast.call("GET", f"/cache/conflicts/{conflict['id']}").json()
            assert shown["client"]["body"] == {"v": "mine"} and shown["server"]["body"] == {"v": "theirs"}, shown
            answer = self.holdfast.resolve(conflict["id"], {"keep": "server"})
            assert answer.status == 200, answer


# Snapshots


class Snapshots(Bench):
    """A snapshot comes in, over copies that are there before."""

    def begin(self, n):
        if n > 1:
            return
        self.holdfast.start()
        for name in ("a", "b"):
            for number in range(3):
                self.origin.put(f"/kept/{number}", {"v": name, "text": "x" * (LONG if number else 10)})
                answer = self.holdfast.get(f"/kept/{number}", sync_policy="fetch-policy=FETCH_FROM_SERVICE")
                assert answer.json()["v"] == name
            setattr(self, name, self.holdfast.call("GET", "/cache/snapshot").body)
        self.shown = "b"
        self.holdfast.call("PUT", "/cache/network", OFFLINE)

    def work(self, n):
        self.wanted = "a" if self.shown == "b" else "b"
        answer = self.attempt("PUT", "/cache/snapshot", getattr(self, self.wanted))
        return answer and answer.status

    def check(self, n, status):
        self.holdfast.call("PUT", "/cache/network", OFFLINE)
        found = [self.holdfast.get(f"/kept/{number}").json() for number in range(3)]
        assert [len(one["text"]) for one in found] == [10, LONG, LONG]
        values = {one["v"] for one in found}
        assert len(values) == 1, values
        self.shown = values.pop()
        assert status is None or self.shown == self.wanted, (status, self.shown)


# Two places


class Mirror(Bench):
    """Writes and reads of a store that is kept in two places."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-mirror-")) / "data"
        super().__init__(storeRoots=[str(self.root)])
        self.accepted = {}

    def close(self):
        super().close()
        shutil.rmtree(self.root.parent)

    def begin(self, n):
        self.origin.put(f"/notes/read-{n}", {"v": n})
        if n > 1:
            return
        self.holdfast.start()
        answer = self.holdfast.call("POST", "/cache/stores", {
            "name": "notes", "paths": ["/notes/**"], "strategy": "direct",
            "location": {"primary": str(self.root / "primary"), "mirror": str(self.root / "mirror")}})
        assert answer.status == 201, answer

    def work(self, n):
        read = self.attempt("GET", f"/resources/notes/read-{n}")
        if self.attempt("PUT", "/cache/network", OFFLINE) is None:
            return read, None
        body = json.dumps({"v": n, "text": "x" * LONG}).encode()
        return read, self.attempt("PUT", f"/resources/notes/{n}", body, {"Content-Type": "application/json"})

    def is_even(self):
        state = self.holdfast.call("GET", "/cache/stores/notes").json()["mirror"]
        return not state["comparing"] and not state["behind"] and not state["out"]

    def side(self, name):
        """What one location has: the entries and the unfinished operations."""
        with sqlite3.connect(self.root / name / "holdfast.notes.sqlite") as database:
            found = (sorted(database.execute("SELECT partition, target FROM entries")),
                     database.execute("SELECT count(*) FROM operations").fetchone())
        database.close()
        return found

    def check(self, n, answers):
        read, write = answers
        self.holdfast.call("PUT", "/cache/network", OFFLINE)
        if read is not None:
            assert self.holdfast.get(f"/notes/read-{n}").json() == {"v": n}
        if write is not None:
            assert write.status == 202, write
            assert len(self.holdfast.get(f"/notes/{n}").json()["text"]) == LONG
        self.holdfast.call("PUT", "/cache/network", ONLINE)
        self.holdfast.await_drained(20)
        eventually(lambda: self.is_even() and self.side("primary") == self.side("mirror"))
        effects = [r for r in self.origin.seen("PUT", f"/notes/{n}") if r.status < 300]
        assert len(effects) == 1 if write is not None else len(effects) <= 1, effects


# Migrations


class Migration(Bench):
    """A data folder of an earlier program is opened."""

    def __init__(self, format):
        super().__init__()
        self.format = FIXTURES / format

    @property
    def database(self):
        return self.holdfast.data / "holdfast.sqlite"

    def begin(self, n):
        shutil.rmtree(self.holdfast.data, ignore_errors=True)
        shutil.copytree(self.format, self.holdfast.data)
        os.chmod(self.holdfast.data, 0o700)
        self.before = self.version()

    def version(self):
        with sqlite3.connect(self.database) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            found = database.execute("PRAGMA user_version").fetchone()[0]
        database.close()
        return found

    def work(self, n):
        self.holdfast.config["origin"] = "http://127.0.0.1:1"  # nothing is delivered
        self.holdfast.start(wait=False)
        eventually(lambda: self.holdfast.process.poll() is not None or self.is_ready())
        if self.holdfast.process.poll() is not None:
            copy = self.holdfast.folder / "left"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self.holdfast.data, copy)
            return self.before <= self.version()
        return True

    def is_ready(self):
        answer = self.attempt("GET", "/health/ready")
        return answer is not None and answer.status == 200

    def check(self, n, was_sound):
        assert was_sound
        assert [o["target"] for o in self.holdfast.open_operations() if o["state"] != "conflict"] == [
            "/items/1", "/items", "/long"]
        assert len(self.holdfast.call("GET", "/files/long").body) == 17_600
        assert len(self.holdfast.conflicts()) == 1
        assert not list(self.holdfast.data.glob("*.damaged*"))
        self.holdfast.kill()


WORKS = {
    "queue": (Queue, ON_DISK + ON_THE_WAY), "snapshot": (Snapshots, ON_DISK), "mirror": (Mirror, ON_DISK),
    **{f"migration of {folder.name}": (lambda name=folder.name: Migration(name), ON_DISK)
       for folder in sorted(FIXTURES.iterdir())},
}


def run(name, stride):
    """How often the process was killed; throws at the first wrong."""
    make, points = WORKS[name]
    bench = make()
    try:
        bench.sweep(points, stride, bench.begin, bench.work, bench.check)
        return bench.kills
    finally:
        bench.close()


if __name__ == "__main__":
    for name in WORKS:
        print(f"{name}: killed at {run(name, int(sys.argv[1]) if len(sys.argv) > 1 else 1)} points, all sound", flush=True)
