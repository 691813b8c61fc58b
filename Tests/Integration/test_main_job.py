"""Reads while the origin is gone, writes that survive kill -9, one delivery, conflicts and their resolution."""

import time

from service import eventually, receipt


def test_reads_and_writes_go_on_without_the_origin_and_are_delivered_once(origin, holdfast):
    origin.put("/items/1", {"id": "1", "name": "old"})
    assert holdfast.get("/items/1").json()["name"] == "old"
    origin.stop()
    assert holdfast.get("/items/1").json()["name"] == "old"
    identifier = receipt(holdfast.put("/items/1", {"id": "1", "name": "new"}))
    assert holdfast.get("/items/1").json()["name"] == "new"
    holdfast.restart()
    read = holdfast.get("/items/1")
    assert (read.json()["name"], read.headers["Sync-State"]) == ("new", "pending-update")
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.json("/items/1")["name"] == "new"
    assert len(origin.seen("PUT")) == 1
    assert holdfast.get("/items/1").headers["Sync-State"] == "synced"


def conflict(origin, holdfast):
    origin.put("/items/1", {"id": "1", "name": "base"})
    holdfast.get("/items/1")
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"id": "1", "name": "mine"}))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    holdfast.await_state(identifier, "conflict")
    found = holdfast.await_conflict()
    return found, identifier


def test_a_conflict_shows_the_three_versions_and_keeps_the_edit_in_effect(origin, holdfast):
    found, _ = conflict(origin, holdfast)
    versions = [content(found[name]) for name in ("base", "client", "server")]
    assert [v["name"] for v in versions] == ["base", "mine", "theirs"]
    assert holdfast.get("/items/1").json()["name"] == "mine"
    assert holdfast.get("/items/1").headers["Sync-State"] == "conflict"


def content(version):
    """The JSON of one version of a conflict, whether it stands there itself or in a member of its own."""
    for name in ("body", "json", "value"):
        if isinstance(version.get(name), dict):
            return version[name]
    return version


def test_keep_client_sends_the_edit_on_the_newest_version(origin, holdfast):
    found, _ = conflict(origin, holdfast)
    answer = holdfast.resolve(found["id"], {"keep": "client"})
    assert answer.status == 200, answer
    assert origin.json("/items/1")["name"] == "mine"
    assert not holdfast.conflicts()


def test_keep_server_drops_the_edit(origin, holdfast):
    found, _ = conflict(origin, holdfast)
    answer = holdfast.resolve(found["id"], {"keep": "server"})
    assert answer.status == 200, answer
    assert origin.json("/items/1")["name"] == "theirs"
    assert holdfast.get("/items/1").json()["name"] == "theirs"
    assert not holdfast.conflicts()


def test_keep_merged_sends_the_given_body(origin, holdfast):
    found, _ = conflict(origin, holdfast)
    answer = holdfast.resolve(found["id"], {"keep": "merged", "body": {"id": "1", "name": "both"}})
    assert answer.status == 200, answer
    assert origin.json("/items/1")["name"] == "both"
    assert not holdfast.conflicts()


def test_an_online_write_that_meets_a_newer_version_is_answered_with_the_conflict(origin, holdfast):
    origin.put("/items/1", {"id": "1", "name": "base"})
    holdfast.get("/items/1")
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    answer = holdfast.put("/items/1", {"id": "1", "name": "mine"})
    assert answer.status == 412, answer
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert content(holdfast.await_conflict()["client"])["name"] == "mine"
    read = holdfast.get("/items/1")
    assert read.json()["name"] == "theirs"
    assert read.headers["Sync-State"] == "conflict"


def test_delivery_begins_within_two_seconds_of_the_origins_return(origin, holdfast):
    origin.stop()
    receipt(holdfast.post("/items", {"name": "a"}))
    time.sleep(2.5)  # long enough for the probe's interval to reach its longest
    origin.start()
    since = time.monotonic()
    eventually(lambda: origin.seen("POST"), 5)
    assert time.monotonic() - since < 2
