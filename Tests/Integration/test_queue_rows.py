"""Queue loss, stalls, durability: faults that users met in systems of this kind."""

import subprocess
import threading
import time

from service import BINARY, eventually, free_port, receipt


def test_Q01_an_entry_stays_in_the_queue_until_the_origin_took_it(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.post("/items", {"name": "x"}))
    origin.order(method="POST", status=500, times=3)
    origin.start()
    while len(origin.seen("POST")) < 4:
        assert holdfast.operation(identifier)["state"] != "delivered" or len(origin.seen("POST")) == 4
        time.sleep(0.02)
    holdfast.await_state(identifier, "delivered")
    assert len(origin.seen("POST")) == 4


def test_Q03_a_failed_replay_schedules_the_next_by_itself(origin, holdfast):
    origin.stop()
    receipt(holdfast.post("/items", {"name": "x"}))
    origin.order(method="POST", status=503)
    origin.start()
    eventually(lambda: [r.status for r in origin.seen("POST")] == [503, 201], 5)


def test_Q05_delivery_follows_the_origins_return_within_two_seconds(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.post("/items", {"name": "x"}))
    time.sleep(2.5)
    origin.start()
    holdfast.await_state(identifier, "delivered", 2)


def test_Q07_writes_during_a_drain_end_with_it(origin, holdfast):
    origin.stop()
    for number in range(50):
        receipt(holdfast.post("/items", {"number": number}))
    origin.start()
    for number in range(50, 100):
        assert holdfast.post("/items", {"number": number}).status in (201, 202)
    holdfast.await_drained(20)
    assert len(origin.seen("POST")) == 100
    assert {origin.json(p)["number"] for p in origin.documents} == set(range(100))


def killed_while_sending(origin, holdfast, write, method):
    """Queues a write, kills the service while the origin has it and its answer is out, and starts the service again."""
    identifier = receipt(write())
    gate = threading.Event()
    origin.order(method=method, gate=gate)
    origin.start()
    eventually(lambda: origin.seen(method))
    holdfast.kill()
    gate.set()
    holdfast.start()
    return eventually(lambda: (o := holdfast.operation(identifier))["state"] in ("delivered", "failed") and o, 20)


def test_Q09_a_put_that_was_being_sent_at_a_kill_is_taken_up_again(origin, holdfast):
    origin.put("/items/1", {"name": "old"})
    holdfast.get("/items/1")
    origin.stop()
    operation = killed_while_sending(origin, holdfast, lambda: holdfast.put("/items/1", {"name": "x"}), "PUT")
    assert operation["state"] == "delivered"
    assert origin.json("/items/1")["name"] == "x"


def test_Q09_a_post_that_was_being_sent_at_a_kill_is_sent_again_under_its_key(origin, holdfast_with):
    origin.honours_keys = True
    holdfast = holdfast_with(idempotentOrigin=True)
    origin.stop()
    operation = killed_while_sending(origin, holdfast, lambda: holdfast.post("/items", {"name": "x"}), "POST")
    assert operation["state"] == "delivered"
    assert len(origin.documents) == 1


def test_Q09_a_post_that_was_being_sent_at_a_kill_is_never_made_twice(origin, holdfast):
    origin.collections.add("/items")
    holdfast.get("/items")
    origin.stop()
    operation = killed_while_sending(origin, holdfast, lambda: holdfast.post("/items", {"name": "x"}), "POST")
    assert operation["state"] == "delivered" or operation["reason"] == "outcome-unknown"
    assert len(origin.documents) == 1


def test_Q11_a_pending_edit_shows_although_a_read_brought_the_old_version(origin, holdfast):
    origin.put("/items/1", {"name": "v1"})
    holdfast.get("/items/1")
    origin.stop()
    receipt(holdfast.put("/items/1", {"name": "v2"}))
    origin.order(method="PUT", status=503, times=1000)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    read = holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE")
    assert read.json()["name"] == "v2"
    server = holdfast.call("GET", "/resources/items/1?persistentState=true")
    assert server.json()["name"] == "v1"


