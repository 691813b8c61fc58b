"""Ordering, duplicates, idempotency: faults that users met in systems of this kind."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

from service import RETRY, eventually, receipt, stays


def test_O01_a_write_during_replay_takes_its_turn(origin, holdfast_with):
    holdfast = holdfast_with(coalesce=False)
    origin.stop()
    for name in ("a1", "a2"):
        receipt(holdfast.put("/items/a", {"name": name}))
    gate = threading.Event()
    origin.order(method="PUT", gate=gate)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    receipt(holdfast.put("/items/a", {"name": "a3"}, prefer="wait=0"))
    gate.set()
    holdfast.await_drained()
    assert [b"a1" in r.body and "a1" or b"a2" in r.body and "a2" or "a3" for r in origin.seen("PUT")] == [
        "a1", "a2", "a3"]


def test_O03_dependent_writes_wait_for_what_they_name(origin, holdfast):
    origin.stop()
    parent = holdfast.post("/lists", {"name": "parent"})
    temporary = parent.headers["Location"].removeprefix("/resources")
    child = holdfast.post(temporary + "/items", {"name": "child"})
    target = child.headers["Location"].removeprefix("/resources")
    receipt(holdfast.call("POST", "/resources" + target + "/notes", {"name": "grandchild"}))
    for method in ("POST", "PUT"):
        origin.order(method=method, delay=0.2, times=3)
    origin.start()
    holdfast.await_drained()
    assert [r.path for r in origin.writes()] == ["/lists", "/lists/1/items", "/lists/1/items/2/notes"]


def test_O05_a_queue_of_the_batch_size_ends(origin, holdfast):
    for count in (8, 16, 256):
        origin.stop()
        for number in range(count):
            receipt(holdfast.put(f"/items/{count}-{number}", {"number": number}))
        origin.start()
        holdfast.await_drained(20)
    assert len(origin.seen("PUT")) == 8 + 16 + 256
    stays(lambda: len(origin.seen("PUT")) == 8 + 16 + 256, 10 * RETRY)


def test_O07_an_edit_while_the_create_is_sent_makes_no_second_one(origin, holdfast):
    origin.stop()
    created = holdfast.post("/items", {"name": "new"})
    temporary = created.headers["Location"].removeprefix("/resources")
    gate = threading.Event()
    origin.order(method="POST", gate=gate)
    origin.start()
    eventually(lambda: origin.seen("POST"))
    receipt(holdfast.patch(temporary, {"name": "edited"}, prefer="wait=0"))
    gate.set()
    holdfast.await_drained()
    assert [origin.json(p)["name"] for p in origin.documents] == ["edited"]


def test_O09_both_attempts_are_the_same_bytes_under_the_same_key(origin, holdfast):
    origin.stop()
    receipt(holdfast.post("/items", {"name": "x", "price": 1.50}))
    origin.order(method="POST", status=500)
    origin.start()
    holdfast.await_drained()
    first, second = origin.seen("POST")
    assert first.body == second.body
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_O11_the_same_key_returns_the_first_receipt(origin, holdfast):
    origin.stop()
    first = holdfast.post("/items", {"name": "x"}, idempotency_key='"k1"')
    again = holdfast.post("/items", {"name": "x"}, idempotency_key='"k1"')
    assert receipt(first) == receipt(again)
    assert len(holdfast.open_operations()) == 1
    other = holdfast.post("/items", {"name": "other"}, idempotency_key='"k1"')
    assert other.status == 422


def test_O13_a_failure_is_executed_again_and_a_success_is_replayed_and_marked(origin, holdfast):
    origin.order(method="POST", status=500)
    key = {"idempotency_key": '"k2"'}
    assert holdfast.post("/items", {"name": "x"}, **key).status == 500
    assert holdfast.post("/items", {"name": "x"}, **key).status == 201
    replayed = holdfast.post("/items", {"name": "x"}, **key)
    assert (replayed.status, replayed.headers["Idempotency-Replayed"]) == (201, "true")
    assert len(origin.seen("POST")) == 2


def test_O15_of_two_offline_writes_on_one_tag_one_is_taken(origin, holdfast):
    tag = origin.put("/items/1", {"name": "old"})
    holdfast.get("/items/1")
    origin.stop()
    with ThreadPoolExecutor(2) as pool:
        statuses = list(pool.map(lambda n: holdfast.put("/items/1", {"name": n}, if_match=tag).status, ["a", "b"]))
    assert sorted(statuses) == [202, 412]


def test_O17_the_origin_is_not_flooded(origin, holdfast_with):
    holdfast = holdfast_with(replayConcurrency=4)
    origin.stop()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: receipt(holdfast.put(f"/items/{n}", {"n": n})), range(1000)))
    origin.start()
    origin.peak = 0
    holdfast.await_drained(30)
    assert origin.peak <= 5  # the probe may stand beside the four


def test_O17_retry_after_is_honoured_in_seconds_and_as_a_date(origin, holdfast):
    for value in (lambda: "2", lambda: formatdate(time.time() + 3, usegmt=True)):
        origin.stop()
        origin.log.clear()
        receipt(holdfast.post("/items", {"name": "x"}))
        origin.order(method="POST", status=503, headers={"Retry-After": value()})
        origin.start()
        holdfast.await_drained(15)
        first, second = origin.seen("POST")
        assert second.at - first.at > 1.5
