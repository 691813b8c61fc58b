"""Kills holdfast (kill -9) at random moments while clients write and the origin comes and goes, then checks that every
write that got 202 (or the origin's own 2xx) took effect once and in order, or stopped as `outcome-unknown`. Half of the rounds
have an origin that honours Idempotency-Key, half one that ignores it.

    crash_rounds.py [ROUNDS] [SEED]
"""

import json
import random
import sys
import threading
import time

from origin import Origin
from service import Holdfast, eventually

LANES = 6
UNKNOWN = "outcome-unknown"


class Writer(threading.Thread):
    """Writes growing numbers to a lane of its own, and creates in a collection; notes what was accepted."""

    def __init__(self, lane, holdfast, seed):
        super().__init__(daemon=True)
        self.lane, self.holdfast, self.random = lane, holdfast, random.Random(seed)
        self.path = f"/lanes/{lane}"
        self.paused = threading.Event()
        self.idle = threading.Event()
        self.ended = False
        self.number = 0
        self.accepted = 0  # the newest write to the lane that was answered 2xx
        self.count = 0
        self.newest = 0  # the newest write to the lane that was seen at the origin
        self.cut = set()  # numbers of writes whose answer was cut
        self.created = set()  # numbers of creates that were answered 2xx, not yet seen at the origin
        self.held = set()  # numbers of creates that stopped
        self.answers = {}

    def run(self):
        while not self.ended:
            if self.paused.is_set():
                self.idle.set()
                time.sleep(0.005)
                continue
            self.idle.clear()
            self.number += 1
            method = self.random.choices(["PUT", "PATCH", "DELETE", "POST"], [40, 20, 10, 30])[0]
            try:
                self.note(method, self.send(method).status)
            except Exception as error:  # the answer was cut by the kill
                self.note(method, type(error).__name__)
                self.cut.add(self.number)
            time.sleep(self.random.random() * 0.004)

    def send(self, method):
        """X-Number stays with the request, whatever it is merged into."""
        number = {"prefer": "wait=0", "x_lane": str(self.lane), "x_number": str(self.number), "sync_policy": "guard=?0"}
        value = {"number": self.number, "text": text_of(self.number)}
        if method == "PUT":
            return self.holdfast.put(self.path, value, **number)
        if method == "PATCH":
            return self.holdfast.patch(self.path, value, **number)
        if method == "DELETE":
            return self.holdfast.delete(self.path, **number)
        return self.holdfast.post("/created", {"name": f"{self.lane}-{self.number}"}, **number)

    def note(self, method, answer):
        self.answers[answer] = self.answers.get(answer, 0) + 1
        if not isinstance(answer, int) or not 200 <= answer < 300:
            return
        self.count += 1
        if method == "POST":
            self.created.add(self.number)
        else:
            self.accepted = self.number


def text_of(number):
    """A text that tells its number; each fifth is long enough for a body file."""
    return f"{number}:" + "x" * (40_000 if number % 5 == 0 else number % 50)


def is_whole(request):
    """Whether the text in a body, which may be of an earlier write than the number, is as it was sent."""
    value = json.loads(request.body) if request.body else {}
    return "text" not in value or value["text"] == text_of(int(value["text"].split(":")[0]))


def number_of(request):
    """The newest write that a request carries: a merged one has the number of the first in its fields or of the last in its body."""
    numbers = [int(request.headers.get("x-number", 0))]
    if request.body:
        numbers.append(json.loads(request.body)["number"])
    return max(numbers)


def effects(origin, path):
    """The writes to a path that took effect."""
    return [r for r in origin.seen(path=path) if r.method != "GET" and r.status in (200, 201, 204)]


def is_stray(request, writer):
    """Whether a kill cut its answer, and the road brought it late: it had been passed on, and nobody was told of it, or the origin read it
    when the process that had sent it was gone. What was sent then can't be called back."""
    return request.is_left or number_of(request) in writer.cut and "idempotency-key" not in request.headers


def check_lane(origin, writer, may_repeat, was_held):
    done = [(number_of(r), r.method) for r in effects(origin, writer.path)]
    ordered = [writer.newest] + [number_of(r) for r in effects(origin, writer.path) if not is_stray(r, writer)]
    for place, (earlier, later) in enumerate(zip(ordered, ordered[1:])):
        if later < earlier:
            yield "out of order", f"{writer.path}: {ordered[max(0, place - 3):place + 5]}"
    if not may_repeat and len(set(done)) < len(done):
        yield "repeated", f"{writer.path}: {[d for d in done if done.count(d) > 1]}"
    if broken := [number_of(r) for r in effects(origin, writer.path) if not is_whole(r)]:
        yield "wrong bytes", f"{writer.path}: {broken}"
    # DELETE of what is gone is in effect, though the origin says 404.
    seen = [number_of(r) for r in origin.seen(path=writer.path) if r.method == "DELETE" and r.status == 404]
    writer.newest = max([writer.newest] + [number for number, _ in done] + seen)
    if writer.newest < writer.accepted and not was_held:
        yield "lost", f"{writer.path}: accepted {writer.accepted}, the origin ended at {writer.newest}"


