"""Conflicts, tags, delete and recreate, temporary ids: faults that users met in systems of this kind."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from service import RETRY, eventually, receipt, stays


def edited_offline(origin, holdfast, edit, **headers):
    """Reads /items/1, edits it offline; returns the operation's id."""
    origin.put("/items/1", {"id": "1", "name": "base"})
    holdfast.get("/items/1")
    origin.stop()
    return receipt(edit(**headers))


def put_mine(holdfast):
    return lambda **headers: holdfast.put("/items/1", {"id": "1", "name": "mine"}, **headers)


def test_K01_an_edit_made_offline_carries_its_base_tag_and_becomes_a_conflict(origin, holdfast):
    tag = origin.put("/items/1", {"id": "1", "name": "base"})
    holdfast.get("/items/1")
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"id": "1", "name": "mine"}))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    holdfast.await_state(identifier, "conflict")
    assert origin.seen("PUT")[0].headers["if-match"] == tag
    assert origin.json("/items/1")["name"] == "theirs"


@pytest.mark.parametrize("way", ["online", "queued"])
@pytest.mark.parametrize("answer", [{}, {"ETag": 'W/"v2"'}])
def test_what_was_written_here_is_no_newer_version_though_the_origin_did_not_name_it(origin, holdfast, way, answer):
    offline = {"online": False, "queued": True}[way]
    origin.put("/items/1", {"id": "1", "name": "base"})
    holdfast.get("/items/1")
    origin.order(method="PUT", status=204, headers=answer)
    holdfast.call("PUT", "/cache/network", {"offline": offline})
    written = holdfast.put("/items/1", {"id": "1", "name": "first"})
    origin.put("/items/1", {"id": "1", "name": "first"})
    holdfast.call("PUT", "/cache/network", {"offline": False})
    if offline:
        holdfast.await_state(receipt(written), "delivered")
    holdfast.call("PUT", "/cache/network", {"offline": True})
    kept = holdfast.get("/items/1")
    assert kept.json()["name"] == "first" and "etag" not in kept.headers, kept
    identifier = receipt(holdfast.put("/items/1", {"id": "1", "name": "second"}))
    holdfast.call("PUT", "/cache/network", {"offline": False})
    holdfast.await_state(identifier, "delivered")
    assert origin.json("/items/1")["name"] == "second"


def test_the_tag_that_an_answer_gave_holds_offline(origin, holdfast):
    origin.put("/items/1", {"id": "1", "name": "base"})
    holdfast.get("/items/1")
    origin.order(method="PATCH", status=204, headers={"ETag": '"own"'})
    tag = holdfast.patch("/items/1", {"name": "first"}).headers["etag"]
    origin.put("/items/1", {"id": "1", "name": "first"}, tag=tag)
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"id": "1", "name": "second"}, if_match=tag))
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.seen("PUT")[-1].headers["if-match"] == tag


def test_K03_client_wins_on_a_delete_deletes(origin, holdfast):
    identifier = edited_offline(
        origin, holdfast, lambda **h: holdfast.delete("/items/1", **h),
        sync_policy="conflict-resolution-policy=CLIENT_WINS")
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert "/items/1" not in origin.documents


@pytest.mark.parametrize("decision, decided", [
    ({"keep": "client"}, {"id": "1", "name": "mine"}),
    ({"keep": "client", "later": "keep"}, {"id": "1", "name": "mine"}),
    ({"keep": "merged", "body": {"id": "1", "name": "merged"}}, {"id": "1", "name": "merged"})])
def test_edits_behind_a_conflict_go_on_from_the_decision(origin, holdfast, decision, decided):
    edited_offline(origin, holdfast, lambda: holdfast.patch("/items/1", {"name": "mine"}))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    later = receipt(holdfast.patch("/items/1", {"z": 1}))
    origin.start()
    answer = holdfast.resolve(holdfast.await_conflict()["id"], decision)
    assert answer.status == 200, answer
    holdfast.await_state(later, "delivered")
    assert origin.json("/items/1") == decided | {"z": 1}


