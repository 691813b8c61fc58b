"""Server-sent events: every change is told, and no listener costs the service anything for long."""

import contextlib
import json
import signal
import socket
import subprocess
import time

import pytest

from service import eventually, receipt
from snapshot_lines import snapshot


class Listener:
    """One stream of /cache/events, read as it comes."""

    def __init__(self, port, window=None, **headers):
        self.socket = socket.socket()
        if window:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.settimeout(20)
        self.socket.connect(("127.0.0.1", port))
        fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.socket.sendall(f"GET /cache/events HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
        self.text = ""

    def read(self):
        """Takes what has arrived; False at the end of the stream."""
        piece = self.socket.recv(65536)
        self.text += piece.decode()
        return bool(piece)

    def events(self):
        """What was told so far, in whole lines; those between are chunk sizes."""
        return [json.loads(line[6:]) for line in self.text.split("\n")[:-1] if line.startswith("data: {")]

    def until(self, enough, seconds=20):
        end = time.monotonic() + seconds
        while not enough(self):
            assert time.monotonic() < end and self.read(), self.text[-2000:]
        return self

    def begun(self):
        return self.until(lambda listener: "id: " in listener.text)

    def states(self, identifier):
        return [(e["operation"]["from"], e["operation"]["to"]) for e in self.events()
                if e["type"] == "operation" and e["operation"]["id"] == identifier]

    def close(self):
        self.socket.close()


def metric(service, name):
    text = service.call("GET", "/metrics").body.decode()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"holdfast_{name}"))


def listeners(service):
    return metric(service, "event_listeners")


def test_settings_of_the_whole_service_are_told_when_they_are_set(holdfast):
    listener = Listener(holdfast.port).begun()
    assert holdfast.call("PUT", "/cache/policies", {"policies": [{"path": "/**", "noCache": True}]}).status == 200
    assert holdfast.call("PUT", "/cache/mode", {"manualSaving": {}}).status == 200
    assert holdfast.call("PUT", "/cache/suspended", {"suspended": True}).status == 200
    holdfast.process.send_signal(signal.SIGHUP)
    told = listener.until(lambda l: len(l.events()) == 4).events()
    assert [event["settings"]["name"] for event in told] == ["policies", "mode", "suspended", "policies"]


def test_E03_every_change_of_an_operation_is_told_counted_and_kept(origin, holdfast):
    listener = Listener(holdfast.port).begun()
    origin.put("/items/1", {"n": 1})
    holdfast.get("/items/1")
    origin.stop()
    delivered = receipt(holdfast.put("/items/1", {"n": 2}))
    created = receipt(holdfast.post("/items", {"n": 3}))
    conflicting = receipt(holdfast.put("/items/2", {"n": 4}, if_none_match="*"))
    dropped = receipt(holdfast.put("/items/3", {"n": 5}))
    assert holdfast.call("DELETE", f"/cache/operations/{dropped}").status == 200
    origin.put("/items/2", {"n": 9})
    origin.start()
    holdfast.await_state(delivered, "delivered")
    holdfast.await_state(conflicting, "conflict")
    conflict = holdfast.await_conflict()
    assert holdfast.resolve(conflict["id"], {"keep": "server"}).status == 200
    listener.until(lambda l: any(e["type"] == "conflict" and e["conflict"]["closed"] for e in l.events()))

    expected = {
        delivered: [(None, "pending"), ("pending", "sending"), ("sending", "delivered")],
        created: [(None, "pending"), ("pending", "sending"), ("sending", "delivered")],
        dropped: [(None, "pending"), ("pending", "cancelled")],
    }
    for identifier, changes in expected.items():
        # While the origin comes up an attempt may find no connection: back to pending, and again.
        told = [change for change in listener.states(identifier) if change != ("sending", "pending")]
        assert sorted(set(told), key=told.index) == changes
        assert holdfast.operation(identifier)["state"] == changes[-1][1]
    assert ("sending", "conflict") in listener.states(conflicting)
    events = listener.events()
    ids = [int(e["id"].split("-")[1]) for e in events]
    assert ids == sorted(set(ids))
    new = [e["operation"] for e in events if e["type"] == "operation" and e["operation"].get("newTarget")]
    assert [o["id"] for o in new] == [created]
    assert {"from": "offline", "to": "online"} in [e["network"] for e in events if e["type"] == "network"]
    states = [e["entry"]["state"] for e in events if e["type"] == "entry" and e["entry"]["target"] == "/items/1"]
    assert states[0] == "synced" and "pending-update" in states and states[-1] == "synced"
    told = sum(e["type"] == "operation" for e in events)
    assert metric(holdfast, "operation_changes_total") == told
    listener.close()


def test_a_listener_that_comes_back_gets_what_it_missed(origin, holdfast):
    first = Listener(holdfast.port).begun()
    holdfast.call("PUT", "/cache/network", {"offline": True})
    first.until(lambda l: l.events())
    last = first.events()[-1]["id"]
    first.close()
    holdfast.call("PUT", "/cache/network", {"offline": False})
    second = Listener(holdfast.port, Last_Event_ID=last).until(lambda l: l.events())
    assert second.events()[0]["network"]["from"] == "offline-forced"
    second.close()

    holdfast.restart()
    third = Listener(holdfast.port, Last_Event_ID=last).until(lambda l: l.events())
    assert third.events()[0]["type"] == "resync"
    assert third.events()[0]["id"] != last
    third.close()


def test_a_client_that_goes_away_is_freed_at_once(origin, holdfast):
    for _ in range(20):
        Listener(holdfast.port).begun().close()
    child = subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{holdfast.port}/cache/events"],
                             stdout=subprocess.PIPE)
    assert child.stdout.read(3) == b"id:"
    assert listeners(holdfast) >= 1
    child.send_signal(signal.SIGKILL)
    child.wait()
    eventually(lambda: listeners(holdfast) == 0, 2)