def test_Q13_a_second_write_carries_the_tag_that_the_first_one_got(origin, holdfast):
    tag = origin.put("/items/1", {"name": "v1"})
    holdfast.get("/items/1")
    origin.stop()
    first = receipt(holdfast.put("/items/1", {"name": "A"}, if_match=tag))
    gate = threading.Event()
    origin.order(method="PUT", gate=gate)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    second = receipt(holdfast.put("/items/1", {"name": "B"}, prefer="wait=0"))
    gate.set()
    holdfast.await_state(first, "delivered")
    holdfast.await_state(second, "delivered")
    sent = origin.seen("PUT")
    assert [r.headers["if-match"] for r in sent] == [tag, '"v2"']
    assert origin.json("/items/1")["name"] == "B"


def test_Q15_items_created_offline_are_delivered_after_a_restart_without_a_call(origin, holdfast):
    origin.stop()
    receipt(holdfast.post("/items", {"name": "x"}))
    holdfast.kill()
    holdfast.start()
    origin.start()
    eventually(lambda: origin.seen("POST"), 5)


def test_Q19_a_full_queue_drains_and_takes_new_writes(origin, holdfast_with):
    holdfast = holdfast_with(maxStoreSize=1 << 20)
    origin.stop()
    accepted = 0
    for number in range(400):
        answer = holdfast.put(f"/items/{number}", {"filling": "x" * 10_000})
        if answer.status == 507:
            break
        receipt(answer)
        accepted += 1
    assert answer.status == 507, answer
    origin.start()
    holdfast.await_drained(30)
    assert len(origin.documents) == accepted
    assert holdfast.put("/items/new", {"a": 1}).status == 201


def test_Q21_all_of_many_queued_writes_arrive_although_connections_break(origin, holdfast):
    origin.stop()
    count = 1000
    for number in range(count):
        receipt(holdfast.put(f"/items/{number}", {"number": number}))
    for _ in range(20):
        origin.order(method="PUT", cut="before")
    origin.start()
    holdfast.await_drained(60)
    assert {origin.json(p)["number"] for p in origin.documents} == set(range(count))


def test_Q23_disk_space_comes_back_after_the_backlog(origin, holdfast):
    def size():
        return sum(f.stat().st_size for f in holdfast.data.rglob("*") if f.is_file())

    before = size()
    origin.stop()
    for number in range(20):
        answer = holdfast.call("PUT", f"/files/blobs/{number}", bytes([number]) * (2 << 20),
                               {"Content-Type": "application/octet-stream"})
        receipt(answer)
    assert size() > 40 << 20
    origin.start()
    holdfast.await_drained(30)
    holdfast.call("DELETE", "/cache/entries")
    eventually(lambda: size() < before + (8 << 20), 20)


def test_Q27_a_second_process_on_the_same_data_is_refused(origin, holdfast):
    second = subprocess.run(
        [BINARY, "--origin", origin.url, "--listen", f"127.0.0.1:{free_port()}", "--data", str(holdfast.data)],
        capture_output=True, timeout=10)
    assert second.returncode != 0
    assert str(holdfast.data) in second.stderr.decode()
    assert holdfast.call("GET", "/cache").status == 200


def test_Q29_a_refused_body_can_still_be_fetched(origin, holdfast):
    body = bytes(range(256)) * 4096 * 10
    origin.stop()
    identifier = receipt(holdfast.call("PUT", "/files/big", body, {"Content-Type": "application/octet-stream"}))
    origin.order(method="PUT", status=403, times=1000)
    origin.start()
    holdfast.await_state(identifier, "failed", 20)
    kept = holdfast.call("GET", f"/cache/operations/{identifier}/body")
    assert kept.status == 200
    assert kept.body == body