def test_what_was_written_behind_a_deletion_is_there_once_the_deletion_is_decided(origin, holdfast):
    edited_offline(origin, holdfast, lambda: holdfast.delete("/items/1"))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    later = receipt(holdfast.put("/items/1", {"id": "1", "name": "later"}))
    origin.start()
    assert holdfast.resolve(holdfast.await_conflict()["id"], {"keep": "client"}).status == 200
    holdfast.await_state(later, "delivered")
    assert origin.json("/items/1") == {"id": "1", "name": "later"}


def test_K05_a_conflict_is_resolved_with_a_merged_body(origin, holdfast):
    edited_offline(origin, holdfast, put_mine(holdfast))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    found = holdfast.await_conflict()
    assert {"base", "client", "server"} <= set(found)
    answer = holdfast.resolve(found["id"], {"keep": "merged", "body": {"id": "1", "name": "merged"}})
    assert answer.status == 200, answer
    assert origin.json("/items/1")["name"] == "merged"


@pytest.mark.parametrize("decision", [{"keep": "client"}, {"keep": "merged", "body": {"name": "both"}}])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_K05_no_decision_overwrites_a_version_that_the_conflict_does_not_show(origin, holdfast, method, decision):
    edited_offline(origin, holdfast, put_mine(holdfast) if method == "PUT" else lambda: holdfast.delete("/items/1"))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    found = holdfast.await_conflict()
    newest = origin.put("/items/1", {"id": "1", "name": "newer"})
    refused = holdfast.resolve(found["id"], decision)
    assert (refused.status, refused.json()["type"]) == (409, "/problems/conflict")
    shown = refused.json()["conflict"]
    assert (shown["id"], shown["server"]["etag"], shown["serverIsLatest"]) == (found["id"], newest, True)
    assert origin.json("/items/1")["name"] == "newer"
    assert holdfast.resolve(found["id"], decision).status == 200
    assert not holdfast.conflicts()
    if decision["keep"] == "merged":
        assert origin.json("/items/1")["name"] == "both"
    elif method == "PUT":
        assert origin.json("/items/1")["name"] == "mine"
    else:
        assert "/items/1" not in origin.documents


def test_K07_client_wins_ends_after_some_rounds_at_an_origin_that_always_changes(origin, holdfast):
    identifier = edited_offline(
        origin, holdfast, put_mine(holdfast), sync_policy="conflict-resolution-policy=CLIENT_WINS")
    origin.order(method="PUT", status=412, times=1000)
    origin.start()
    holdfast.await_state(identifier, "conflict", 20)
    rounds = len(origin.seen("PUT"))
    assert rounds <= 5
    stays(lambda: len(origin.seen("PUT")) == rounds, 3 * RETRY)


def test_K09_the_base_is_kept_across_eviction_and_restart(origin, holdfast):
    edited_offline(origin, holdfast, put_mine(holdfast))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    found = holdfast.await_conflict()
    holdfast.call("DELETE", "/cache/entries")
    holdfast.restart()
    again = holdfast.call("GET", f"/cache/conflicts/{found['id']}").json()
    assert again["base"] == found["base"]
    assert "base" in json.dumps(again["base"])


def test_K11_the_pending_list_is_up_to_date_at_once(origin, holdfast):
    origin.stop()
    for depth in (1, 2):
        receipt(holdfast.post("/items", {"n": depth}))
        assert len(holdfast.open_operations()) == depth
        assert holdfast.call("GET", "/cache").json()["pending"] == depth


def test_K13_of_parallel_writes_on_one_tag_exactly_one_is_taken(origin, holdfast):
    def race(tag):
        with ThreadPoolExecutor(16) as pool:
            return list(pool.map(lambda n: holdfast.put("/items/1", {"n": n}, if_match=tag).status, range(16)))

    origin.put("/items/1", {"id": "1"})
    online = race(holdfast.get("/items/1").headers["ETag"])
    assert sorted(online) == [200] + [412] * 15
    tag = holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE").headers["ETag"]
    origin.stop()
    assert sorted(race(tag)) == [202] + [412] * 15


def test_K15_a_tag_with_the_suffix_of_a_coding_is_tried_once_without(origin, holdfast):
    origin.put("/items/1", {"id": "1", "name": "base"}, tag='"abc"')
    origin.headers["ETag"] = '"abc-gzip"'
    holdfast.get("/items/1")
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"id": "1", "name": "mine"}))
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert [r.headers["if-match"] for r in origin.seen("PUT")] == ['"abc-gzip"', '"abc"']