def check(origin, writers, held, earlier):
    """What is wrong at the origin: kinds and texts. `held`: operations that stopped and were discarded; `earlier`: the names that
    were seen to be created at an earlier check."""
    wrong = [("lost", f"stopped: {operation}") for operation in held if not is_expected(operation)]
    names = [origin.json(p)["name"] for p in list(origin.documents) if p.startswith("/created/")]
    for writer in writers:
        was_held = any(operation["target"] == writer.path for operation in held)
        wrong += check_lane(origin, writer, origin.honours_keys, was_held)
        for number in writer.created:
            count = names.count(f"{writer.lane}-{number}")
            if count > 1 or count == 0 and number not in writer.held:
                wrong.append(("repeated" if count else "lost", f"/created: {writer.lane}-{number} is there {count} times"))
        writer.created.clear()
    return wrong + [("repeated", f"/created: {name} is there more than once") for name in set(names)
                    if names.count(name) > 1 or name in earlier]


def is_expected(operation):
    """Stopped since nobody can tell, or a PATCH to what a write without an answer (and without 2xx) had removed."""
    answer = operation.get("lastAnswer") or {}
    return operation.get("reason") == UNKNOWN or operation["method"] == "PATCH" and answer.get("status") == 404


def settle(holdfast, writers):
    """Waits until all is delivered or stopped, and discards what stopped. Returns that."""
    held = []

    def discard(operation):
        return holdfast.call("DELETE", f"/cache/operations/{operation['id']}")

    def is_over():
        operations = holdfast.open_operations()
        for operation in operations:
            if operation["state"] not in ("conflict", "failed"):
                continue
            details = holdfast.operation(operation["id"])
            answer = discard(operation)
            if answer.status == 409 and answer.json()["type"] == "/problems/patch-conflict":
                # Those behind it patch what it would have made, and go first.
                lane = [o for o in operations if o["target"] == operation["target"]]
                answer = [discard(o) for o in reversed(lane)][-1]
            if answer.status < 300:
                held.append(details)
        return not holdfast.open_operations()

    try:
        eventually(is_over, 130)  # the longest pause between attempts, twice over
    except AssertionError:
        print("still open:", *holdfast.open_operations(), "network:", holdfast.network(), sep="\n  ")
        raise
    for operation in held:
        if operation["method"] == "POST":
            fields = operation["headers"]
            writers[int(fields["X-Lane"])].held.add(int(fields["X-Number"]))
    return held


class Rounds:
    """One service before one origin, killed again and again."""

    def __init__(self, seed, honours_keys):
        self.seed, self.chance = seed, random.Random(seed)
        self.origin = Origin()
        self.origin.honours_keys = honours_keys
        self.origin.collections.add("/created")
        self.origin.start()
        self.holdfast = self.make_holdfast(honours_keys).start()
        self.writers = [Writer(lane, self.holdfast, seed * 100 + lane) for lane in range(LANES)]
        self.held = 0
        self.delivered = 0
        self.created = set()  # names that were seen to be created
        self.rounds = 0

    def make_holdfast(self, honours_keys):
        return Holdfast(self.origin.url, settle=0.05, idempotentOrigin=honours_keys)

    def toggle(self):
        self.origin.stop() if self.origin.server else self.origin.start()

    def crash(self):
        if self.chance.random() < 0.6:
            self.toggle()
        time.sleep(self.chance.random() * 0.15)
        self.holdfast.kill()
        if self.chance.random() < 0.3:
            self.toggle()
        self.holdfast.start()

    def verify(self):
        """What is wrong, once all is delivered or stopped."""
        for writer in self.writers:
            writer.paused.set()
        for _ in range(2):
            eventually(lambda: all(w.idle.is_set() or not w.is_alive() for w in self.writers), 40)
        if self.origin.server is None:
            self.origin.start()
        held = settle(self.holdfast, self.writers)
        self.held += len(held)
        wrong = check(self.origin, self.writers, held, self.created)
        self.forget()
        for writer in self.writers:
            writer.idle.clear()
            writer.paused.clear()
        return wrong

    def forget(self):
        """Takes from the origin what was checked: its list and its log would grow as long as the rounds go on."""
        with self.origin.lock:
            self.delivered += sum(len(effects(self.origin, path)) for path in ["/created", *(w.path for w in self.writers)])
            for path in [path for path in self.origin.documents if path.startswith("/created/")]:
                self.created.add(self.origin.json(path)["name"])
                del self.origin.documents[path]
            self.origin.log.clear()

    @property
    def accepted(self):
        return sum(writer.count for writer in self.writers)

    def run(self, is_over):
        """Rounds until `is_over()`, checked after each tenth and at the end. Returns what is wrong."""
        kind = "honours" if self.origin.honours_keys else "ignores"
        for writer in self.writers:
            writer.start()
        try:
            over = False
            while not over:
                self.rounds += 1
                self.crash()
                over = is_over()
                if self.rounds % 10 != 0 and not over:
                    continue
                if wrong := self.verify():
                    print(f"round {self.rounds}, seed {self.seed}, origin {kind} keys:", *wrong, sep="\n  ")
                    return wrong
                print(f"round {self.rounds}, origin {kind} keys: {self.accepted} accepted writes in "
                      f"effect once and in order, or stopped ({self.held})", flush=True)
            return []
        finally:
            for writer in self.writers:
                writer.ended = True
            self.holdfast.close()
            self.origin.stop()
            print("answers:", *(f"{w.lane}: {w.answers}" for w in self.writers[:2]))


def main(count, seed):
    for honours_keys in (True, False):
        rounds = Rounds(seed, honours_keys)
        if rounds.run(lambda: rounds.rounds >= count // 2):
            return 1
    return 0


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    sys.exit(main(count, int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)))
