"""The kept copies out and in as one stream: whole or not at all, of any size."""

import hashlib
import http.client
import json
import os
import threading
import time

import pytest

from service import eventually, receipt
from test_modes import filled, kept


def export(holdfast, query=""):
    answer = holdfast.call("GET", "/cache/snapshot" + query)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/x-ndjson"), answer
    return answer.body


def load(holdfast, snapshot):
    return holdfast.call("PUT", "/cache/snapshot", snapshot)


def offline(holdfast):
    holdfast.call("PUT", "/cache/network", {"offline": True})


def test_another_instance_goes_on_with_the_copies(origin, holdfast_with):
    first, second = holdfast_with(), holdfast_with()
    long = os.urandom(300_000)
    filled(origin, first, "a")
    origin.put("/pictures/1", long, content_type="image/png")
    assert first.call("GET", "/files/pictures/1").body == long
    assert first.get("/items/none").status == 404
    first.call("PUT", "/cache/entry/policy?target=/items/1", {"expireAfter": 7})
    first.call("PUT", "/cache/entry/pin?target=/items/1", {"priority": "high"})
    offline(second)
    assert load(second, export(first)).json() == {"entries": 3}
    assert kept(second) == "a"
    assert second.call("GET", "/files/pictures/1").body == long
    assert second.get("/items/none", sync_policy="fetch-policy=FETCH_FROM_CACHE").status == 404
    shown = second.call("GET", "/cache/entry?target=/items/1").json()
    assert (shown["policy"], shown["pin"]) == ({"expireAfter": 7}, "high")
    assert shown["serverCopy"]["etag"] == first.call("GET", "/cache/entry?target=/items/1").json()["serverCopy"]["etag"]
    second.restart()
    assert kept(second) == "a" and second.call("GET", "/files/pictures/1").body == long


