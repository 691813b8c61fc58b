"""Queue loss, stalls, durability: faults that users met in systems of this kind."""

import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from service import BINARY, RUNNING, eventually, free_port, receipt


def test_Q01_an_entry_stays_in_the_queue_until_the_origin_took_it(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.post("/items", {"name": "x"}))
    origin.order(method="POST", status=500, times=3)
    gate = threading.Event()
    origin.order(method="POST", gate=gate)
    origin.start()
    for sent in range(1, 5):
        eventually(lambda: len(origin.seen("POST")) == sent)
        assert holdfast.call("GET", "/cache").json()["pending"] == 1
    gate.set()
    holdfast.await_state(identifier, "delivered")
    assert [r.status for r in origin.seen("POST")] == [500, 500, 500, 201]


def test_Q03_a_failed_replay_schedules_the_next_by_itself(origin, holdfast):
    origin.stop()
    receipt(holdfast.post("/items", {"name": "x"}))
    origin.order(method="POST", status=503)
    origin.start()
    eventually(lambda: [r.status for r in origin.seen("POST")] == [503, 201], 5)


def test_Q05_delivery_follows_the_origins_return_within_two_seconds(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.post("/items", {"name": "x"}))
    time.sleep(2.5)  # long enough for the probe's interval to reach its longest
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
    return eventually(lambda: (o := holdfast.operation(identifier))["state"] not in RUNNING and o, 20)


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


def test_Q17_a_pull_that_a_kill_ends_skips_nothing_afterwards(origin, holdfast):
    names = [str(number) for number in range(200)]
    for name in names:
        origin.put(f"/items/{name}", {"id": name})

    def pull(name):
        try:
            holdfast.get(f"/items/{name}")
        except OSError:
            pass  # the kill

    assert len(holdfast.get("/items").json()) == len(names)
    with ThreadPoolExecutor(4) as pool:
        pulls = [pool.submit(pull, name) for name in names]
        eventually(lambda: len(origin.seen("GET")) > 50)
        holdfast.kill()
        for running in pulls:
            running.cancel()
    holdfast.start()
    policy = {"sync_policy": "fetch-policy=FETCH_FROM_SERVICE_ON_CACHE_MISS"}
    assert all(holdfast.get(f"/items/{name}", **policy).json()["id"] == name for name in names)
    origin.stop()
    assert [member["id"] for member in holdfast.get("/items").json()] == names
    assert all(holdfast.get(f"/items/{name}").json()["id"] == name for name in names)


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
    count = 5000
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: receipt(holdfast.put(f"/items/{n}", {"number": n})), range(count)))
    for number in range(0, count, 100):
        origin.order(method="PUT", path=f"/items/{number}", cut="before" if number % 200 else "after")
    origin.start()
    holdfast.await_drained(60)
    assert {origin.json(p)["number"] for p in origin.documents} == set(range(count))
    assert all(r.status for o in origin.orders for r in origin.seen("PUT", o.path)[1:])


def test_Q23_disk_space_comes_back_after_the_backlog(origin, holdfast):
    def size():
        return sum(f.stat().st_size for f in holdfast.data.rglob("*") if f.is_file())

    before = size()
    origin.stop()
    for number in range(100):
        answer = holdfast.call("PUT", f"/files/blobs/{number}", bytes([number]) * (2 << 20),
                               {"Content-Type": "application/octet-stream"})
        receipt(answer)
    assert size() > 200 << 20
    origin.start()
    holdfast.await_drained(60)
    holdfast.call("DELETE", "/cache/entries")
    eventually(lambda: size() < before + (8 << 20), 20)


def test_Q25_a_write_outlives_every_time_limit_while_the_service_is_stopped(origin, holdfast_with):
    holdfast = holdfast_with(
        receiptRetention=60, defaultPolicy={"expirationPolicy": "EXPIRE_AFTER", "expireAfter": 60,
                                            "evictionPolicy": "EVICT_ON_EXPIRY_AT_STARTUP"})
    holdfast.kill()
    holdfast.start(under=("faketime", "-f", "-400d"))
    origin.put("/items/1", {"name": "old"})
    holdfast.get("/items/1")
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"name": "mine"}))
    assert holdfast.operation(identifier)["createdAt"] < formatted(time.time() - 399 * 86400)
    holdfast.kill()
    holdfast.start()
    assert holdfast.get("/items/1").json()["name"] == "mine"
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.json("/items/1")["name"] == "mine"


def formatted(seconds):
    """RFC 3339; such texts of one zone order as their times do."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


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


def written_and_drained(origin, holdfast):
    identifiers = [receipt(holdfast.put(f"/items/{number}", {"number": number})) for number in range(20)]
    origin.start()
    for identifier in identifiers:
        holdfast.await_state(identifier, "delivered")


def test_Q31_small_writes_are_taken_while_copies_of_files_fill_the_store(origin, holdfast_with):
    holdfast = holdfast_with(maxStoreSize=4 << 20, defaultPolicy={"evictionPolicy": "MANUAL_EVICTION"})
    for number in range(40):
        origin.put(f"/blobs/{number}", bytes([number]) * 200_000, content_type="application/octet-stream")
        assert len(holdfast.call("GET", f"/files/blobs/{number}").body) == 200_000
    kept = [b for b in range(40) if holdfast.call("GET", f"/cache/entry?target=/blobs/{b}").status == 200]
    assert 10 < len(kept) < 40
    origin.stop()
    written_and_drained(origin, holdfast)


def test_Q31_small_writes_are_taken_where_a_queued_file_no_longer_fits(origin, holdfast_with):
    holdfast = holdfast_with(maxStoreSize=4 << 20)
    origin.stop()
    kind = {"Content-Type": "application/octet-stream"}
    statuses = [holdfast.call("PUT", f"/files/blobs/{n}", bytes([n]) * 1_000_000, kind).status for n in range(6)]
    assert statuses[0] == 202 and statuses[-1] == 507
    written_and_drained(origin, holdfast)


def test_a_queue_that_drains_again_and_again_needs_no_more_memory(origin, holdfast_with):
    holdfast = holdfast_with(coalesce=False)

    def memory_after_a_drain():
        origin.stop()
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: receipt(holdfast.put(f"/items/{n % 500}", {"filling": "x" * 2000})), range(2000)))
        origin.start()
        holdfast.await_drained(60)
        return holdfast.memory()

    after = [memory_after_a_drain() for _ in range(5)]
    assert after[-1] - after[0] < 8 << 20, after