@contextlib.contextmanager
def lost_packets(port):
    """Nothing passes to or from a port of this host, and nobody is told."""
    rules = [["INPUT", "-i", "lo", "-p", "tcp", side, str(port), "-j", "DROP"] for side in ("--sport", "--dport")]
    try:
        for rule in rules:
            subprocess.run(["iptables", "-w", "-A", *rule], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs iptables and the right to use it")
    try:
        yield
    finally:
        for rule in rules:
            subprocess.run(["iptables", "-w", "-D", *rule], check=True, capture_output=True)


def test_E01_a_client_that_vanished_without_a_word_is_freed(origin, holdfast_with):
    service = holdfast_with(limits={"heartbeat": 0.5, "write": 2})
    lasting = Listener(service.port).begun()
    vanishing = Listener(service.port).begun()
    with lost_packets(vanishing.socket.getsockname()[1]):
        assert listeners(service) == 2
        eventually(lambda: listeners(service) == 1, 15)
        vanishing.close()
    # The other one has only had its heartbeats.
    service.call("PUT", "/cache/network", {"offline": True})
    lasting.until(lambda l: any(e["type"] == "network" for e in l.events()))
    assert "\n:\n\n" in lasting.text.replace("\r\n", "\n")
    lasting.close()


def test_a_thousand_listeners_cost_little(origin, holdfast):
    before = holdfast.memory()
    crowd = [Listener(holdfast.port) for _ in range(1000)]
    for listener in crowd:
        listener.begun()
    assert listeners(holdfast) == 1000
    assert holdfast.memory() - before < 32 << 20
    holdfast.call("PUT", "/cache/network", {"offline": True})
    begin = time.monotonic()
    assert holdfast.put("/items/1", {"n": 1}).status == 202
    assert time.monotonic() - begin < 1
    for listener in crowd:
        listener.until(lambda l: any(e["type"] == "operation" for e in l.events()))
        listener.close()
    eventually(lambda: listeners(holdfast) == 0)


def test_a_store_that_comes_and_goes_is_told(origin, holdfast):
    listener = Listener(holdfast.port).begun()
    assert holdfast.call("POST", "/cache/stores", {"name": "notes", "paths": ["/notes/**"]}).status == 201
    assert holdfast.call("PUT", "/cache/stores/notes", {"started": False}).status == 200
    assert holdfast.call("DELETE", "/cache/stores/notes").status == 204
    listener.until(lambda l: len(l.events()) == 3)
    assert [e["store"] for e in listener.events()] == [
        {"name": "notes", "state": state} for state in ("started", "stopped", "detached")]
    listener.close()


def test_the_end_of_the_service_ends_the_streams(origin, holdfast):
    listener = Listener(holdfast.port).begun()
    begin = time.monotonic()
    holdfast.stop()
    assert time.monotonic() - begin < 3
    listener.until(lambda l: l.text.endswith("0\r\n\r\n"))
    assert not listener.read()


def test_every_change_of_an_entry_is_told(origin, holdfast):
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/items/1", {"id": "1"})
    holdfast.get("/items/1")
    origin.put("/lists", {"items": [{"id": "7"}], "uris": ["/lists/7"], "etags": ['"7"']})
    listener = Listener(holdfast.port).begun()

    def told(target):
        return [(e["entry"]["state"], e["entry"]["deleted"]) for e in listener.events()
                if e["type"] == "entry" and e["entry"]["target"] == target]

    changes = [
        lambda: holdfast.get("/items/1", cache_control="no-cache"),  # a renewal by 304
        lambda: holdfast.call("PUT", "/cache/entry/pin?target=/items/1", {"priority": "high"}),
        lambda: holdfast.call("PUT", "/cache/entry/policy?target=/items/1", {"expireAfter": 60}),
        lambda: holdfast.call("DELETE", "/cache/entry/policy?target=/items/1"),
        lambda: holdfast.call("DELETE", "/cache/entry/pin?target=/items/1"),
    ]
    for number, change in enumerate(changes, 1):
        assert change().status in (200, 204)
        listener.until(lambda _: len(told("/items/1")) == number)
    assert told("/items/1") == [("synced", False)] * len(changes)
    assert origin.seen("GET", "/items/1")[1].status == 304
    assert holdfast.call("DELETE", "/cache/entry?target=/items/1").status == 204
    listener.until(lambda _: told("/items/1")[-1] == ("synced", True))

    holdfast.get("/lists")
    listener.until(lambda _: told("/lists/7"))
    assert told("/lists/7") == [("listed", False)]
    listener.close()


def test_a_listener_that_reads_too_slowly_is_told_and_ended(origin, holdfast):
    slow = Listener(holdfast.port, window=4096).begun()
    holdfast.call("PUT", "/cache/network", {"offline": True})
    assert holdfast.call("PUT", "/cache/snapshot", b"".join(snapshot(40_000)), timeout=60).status == 200
    assert holdfast.call("DELETE", "/cache/entries", timeout=60).json() == {"evicted": 40_000}
    begin = time.monotonic()
    assert holdfast.get("/items/1").status == 504
    assert time.monotonic() - begin < 1
    slow.until(lambda l: l.text.endswith("0\r\n\r\n"))
    assert slow.events()[-1]["type"] == "resync"
    assert len(slow.events()) < 40_000
    eventually(lambda: listeners(holdfast) == 0)
    again = Listener(holdfast.port, Last_Event_ID=slow.events()[-1]["id"]).begun()
    assert not again.events()
    again.close()
    slow.close()
