"""Observability and lifecycle: faults that users met in systems of this kind."""

import time

from service import eventually
from snapshot_lines import snapshot


def test_E05_a_write_that_may_not_be_queued_is_refused_at_once(origin, holdfast):
    origin.stop()
    answer = holdfast.put("/items/1?saveIfOffline=false", {"n": 1})
    assert answer.status == 503
    assert answer.json()["type"].endswith("/problems/offline-update-rejected")
    assert not holdfast.operations()
    assert holdfast.get("/items/1").status == 504
    origin.start()
    eventually(lambda: holdfast.get("/items/1").status == 404)
    assert not origin.writes()


def test_E11_sync_says_what_it_did_while_offline(origin, holdfast):
    origin.stop()
    identifier = holdfast.put("/items/1", {"n": 1}).json()["id"]
    answer = holdfast.call("POST", "/cache/sync")
    assert answer.status == 200
    result = answer.json()
    assert result["network"] == "offline"
    assert [(o["id"], o["state"]) for o in result["items"]] == [(identifier, "pending")]


def test_R21_a_start_with_200_000_entries_takes_less_than_a_second(origin, holdfast):
    origin.stop()
    loaded = holdfast.call("PUT", "/cache/snapshot", b"".join(snapshot(200_000)), timeout=100)
    assert loaded.json() == {"entries": 200_000}, loaded
    holdfast.stop()
    begin = time.monotonic()
    holdfast.start(wait=False)
    eventually(holdfast.is_ready, every=0.005)
    assert holdfast.get("/items/199999").json() == {"n": 1}
    assert time.monotonic() - begin < 1
