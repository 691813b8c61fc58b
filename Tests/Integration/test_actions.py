"""Jobs in the background: accepted on disk, run few at a time, resumed after a crash, canceled by a call."""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import threading

import pytest

from cache_lab import Reply
from service import eventually, stays
from test_events import Listener


def submit(holdfast, query="", **request):
    answer = holdfast.call("POST", "/cache/actions" + query, request)
    assert answer.status == 202, answer
    assert answer.headers["Location"] == "/cache/actions/" + answer.json()["id"]
    return answer.json()["id"]


def action(holdfast, identifier):
    return holdfast.call("GET", f"/cache/actions/{identifier}").json()


def finished(holdfast, identifier, completion="successful"):
    found = eventually(lambda: (a := action(holdfast, identifier))["state"] == "finished" and a, 20)
    assert found["completion"] == completion, found
    return found


def states(holdfast):
    return [a["state"] for a in holdfast.call("GET", "/cache/actions").json()["items"]]


def filled(origin, holdfast, *targets):
    for target in targets:
        origin.put(target, {"v": 1})
        assert holdfast.get(target).status == 200


@contextlib.contextmanager
def held(origin, *paths):
    """Requests for the paths are not answered before the end of the block."""
    gate = threading.Event()
    for path in paths:
        origin.order(path=path, gate=gate, times=9)
    try:
        yield gate
    finally:
        gate.set()


def test_a_refresh_brings_what_its_pattern_covers_up_to_date(origin, holdfast):
    targets = [f"/items/{n}" for n in range(30)]
    filled(origin, holdfast, *targets, "/other/1")
    for target in targets:
        origin.put(target, {"v": 2})
    holdfast.call("PUT", "/cache/network", {"offline": True})
    identifier = submit(holdfast, type="refresh", pattern="/items/*")
    eventually(lambda: action(holdfast, identifier)["state"] == "pending")
    holdfast.call("PUT", "/cache/network", {"offline": False})
    done = finished(holdfast, identifier)
    size = len(b'{"v": 2}')
    assert done["progress"] == {"done": 30, "total": 30, "bytes": 30 * size}
    assert (done["statistics"]["fetched"], done["statistics"]["failed"]) == (30, 0)
    assert done["statistics"]["executionTime"] > 0
    for target in targets:
        assert holdfast.get(target, sync_policy="fetch-policy=FETCH_FROM_CACHE").json() == {"v": 2}
    assert len(origin.seen("GET", "/other/1")) == 1


def test_one_that_runs_when_the_service_is_killed_goes_on_and_repeats_little(origin, holdfast):
    targets = [f"/items/{n:03}" for n in range(60)]
    filled(origin, holdfast, *targets)
    for _ in targets:
        origin.order(path=None, delay=0.05, times=1)
    before = len(origin.seen("GET"))
    identifier = submit(holdfast, type="refresh")
    eventually(lambda: action(holdfast, identifier)["progress"]["done"] >= 20)
    holdfast.restart()
    done = finished(holdfast, identifier)
    assert done["statistics"]["starts"] == 2
    assert done["progress"]["done"] == done["progress"]["total"] == 60
    assert {r.path for r in origin.seen("GET")[before:]} == set(targets)
    # Those that were on their way are asked for again, and what was not yet written behind.
    assert len(origin.seen("GET")) - before <= 60 + 25


def test_one_that_waits_is_there_after_a_crash(origin, holdfast):
    filled(origin, holdfast, "/items/1")
    holdfast.call("PUT", "/cache/network", {"offline": True})
    waiting = submit(holdfast, type="refresh")
    canceled = submit(holdfast, type="refresh")
    assert holdfast.call("DELETE", f"/cache/actions/{canceled}").json()["state"] == "finished"
    holdfast.restart()
    finished(holdfast, waiting)
    finished(holdfast, canceled, "canceled")