def test_what_is_cut_or_corrupt_is_refused_whole_with_its_line(origin, holdfast_with):
    first, second = holdfast_with(), holdfast_with()
    filled(origin, first, "a")
    filled(origin, first, "b" * 70_000, "2")
    lines = export(first).splitlines(keepends=True)
    assert [list(json.loads(line))[0] for line in lines] == ["holdfast", "entry", "body", "entry", "body", "body", "end"]

    def refusal(snapshot):
        answer = load(second, b"".join(snapshot))
        assert (answer.status, answer.json()["type"]) == (400, "/problems/bad-snapshot"), answer
        assert second.call("GET", "/cache/entries").json()["items"] == []
        assert f"Line {answer.json()['line']} " in answer.json()["detail"]
        return answer.json()["line"]

    for count in range(len(lines)):
        assert refusal(lines[:count]) == count + 1
        assert refusal(lines[:count] + [lines[count][:-9]]) == count + 1
        spoiled = bytearray(lines[count])
        spoiled[len(spoiled) // 2] ^= 1
        assert refusal(lines[:count] + [bytes(spoiled)] + lines[count + 1:]) == count + 1
        if count:
            assert refusal(lines[:count - 1] + lines[count:]) >= count
    assert refusal(lines + lines[:1]) == len(lines) + 1
    assert refusal([b"x" * 8_400_000]) == 1
    later = json.dumps({"holdfast": {"snapshot": 99}})[:-1].encode()
    check = hashlib.sha256(later).hexdigest()[:16].encode()
    later += b',"check":"' + check + b'"}\n'
    assert refusal([later] + lines[1:]) == 1
    assert "later version" in load(second, later).json()["detail"]
    assert load(second, b"".join(lines)).json() == {"entries": 2}


def test_what_has_an_edit_stays_and_edits_never_leave(origin, holdfast_with):
    first, second = holdfast_with(), holdfast_with()
    filled(origin, first, "new")
    filled(origin, first, "new", "2")
    filled(origin, second, "old")
    filled(origin, second, "old", "2")
    offline(second)
    offline(first)
    receipt(second.put("/items/1", {"v": "edit"}))
    receipt(first.put("/items/3", {"v": "edit of the first"}))
    snapshot = export(first)
    assert b"/items/3" not in snapshot
    assert load(second, snapshot).status == 200
    assert second.get("/items/1").json()["v"] == "edit"
    assert second.call("GET", "/resources/items/1?persistentState=true").json()["v"] == "old"
    assert second.get("/items/2").json()["v"] == "new"
    assert len(second.operations()) == 1


def test_partitions_go_with_their_key_alone(origin, holdfast_with):
    first, second, third = holdfast_with(), holdfast_with(), holdfast_with()
    origin.put("/items/1", {"v": "ann's"})
    ann = {"Authorization": "Basic YTpi"}
    assert first.call("GET", "/resources/items/1", headers=ann).status == 200
    assert len(export(first).splitlines()) == 2
    whole = export(first, "?partitions=all")
    assert b"YTpi" not in whole
    refused = load(second, whole).json()
    assert (refused["type"], refused["line"]) == ("/problems/bad-snapshot", 2)
    third.stop()
    for file in third.data.iterdir():
        if file.is_file():
            file.unlink()
    (third.data / "partition.key").write_bytes((first.data / "partition.key").read_bytes())
    third.start()
    assert load(third, whole).json() == {"entries": 1}
    offline(third)
    assert third.call("GET", "/resources/items/1", headers=ann).json()["v"] == "ann's"
    assert third.get("/items/1").status == 504


def test_a_cache_is_initialized_with_a_snapshot(origin, holdfast_with):
    first, second = holdfast_with(), holdfast_with()
    filled(origin, first, "given")
    data = export(first).decode()
    filled(origin, second, "saved")
    filled(origin, second, "saved", "2")
    refused = second.call("PUT", "/cache/mode", {"initialized": {"data": data[:-30]}})
    assert refused.json()["type"] == "/problems/bad-snapshot"
    assert (kept(second), kept(second, "2")) == ("saved", "saved")
    assert second.call("PUT", "/cache/mode", {"initialized": {"data": data}}).json() == {"initialized": {}}
    assert (kept(second), kept(second, "2")) == ("given", None)
    second.config["cacheMode"] = {"initialized": {"data": data}}
    second.restart()
    assert (kept(second), kept(second, "2")) == ("given", None)
    second.config["cacheMode"] = "automatic"
    second.restart()
    assert (kept(second), kept(second, "2")) == ("saved", "saved")


def test_without_a_cache_there_is_no_snapshot(holdfast_with):
    holdfast = holdfast_with(cacheMode="no")
    assert holdfast.call("GET", "/cache/snapshot").status == 404
    assert load(holdfast, b"").json()["type"] == "/problems/cache-disabled"


def test_a_large_snapshot_passes_in_constant_memory(origin, holdfast_with, tmp_path):
    first, second = holdfast_with(), holdfast_with()
    bodies = {f"/files/big/{n}": os.urandom(16 << 20) for n in range(4)}
    for target, body in bodies.items():
        origin.put(target.removeprefix("/files"), body, content_type="application/octet-stream")
        assert first.call("GET", target).body == body
    before = first.memory(), second.memory()
    path = tmp_path / "snapshot"
    connection = http.client.HTTPConnection("127.0.0.1", first.port, timeout=60)
    connection.request("GET", "/cache/snapshot")
    with connection.getresponse() as answer, path.open("wb") as file:
        while piece := answer.read(1 << 20):
            file.write(piece)
    assert path.stat().st_size > 80 << 20
    with path.open("rb") as file:
        answer = second.call("PUT", "/cache/snapshot", file, {"Content-Length": str(path.stat().st_size)}, timeout=60)
    assert answer.json() == {"entries": 4}
    assert first.memory() - before[0] < 32 << 20
    assert second.memory() - before[1] < 32 << 20
    for target, body in bodies.items():
        assert second.call("GET", target, headers={"Sync-Policy": "fetch-policy=FETCH_FROM_CACHE"}).body == body


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.08, 0.12])
def test_a_crash_while_loading_leaves_the_old_or_the_new(origin, holdfast_with, delay):
    first, second = holdfast_with(), holdfast_with()
    names = [str(n) for n in range(300)]
    for name in names:
        filled(origin, first, "new", name)
    snapshot = export(first)
    loading = threading.Thread(target=lambda: second.attempt("PUT", "/cache/snapshot", snapshot))
    loading.start()
    time.sleep(delay)
    second.kill()
    loading.join()
    second.start()
    eventually(second.is_ready)
    assert {kept(second, name) for name in names} in ({None}, {"new"})
