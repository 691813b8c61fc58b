"""Kills holdfast (kill -9) at random moments while clients write and the origin comes and goes, then checks that every
write that got 202 (or the origin's own 2xx) took effect once and in order.

    crash_rounds.py [ROUNDS] [SEED]
"""

import random
import sys
import threading
import time

from origin import Origin
from service import Holdfast, eventually

LANES = 6


class Writer(threading.Thread):
    """Writes growing numbers to a lane of its own, and creates in a collection; notes what was accepted."""

    def __init__(self, lane, holdfast, seed):
        super().__init__(daemon=True)
        self.lane, self.holdfast, self.random = lane, holdfast, random.Random(seed)
        self.paused = threading.Event()
        self.idle = threading.Event()
        self.ended = False
        self.number = 0
        self.accepted = []  # numbers of PUTs that were answered 2xx
        self.created = []
        self.answers = {}

    def run(self):
        while not self.ended:
            if self.paused.is_set():
                self.idle.set()
                time.sleep(0.005)
                continue
            self.idle.clear()
            self.number += 1
            try:
                if self.random.random() < 0.7:
                    answer = self.holdfast.put(
                        f"/lanes/{self.lane}", {"number": self.number}, prefer="wait=0",
                        sync_policy="guard=?0")
                    taken = self.accepted
                else:
                    answer = self.holdfast.post(
                        "/created", {"name": f"{self.lane}-{self.number}"}, prefer="wait=0")
                    taken = self.created
            except (OSError, ValueError, EOFError) as error:
                answer = None
                self.note(type(error).__name__)
            except Exception as error:  # http.client: the answer was cut by the kill
                answer = None
                self.note(type(error).__name__)
            if answer is not None:
                self.note(answer.status)
                if 200 <= answer.status < 300:
                    taken.append(self.number)
            time.sleep(self.random.random() * 0.004)

    def note(self, answer):
        self.answers[answer] = self.answers.get(answer, 0) + 1


def check(origin, writers):
    """The list of what is wrong at the origin."""
    wrong = []
    for writer in writers:
        path = f"/lanes/{writer.lane}"
        done = [int(r.body.split(b":")[1].strip(b" }")) for r in origin.seen("PUT", path) if r.status in (200, 201)]
        # Coalescing may leave out numbers; the same number twice in a row is a repeat without an effect.
        if any(later < earlier for earlier, later in zip(done, done[1:])):
            wrong.append(f"{path}: out of order: {done[-20:]}")
        if writer.accepted and (not done or done[-1] < writer.accepted[-1]):
            wrong.append(f"{path}: accepted {writer.accepted[-1]}, the origin ended at {done[-1:]}")
        names = [origin.json(p)["name"] for p in list(origin.documents) if p.startswith("/created/")]
        for number in writer.created:
            count = names.count(f"{writer.lane}-{number}")
            if count != 1:
                wrong.append(f"/created: {writer.lane}-{number} is there {count} times")
    twice = {n for n in names if names.count(n) > 1} if writers else set()
    wrong += [f"/created: {name} is there more than once" for name in twice]
    return wrong


def main(rounds, seed):
    chance = random.Random(seed)
    origin = Origin()
    origin.collections.add("/created")
    origin.start()
    origin.honours_keys = True  # with kill -9 in the middle of a POST, only a key tells whether it took effect
    holdfast = Holdfast(origin.url, settle=0.05, idempotentOrigin=True).start()
    writers = [Writer(lane, holdfast, seed * 100 + lane) for lane in range(LANES)]
    holdfast.get("/created")
    for writer in writers:
        writer.start()
    try:
        for number in range(1, rounds + 1):
            if chance.random() < 0.6:
                origin.stop() if origin.server else origin.start()
            time.sleep(chance.random() * 0.15)
            holdfast.kill()
            if chance.random() < 0.3:
                origin.stop() if origin.server else origin.start()
            holdfast.start()
            if number % 10 == 0 or number == rounds:
                for writer in writers:
                    writer.paused.set()
                eventually(lambda: all(w.idle.is_set() or not w.is_alive() for w in writers), 40)
                if origin.server is None:
                    origin.start()
                holdfast.await_drained(60)
                if wrong := check(origin, writers):
                    print(f"round {number}, seed {seed}:", *wrong, sep="\n  ")
                    return 1
                print(f"round {number}: {sum(len(w.accepted) + len(w.created) for w in writers)} accepted writes, "
                      f"all in effect once and in order", flush=True)
                for writer in writers:
                    writer.idle.clear()
                    writer.paused.clear()
    finally:
        for writer in writers:
            writer.ended = True
        for operation in holdfast.open_operations()[:10] if holdfast.process.poll() is None else []:
            print("open:", {k: operation.get(k) for k in ("id", "method", "target", "state", "reason", "attempts")})
        holdfast.close()
        origin.stop()
    print("answers:", *(f"{w.lane}: {w.answers}" for w in writers[:2]))
    return 0


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    sys.exit(main(count, int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)))