def test_one_that_runs_is_canceled(origin, holdfast):
    filled(origin, holdfast, "/items/1", "/items/2", "/items/3", "/items/4", "/items/5", "/items/6")
    with held(origin, *[f"/items/{n}" for n in range(1, 7)]):
        identifier = submit(holdfast, type="refresh")
        eventually(lambda: origin.running == 4)
        answer = holdfast.call("DELETE", f"/cache/actions/{identifier}")
        assert (answer.status, answer.json()["completion"], answer.json()["state"]) == (200, "canceled", "executing")
    finished(holdfast, identifier, "canceled")
    assert origin.peak == 4
    assert len(origin.seen("GET", "/items/5")) + len(origin.seen("GET", "/items/6")) == 2
    assert holdfast.call("DELETE", f"/cache/actions/{identifier}").json()["completion"] == "canceled"


def test_five_run_at_once_and_one_in_each_store(origin, holdfast):
    names = "abcdef"
    for name in names:
        holdfast.call("POST", "/cache/stores", {"name": name, "paths": [f"/{name}/**"]})
    targets = [f"/{name}/{n}" for name in names for n in (1, 2)]
    filled(origin, holdfast, *targets)
    with held(origin, *targets):
        first = [submit(holdfast, type="refresh", pattern=f"/{name}/1") for name in names]
        second = submit(holdfast, type="refresh", pattern="/a/2")
        assert action(holdfast, second)["stores"] == ["a"]
        eventually(lambda: origin.running == 5)
        eventually(lambda: states(holdfast) == ["executing"] * 5 + ["pending"] * 2)
        everything = submit(holdfast, type="save")
        stays(lambda: states(holdfast) == ["executing"] * 5 + ["pending"] * 3 and origin.running == 5, 0.3)
    for identifier in [*first, second, everything]:
        finished(holdfast, identifier)
    begun = [action(holdfast, identifier)["statistics"]["startedAt"] for identifier in (first[0], second, everything)]
    assert begun == sorted(begun)


def test_suspending_pauses_them(origin, holdfast):
    filled(origin, holdfast, "/items/1")
    holdfast.call("PUT", "/cache/suspended", {"suspended": True})
    identifier = submit(holdfast, type="refresh")
    stays(lambda: action(holdfast, identifier)["state"] in ("created", "pending"), 0.3)
    holdfast.call("PUT", "/cache/suspended", {"suspended": False})
    finished(holdfast, identifier)


def test_saving_is_a_job_too(origin, holdfast_with):
    holdfast = holdfast_with(cacheMode="manualSaving")
    filled(origin, holdfast, "/items/1")
    assert finished(holdfast, submit(holdfast, type="save"))["progress"] == {"done": 1, "total": 1, "bytes": 0}
    holdfast.restart()
    assert holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_CACHE").json() == {"v": 1}


def test_every_change_is_told(origin, holdfast):
    filled(origin, holdfast, "/items/1")
    listener = Listener(holdfast.port).begun()
    identifier = submit(holdfast, type="refresh")

    def told(listener):
        return [(e["action"]["action"], e["action"]["state"], e["action"]["completion"]) for e in listener.events()
                if e["type"] == "action" and e["action"]["id"] == identifier]

    listener.until(lambda l: ("refresh", "finished", "successful") in told(l)).close()
    assert list(dict.fromkeys(told(listener))) == [
        ("refresh", "created", "unknown"), ("refresh", "executing", "unknown"), ("refresh", "finished", "successful")]


def test_what_is_no_action_is_refused(holdfast):
    for body in ({}, {"type": "dance"}, {"type": "save", "pattern": "/a"}, [1]):
        answer = holdfast.call("POST", "/cache/actions", body)
        assert (answer.status, answer.json()["type"]) == (400, "/problems/bad-json")
    assert holdfast.call("GET", "/cache/actions").json() == {"items": []}
    assert holdfast.call("GET", "/cache/actions/none").status == 404