@pytest.mark.parametrize("tag", ['"a"', '"a\\"', 'W/"a"', '"a,b"', "a"])
def test_K17_tags_are_kept_byte_for_byte(origin, holdfast, tag):
    origin.put("/items/1", {"id": "1"}, tag=tag)
    assert holdfast.get("/items/1").headers["ETag"] == tag
    assert holdfast.get("/items/1", if_none_match=tag).status == 304


@pytest.mark.parametrize("tag", ['"a"', '"a\\"', '"a,b"'])
def test_K17_a_queued_write_carries_the_tag_byte_for_byte(origin, holdfast, tag):
    origin.put("/items/1", {"id": "1"}, tag=tag)
    holdfast.get("/items/1")
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 1}))
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    assert origin.seen("PUT")[0].headers["if-match"] == tag
    holdfast.await_state(identifier, "delivered")


def test_K17_a_list_of_tags_holds_where_one_does(origin, holdfast):
    origin.put("/items/1", {"id": "1"}, tag='"a"')
    holdfast.get("/items/1")
    assert holdfast.put("/items/1", {"n": 1}, if_match='"x", "a"').status == 200
    tag = holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE").headers["ETag"]
    origin.stop()
    assert holdfast.put("/items/1", {"n": 2}, if_match=f'"x", {tag}').status == 202


def test_K19_the_tag_of_a_puts_answer_is_used(origin, holdfast):
    tag = holdfast.put("/items/1", {"n": 1}).headers["ETag"]
    origin.log.clear()
    read = holdfast.get("/items/1", if_none_match=tag, sync_policy="fetch-policy=FETCH_FROM_CACHE")
    assert read.status == 304
    assert not origin.seen()


def test_K21_an_edit_does_not_recreate_what_others_deleted(origin, holdfast):
    identifier = edited_offline(origin, holdfast, put_mine(holdfast))
    del origin.documents["/items/1"]
    origin.start()
    holdfast.await_state(identifier, "conflict")
    assert holdfast.await_conflict()["kind"] == "deleted-at-origin"
    assert "/items/1" not in origin.documents


def test_K23_nothing_that_was_only_cached_is_sent(origin, holdfast):
    origin.put("/items/1", {"id": "1"})
    holdfast.get("/items/1")
    origin.stop()
    del origin.documents["/items/1"]
    identifier = receipt(holdfast.put("/items/2", {"id": "2"}))
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert [r.path for r in origin.writes()] == ["/items/2"]


def test_K25_a_deleted_file_written_again_has_the_new_bytes(origin, holdfast):
    kind = {"Content-Type": "application/octet-stream"}
    origin.put("/f", b"old bytes", content_type="application/octet-stream")
    holdfast.call("GET", "/files/f")
    origin.stop()
    receipt(holdfast.call("DELETE", "/files/f"))
    receipt(holdfast.call("PUT", "/files/f", b"other", kind))
    read = holdfast.call("GET", "/files/f")
    assert (read.body, read.headers["Content-Length"]) == (b"other", "5")
    origin.start()
    holdfast.await_drained()
    assert origin.documents["/f"].body == b"other"


def test_K27_a_child_has_the_real_id_after_a_kill_between_parent_and_child(origin, holdfast):
    origin.stop()
    parent = holdfast.post("/items", {"name": "parent"})
    temporary = parent.headers["Location"].removeprefix("/resources")
    receipt(holdfast.put("/notes/1", {"parent": temporary.rsplit("/", 1)[1], "link": temporary}))
    gate = threading.Event()
    origin.order(method="PUT", path="/notes/1", gate=gate)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    holdfast.kill()
    gate.set()
    holdfast.start()
    holdfast.await_drained(20)
    assert origin.json("/notes/1") == {"parent": "1", "link": "/items/1"}
    assert len(origin.seen("POST")) == 1


def test_K29_a_refused_write_stops_its_own_lane_only(origin, holdfast):
    origin.stop()
    poison = receipt(holdfast.put("/items/poison", {"n": 0}))
    for number in range(50):
        receipt(holdfast.put(f"/items/{number}", {"n": number}))
    origin.order(method="PUT", path="/items/poison", status=400, times=1000)
    origin.start()
    holdfast.await_state(poison, "failed")
    eventually(lambda: len(holdfast.open_operations()) == 1)
    assert len(origin.seen("PUT", "/items/poison")) == 1
    assert len(origin.documents) == 50