def test_a_prefetch_downloads_its_targets_ahead_and_pins_them(origin, holdfast):
    body = bytes(range(256)) * 4096
    origin.put("/files/1", body, content_type="application/octet-stream")
    origin.put("/items/1", {"v": 1})
    done = finished(holdfast, submit(
        holdfast, type="prefetch", targets=["/files/1", "/items/1", "/items/none?q=1"], pin="high"))
    assert done["progress"] == {"done": 3, "total": 3, "bytes": len(body) + len(b'{"v": 1}') + len(b'{"error":"absent"}')}
    assert (done["statistics"]["fetched"], done["statistics"]["pinned"]) == (3, 3)
    holdfast.call("PUT", "/cache/network", {"offline": True})
    assert holdfast.call("GET", "/files/files/1").body == body
    assert holdfast.get("/items/1").json() == {"v": 1}
    for target in ("/files/1", "/items/1"):
        assert holdfast.call("GET", f"/cache/entry/pin?target={target}").json() == {"priority": "high"}


def test_a_prefetch_of_a_collection_brings_all_pages_and_members_and_keeps_them(origin, holdfast):
    for n in range(4):
        origin.put(f"/items/{n}", {"id": n, "long": "text"})
    origin.script("/items", Reply(["Content-Type: application/json", 'Link: </items?page=2>; rel="next"'], 200,
                                  b'[{"id":0},{"id":1}]'))
    origin.script("/items?page=2", Reply(["Content-Type: application/json"], 200, b'[{"id":2},{"id":3}]'))

    def pinned():
        return holdfast.call("GET", "/cache").json()["pinned"]

    done = finished(holdfast, submit(holdfast, type="prefetch", collection="/items", pin="normal"))
    assert (done["progress"]["done"], done["progress"]["total"]) == (6, 6)
    assert done["statistics"]["pinned"] == 6
    holdfast.call("PUT", "/cache/network", {"offline": True})
    for n in range(4):
        assert holdfast.get(f"/items/{n}").json() == {"id": n, "long": "text"}
    assert holdfast.call("GET", "/cache/entry?target=/items/3").json()["pinnedFor"] == {"/items": "normal"}
    # What the collection leads to is kept for it alone.
    holdfast.call("PUT", "/cache/entry/pin?target=/items/1", {"priority": "high"})
    assert pinned() == 6
    assert holdfast.call("DELETE", "/cache/entry/pin?target=/items").status == 204
    eventually(lambda: pinned() == 1)
    assert "pinnedFor" not in holdfast.call("GET", "/cache/entry?target=/items/3").json()


def test_a_job_of_an_identity_waits_after_a_restart_until_that_calls_again(origin, holdfast):
    mine = {"Authorization": "Basic bWU6bWU="}
    for target in ("/items/1", "/items/2"):
        origin.put(target, {"v": 1})
        assert holdfast.call("GET", "/resources" + target, headers=mine).status == 200
    holdfast.call("PUT", "/cache/network", {"offline": True})
    answer = holdfast.call("POST", "/cache/actions", {"type": "refresh"}, headers=mine)
    holdfast.restart()
    job = "/cache/actions/" + answer.json()["id"]
    eventually(lambda: holdfast.call("GET", job).json().get("reason") == "credential")
    assert holdfast.call("GET", job).json()["state"] == "pending"
    everybodys = finished(holdfast, submit(holdfast, "?partition=*", type="refresh"))
    assert everybodys["statistics"]["withoutCredential"] == 2
    assert everybodys["statistics"]["failed"] == 0
    assert holdfast.call("GET", "/resources/items/1", headers=mine).status == 200
    done = eventually(lambda: (a := holdfast.call("GET", job).json())["state"] == "finished" and a)
    assert (done["completion"], done["statistics"]["withoutCredential"]) == ("successful", 0)


def test_a_prefetch_follows_the_links_of_a_document(origin, holdfast):
    origin.put("/feed", {"entries": [{"url": "/items/1"}, {"url": origin.url + "/items/2"},
                                     {"url": "http://elsewhere.invalid/x"}]})
    for n in (1, 2):
        origin.put(f"/items/{n}", {"v": n})
    done = finished(holdfast, submit(holdfast, type="prefetch", document="/feed", links="/entries/*/url"))
    assert done["progress"]["done"] == 3
    holdfast.call("PUT", "/cache/network", {"offline": True})
    assert [holdfast.get(f"/items/{n}").json()["v"] for n in (1, 2)] == [1, 2]


def test_a_prefetch_that_is_killed_fetches_the_rest(origin, holdfast):
    targets = [f"/items/{n:02}" for n in range(40)]
    for target in targets:
        origin.put(target, {"v": 1})
        origin.order(path=target, delay=0.1)
    identifier = submit(holdfast, type="prefetch", targets=targets)
    eventually(lambda: action(holdfast, identifier)["progress"]["done"] >= 10)
    holdfast.restart()
    done = finished(holdfast, identifier)
    assert (done["progress"]["done"], done["progress"]["total"]) == (40, 40)
    assert {r.path for r in origin.seen("GET")} == set(targets)
    # What was on its way is asked for again, and copies that were not yet written behind.
    assert len(origin.seen("GET")) <= 40 + 25


def test_a_prefetch_is_of_its_callers_own_entries(origin, holdfast):
    origin.put("/items/1", {"v": 1})
    mine = {"Authorization": "Basic bWU6bWU="}
    answer = holdfast.call("POST", "/cache/actions", {"type": "prefetch", "targets": ["/items/1"]}, headers=mine)
    finished(holdfast, answer.json()["id"])
    assert origin.seen("GET", "/items/1")[0].headers["authorization"] == mine["Authorization"]
    holdfast.call("PUT", "/cache/network", {"offline": True})
    assert holdfast.call("GET", "/resources/items/1", headers=mine).json() == {"v": 1}
    assert holdfast.get("/items/1").status == 504


def test_a_secret_in_a_target_is_never_kept(holdfast):
    answer = holdfast.call("POST", "/cache/actions", {"type": "prefetch", "targets": ["/items?access_token=s3cret"]})
    assert (answer.status, answer.json()["type"]) == (400, "/problems/bad-target")
    assert "s3cret" not in answer.body.decode()


def test_a_verification_sets_aside_what_is_damaged(origin, holdfast):
    bodies = {f"/files/{n}": bytes([n]) * 300_000 for n in range(3)}
    for target, body in bodies.items():
        origin.put(target, body, content_type="image/png")
        assert holdfast.call("GET", "/files" + target).body == body
    path = holdfast.call("GET", "/cache/entry?target=/files/1").json()["serverCopy"]["path"]
    assert finished(holdfast, submit(holdfast, type="verify"))["statistics"]["damaged"] == 0
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        file.seek(1000)
        file.write(b"x")
    done = finished(holdfast, submit(holdfast, type="verify", store="default"))
    assert done["progress"] == {"done": 6, "total": 6, "bytes": 600_000}  # files, and rows of the database
    assert done["statistics"]["damaged"] == 1
    assert holdfast.call("GET", "/files/files/1").body == bodies["/files/1"]
    assert finished(holdfast, submit(holdfast, type="verify"))["statistics"]["damaged"] == 0


def test_a_verification_finds_what_is_damaged_in_the_database(origin, holdfast):
    origin.headers["Cache-Control"] = "max-age=600"
    filled(origin, holdfast, "/items/1", "/items/2")
    origin.put("/items/1", {"text": "milk"})
    assert holdfast.get("/items/1", cache_control="no-cache").json() == {"text": "milk"}
    with sqlite3.connect(holdfast.data / "holdfast.sqlite") as database:
        database.execute("UPDATE entries SET record = CAST(replace(CAST(record AS TEXT), 'milk', 'silk') AS BLOB)")
    database.close()
    holdfast.restart()
    assert finished(holdfast, submit(holdfast, type="verify"))["statistics"]["damaged"] == 1
    assert holdfast.get("/items/1").json() == {"text": "milk"}
    assert finished(holdfast, submit(holdfast, type="verify"))["statistics"]["damaged"] == 0


def test_both_sides_of_a_mirrored_store_are_reconciled_and_verified(origin, holdfast):
    attached = holdfast.call("POST", "/cache/stores", {
        "name": "m", "paths": ["/files/**"], "location": {"primary": "one", "mirror": "two"}})
    assert attached.status == 201, attached
    body = os.urandom(300_000)
    origin.put("/files/1", body, content_type="image/png")
    assert holdfast.call("GET", "/files/files/1").body == body
    assert finished(holdfast, submit(holdfast, type="reconcile", store="m"))["progress"]["total"] > 0
    copy = next((holdfast.data / "two").rglob(hashlib.sha256(body).hexdigest()))
    copy.chmod(0o600)
    copy.write_bytes(b"damaged")
    done = finished(holdfast, submit(holdfast, type="verify", store="m"))
    assert done["statistics"]["repaired"] == 1
    assert copy.read_bytes() == body
    failed = finished(holdfast, submit(holdfast, type="reconcile", store="default"), "failed")
    assert failed["problem"]["type"] == "/problems/bad-request"