def test_K31_an_edit_of_a_member_that_left_the_list_is_a_conflict(origin, holdfast):
    origin.put("/items/1", {"id": "1", "name": "base"})
    origin.put("/items/2", {"id": "2"})
    holdfast.get("/items")
    identifier = edited_offline(origin, holdfast, put_mine(holdfast))
    del origin.documents["/items/1"]
    origin.start()
    holdfast.get("/items", sync_policy="fetch-policy=FETCH_FROM_SERVICE")
    holdfast.await_state(identifier, "conflict")
    assert "/items/1" not in origin.documents


@pytest.mark.parametrize("decision, left", [
    ({"keep": "merged", "body": {"id": "1", "name": "merged"}}, "merged"),
    ({"keep": "client"}, "mine"),
    ({"keep": "server"}, "theirs"),
])
def test_what_a_resolution_made_is_what_reads_and_edits_offline_see(origin, holdfast, decision, left):
    origin.collections.add("/items")
    edited_offline(origin, holdfast, put_mine(holdfast))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    entry = holdfast.resolve(holdfast.await_conflict()["id"], decision).json()
    assert (entry["state"], entry["serverCopy"]["etag"]) == ("synced", origin.documents["/items/1"].tag)
    holdfast.go(offline=True)
    assert holdfast.get("/items/1").json()["name"] == left
    identifier = receipt(holdfast.patch("/items/1", {"price": 1}))
    holdfast.go(offline=False)
    holdfast.await_state(identifier, "delivered")
    assert origin.json("/items/1") == {"id": "1", "name": left, "price": 1}


def test_the_log_tells_a_conflict_that_opens_from_one_that_closes(origin, holdfast):
    edited_offline(origin, holdfast, put_mine(holdfast))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    conflict = holdfast.await_conflict()["id"]
    holdfast.resolve(conflict, {"keep": "server"})

    def states():
        lines = [json.loads(line) for line in holdfast.log_text().splitlines() if '"conflict"' in line]
        return [line["state"] for line in lines if line["message"] == "conflict" and line["id"] == conflict]
    eventually(lambda: states()[-1] == "closed")
    assert states()[0] == "open"


def test_a_delete_that_was_kept_stays_deleted_offline(origin, holdfast):
    edited_offline(origin, holdfast, lambda **headers: holdfast.delete("/items/1", **headers))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    assert holdfast.resolve(holdfast.await_conflict()["id"], {"keep": "client"}).status == 200
    holdfast.go(offline=True)
    assert holdfast.get("/items/1").status == 404


@pytest.mark.parametrize("decision", [
    {"keep": "merged", "patch": "text"}, {"keep": "merged", "patch": None}, {"keep": "merged", "patch": 1},
    {"keep": "merged", "body": {}, "mediaType": "nonsense"}, {"keep": "merged", "body": {}, "mediaType": 5},
    {"keep": "client", "body": {}}, {"keep": "server", "patch": {}}, {"keep": "client", "mediaType": "text/plain"},
])
def test_a_decision_that_says_more_or_other_than_it_may_changes_nothing(origin, holdfast, decision):
    edited_offline(origin, holdfast, put_mine(holdfast))
    origin.put("/items/1", {"id": "1", "name": "theirs"})
    origin.start()
    found = holdfast.await_conflict()
    answer = holdfast.resolve(found["id"], decision)
    assert (answer.status, answer.json()["type"]) == (400, "/problems/bad-json")
    assert origin.json("/items/1")["name"] == "theirs"


def test_a_delivered_write_is_not_found_to_be_missing_when_it_is_changed(origin, holdfast):
    identifier = edited_offline(origin, holdfast, put_mine(holdfast))
    origin.start()
    holdfast.await_state(identifier, "delivered")
    path = f"/cache/operations/{identifier}"
    answers = [holdfast.call("DELETE", path), holdfast.call("POST", path + "/retry"),
               holdfast.call("PATCH", path, {"headers": {}})]
    assert [(a.status, a.json()["type"]) for a in answers] == [(409, "/problems/not-failed")] * 3
    assert holdfast.call("GET", path + "/body").status == 404