def test_a_snapshot_goes_through_a_file(origin, holdfast_with):
    first, second = holdfast_with(), holdfast_with()
    body = os.urandom(300_000)
    origin.put("/files/1", body, content_type="image/png")
    origin.put("/items/1", {"v": 1})
    assert first.call("GET", "/files/files/1").body == body and first.get("/items/1").status == 200
    done = finished(first, submit(first, type="export", file="backup.ndjson"))
    file = first.data / "backup.ndjson"
    assert done["progress"] == {"done": 2, "total": 2, "bytes": file.stat().st_size}
    assert file.read_bytes().splitlines()[-1].startswith(b'{"end"') and file.stat().st_mode & 0o777 == 0o600
    shutil.copy(file, second.data / "from.ndjson")
    done = finished(second, submit(second, type="import", file="from.ndjson"))
    assert done["progress"] == {"done": 2, "total": 2, "bytes": file.stat().st_size}
    second.call("PUT", "/cache/network", {"offline": True})
    assert second.call("GET", "/files/files/1").body == body
    assert second.get("/items/1").json() == {"v": 1}


def test_what_is_cut_is_not_taken_in_and_says_which_line(origin, holdfast):
    filled(origin, holdfast, "/items/1")
    finished(holdfast, submit(holdfast, type="export", file="whole.ndjson"))
    lines = (holdfast.data / "whole.ndjson").read_bytes().splitlines(keepends=True)
    (holdfast.data / "cut.ndjson").write_bytes(b"".join(lines[:-1]))
    failed = finished(holdfast, submit(holdfast, type="import", file="cut.ndjson"), "failed")
    assert failed["problem"]["type"] == "/problems/bad-snapshot" and f"Line {len(lines)} " in failed["problem"]["detail"]
    absent = finished(holdfast, submit(holdfast, type="import", file="none.ndjson"), "failed")
    assert absent["problem"]["type"] == "/problems/not-found"


@pytest.mark.parametrize("kind", ["export", "import"])
def test_only_snapshots_under_the_roots_are_read_and_written(holdfast, tmp_path, kind):
    (holdfast.data / "link.ndjson").symlink_to(tmp_path / "out.ndjson")
    (tmp_path / "out.ndjson").write_text("")
    (holdfast.data / "inner.ndjson").symlink_to(holdfast.data / "holdfast.sqlite")
    for file in ("../out.ndjson", "a/../../out.ndjson", str(tmp_path / "out.ndjson"), "/etc/passwd", "link.ndjson",
                 "holdfast.sqlite", "inner.ndjson", "partition.key", "x\u0000.ndjson", ""):
        answer = holdfast.call("POST", "/cache/actions", {"type": kind, "file": file})
        assert answer.status in (400, 403), (file, answer)
        assert str(tmp_path) not in answer.json()["detail"]
    assert holdfast.call("GET", "/cache/actions").json() == {"items": []}


def test_an_export_that_is_killed_is_made_whole_afterwards(origin, holdfast):
    for n in range(20):
        origin.put(f"/files/{n}", os.urandom(4 << 20), content_type="image/png")
        assert holdfast.call("GET", f"/files/files/{n}").status == 200
    identifier = submit(holdfast, type="export", file="backup.ndjson")
    eventually(lambda: action(holdfast, identifier)["progress"]["done"] >= 1, every=0.005)
    holdfast.kill()
    assert not (holdfast.data / "backup.ndjson").exists()
    holdfast.start()
    assert finished(holdfast, identifier)["progress"]["done"] == 20
    assert len((holdfast.data / "backup.ndjson").read_bytes().splitlines()) > 20
    assert not (holdfast.data / "backup.ndjson.new").exists()
