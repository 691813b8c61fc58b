"""Stores of their own for parts of the service: attached, detached, carried to another instance, never mixed up."""

import os
import pathlib
import socket
import threading

import pytest

from service import eventually, receipt


def attach(holdfast, name="users", paths=("/users/**",), **more):
    return holdfast.call("POST", "/cache/stores", {"name": name, "paths": list(paths), **more})


def stores(holdfast):
    return {s["name"]: s["status"] for s in holdfast.call("GET", "/cache/stores").json()["items"]}


def origin_user(origin, holdfast, value="old"):
    origin.put("/users/1", {"id": "1", "v": value})
    return holdfast.get("/users/1").json()["v"]


def test_a_login_brings_the_users_store_beside_the_global_one(origin, holdfast):
    origin.put("/accounts", [{"id": "ann"}])
    assert holdfast.get("/accounts").status == 200
    answer = attach(holdfast, "ann", ["/users/**"])
    assert answer.status == 201, answer
    assert answer.headers["Location"] == "/cache/stores/ann"
    assert pathlib.Path(answer.json()["location"]["primary"], "holdfast.ann.sqlite").exists()
    assert stores(holdfast) == {"default": "started", "ann": "started"}
    assert origin_user(origin, holdfast) == "old"
    entries = {s["name"]: s["entries"] for s in holdfast.call("GET", "/cache/stores").json()["items"]}
    assert entries == {"default": 1, "ann": 1}
    assert holdfast.call("DELETE", "/cache/stores/ann").status == 204
    assert stores(holdfast) == {"default": "started"}
    assert holdfast.get("/users/1").status == 200
    origin.stop()
    eventually(lambda: holdfast.get("/users/1").status == 503)
    assert holdfast.get("/users/1").json()["type"] == "/problems/store-detached"
    assert holdfast.put("/users/1", {"v": 1}).json()["type"] == "/problems/store-detached"
    assert holdfast.get("/accounts").status == 200
    attach(holdfast, "ann", ["/users/**"])
    assert holdfast.get("/users/1").json()["v"] == "old"


def test_queued_writes_wait_in_a_detached_store_and_go_on_with_it(origin, holdfast):
    attach(holdfast)
    origin_user(origin, holdfast)
    origin.stop()
    identifier = receipt(holdfast.put("/users/1", {"id": "1", "v": "mine"}))
    refused = holdfast.call("DELETE", "/cache/stores/users")
    assert (refused.status, refused.json()["type"]) == (409, "/problems/operations-pending")
    assert holdfast.call("DELETE", "/cache/stores/users?leave=true").status == 204
    assert holdfast.operations() == []
    origin.start()
    holdfast.call("POST", "/cache/sync?wait=1")
    eventually(lambda: holdfast.get("/users/1").status == 200)
    assert holdfast.get("/users/1").json()["v"] == "old"
    for _ in range(2):
        assert holdfast.put("/users/1", {"v": "other"}).json()["type"] == "/problems/store-detached"
        assert holdfast.put("/users/2", {"id": "2"}).status in (200, 201)
        holdfast.restart()
    assert attach(holdfast).status == 201
    holdfast.await_state(identifier, "delivered")
    assert origin.json("/users/1")["v"] == "mine"
    assert len([r for r in origin.seen("PUT") if r.path == "/users/1"]) == 1


def test_another_instance_goes_on_with_the_folder(origin, holdfast_with, tmp_path):
    first = holdfast_with(storeRoots=[str(tmp_path)])
    second = holdfast_with(storeRoots=[str(tmp_path)])
    where = {"location": {"primary": str(tmp_path / "shared")}}
    assert attach(first, **where).status == 201
    assert attach(second, **where).json()["type"] == "/problems/store-unusable"
    origin.put("/users/1", {"id": "1", "v": "old"})
    assert first.get("/users/1", authorization="Basic YTpi").status == 200
    origin.stop()
    receipt(first.put("/users/1", {"id": "1", "v": "mine"}, authorization="Basic YTpi"))
    assert first.call("DELETE", "/cache/stores/users?leave=true").status == 204
    eventually(lambda: attach(second, **where).status == 201)
    # Its partition key came with the folder: the same identity has the same partition.
    eventually(lambda: second.get("/users/1", authorization="Basic YTpi").status == 200)
    assert second.get("/users/1", authorization="Basic YTpi").json()["v"] == "mine"
    origin.start()

    def is_delivered():
        # The origin has to see the credential once: it is nowhere on disk.
        second.get("/users/1", authorization="Basic YTpi", sync_policy="fetch-policy=FETCH_FROM_SERVICE")
        return origin.json("/users/1")["v"] == "mine"

    eventually(is_delivered)


def test_a_store_that_is_refused_leaves_no_thread_behind(origin, holdfast_with, tmp_path):
    first, second = (holdfast_with(storeRoots=[str(tmp_path)]) for _ in range(2))
    where = {"location": {"primary": str(tmp_path / "shared")}}
    assert attach(first, **where).status == 201
    assert attach(second, **where).status == 409

    def threads():
        return len(os.listdir(f"/proc/{second.process.pid}/task"))

    before = threads()
    for _ in range(5):
        assert attach(second, **where).status == 409
    eventually(lambda: threads() <= before)


def test_a_store_in_memory_forgets_copies_and_keeps_writes(origin, holdfast):
    attach(holdfast, type="memory")
    origin.put("/users/2", {"id": "2"})
    assert holdfast.get("/users/2").status == 200
    assert holdfast.call("GET", "/cache/stores/users").json()["entries"] == 1
    origin.stop()
    assert holdfast.get("/users/2").status == 200
    identifier = receipt(holdfast.put("/users/1", {"id": "1", "v": "mine"}))
    holdfast.stop()
    holdfast.start()
    assert holdfast.get("/users/1").json()["v"] == "mine"
    assert holdfast.get("/users/2").status == 504
    origin.start()
    holdfast.await_state(identifier, "delivered")


def test_accepted_writes_of_an_attached_store_survive_kill(origin, holdfast):
    attach(holdfast)
    origin.stop()
    identifier = receipt(holdfast.put("/users/1", {"id": "1", "v": "mine"}))
    holdfast.restart()
    assert stores(holdfast)["users"] == "started"
    assert holdfast.get("/users/1").json()["v"] == "mine"
    origin.start()
    holdfast.await_state(identifier, "delivered")


def test_stopping_and_starting_twice_is_as_once(origin, holdfast):
    attach(holdfast)
    origin_user(origin, holdfast)
    for started, status in [(False, "stopped"), (False, "stopped"), (True, "started"), (True, "started")]:
        answer = holdfast.call("PUT", "/cache/stores/users", {"started": started})
        assert (answer.status, answer.json()["status"]) == (200, status)
    origin.stop()
    assert holdfast.get("/users/1").status == 200
    assert attach(holdfast, "later", ["/later"], started=False).json()["status"] == "attached"


def test_stores_lie_under_their_roots_alone(origin, holdfast_with, tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    holdfast = holdfast_with(storeRoots=[str(inside)])
    for folder in [outside, inside / "link", inside / "link" / "new", inside / ".." / "out", "/etc", inside / "a" / ".." / ".."]:
        answer = attach(holdfast, location={"primary": str(folder)})
        assert (answer.status, answer.json()["type"]) == (403, "/problems/location-not-allowed"), folder
    assert attach(holdfast, location={"primary": str(inside / "new" / "deep")}).status == 201
    assert (inside / "new" / "deep" / "holdfast.users.sqlite").exists()
    assert not list(outside.iterdir())


@pytest.mark.parametrize("more", [{"name": name} for name in ("../x", "a/b", "..", ".", "", "a\0b", "/etc/x")] + [
    {"fileName": name} for name in ("../x.db", "/tmp/x.db", "a/b.db", "..", "a\0.db")], ids=ascii)
def test_no_name_of_a_store_leads_out_of_its_folder(shared_cache, more):
    holdfast = shared_cache.holdfast
    before = set(holdfast.folder.rglob("*"))
    assert attach(holdfast, **{"name": "named", **more}).status == 400
    made = set(holdfast.folder.rglob("*")) - before
    assert not [path for path in made if path.suffix not in (".sqlite-wal", ".sqlite-shm")]


def test_a_root_is_one_folder_whatever_looks_like_it(origin, holdfast_with, tmp_path):
    composed, decomposed = tmp_path / "caf\u00e9", tmp_path / "cafe\u0301"
    composed.mkdir()
    decomposed.mkdir()
    (tmp_path / "caf\u00e9s").mkdir()
    holdfast = holdfast_with(storeRoots=[str(composed)])
    for location in (
            {"primary": str(decomposed)}, {"primary": str(decomposed / "x")}, {"primary": str(tmp_path / "caf\u00e9s")},
            {"primary": str(composed / "x"), "mirror": str(decomposed)}, {"primary": str(composed) + "\0/../.."}):
        assert attach(holdfast, location=location).status in (400, 403), location
    assert not list(decomposed.iterdir()) and not list(composed.iterdir())
    assert attach(holdfast, location={"primary": str(composed)}).status == 201


def test_several_stores_at_one_location_and_a_foreign_file(origin, holdfast, tmp_path):
    answer = holdfast.call("POST", "/cache/stores", [
        {"name": "a", "paths": ["/a/**"], "location": {"primary": "many"}},
        {"name": "b", "paths": ["/b/**"], "fileName": "mine.db"}])
    assert answer.status == 201, answer
    folder = pathlib.Path(answer.json()["items"][0]["location"]["primary"])
    names = {p.name for p in (holdfast.data / "many").iterdir()}
    assert {"holdfast.a.sqlite", "mine.db"} <= names, folder
    foreign = holdfast.data / "many" / "notes.sqlite"
    foreign.write_text("my notes")
    more = {"location": {"primary": "many"}, "fileName": "notes.sqlite"}
    assert attach(holdfast, "c", ["/c"], **more).json()["type"] == "/problems/store-unusable"
    assert foreign.read_text() == "my notes"
    assert attach(holdfast, "c", ["/c"], overwriteIncompatible=True, **more).status == 201
    assert attach(holdfast, "c", ["/c"]).json()["type"] == "/problems/store-exists"


def test_the_configuration_attaches_stores_at_the_start(origin, holdfast_with):
    holdfast = holdfast_with(stores=[{"name": "users", "paths": ["/users/**"], "maxStoreSize": "1MiB"}])
    shown = holdfast.call("GET", "/cache/stores/users").json()
    assert (shown["status"], shown["maxStoreSize"]) == ("started", 1 << 20)
    origin.put("/users/big", {"text": "x" * (2 << 20)})
    assert holdfast.get("/users/big").status == 200
    assert holdfast.call("GET", "/cache/stores/users").json()["entries"] == 0


@pytest.mark.parametrize("rounds", [12])
def test_attaching_and_detaching_while_requests_run_loses_and_doubles_nothing(origin, holdfast, rounds):
    attach(holdfast)
    accepted, wrong, stop = {}, [], threading.Event()

    def client(number):
        count = 0
        while not stop.is_set():
            count += 1
            target = f"/users/{number}-{count}"
            answer = holdfast.put(target, {"id": f"{number}-{count}", "n": count})
            if answer.status in (200, 201, 202):
                accepted[target] = count
            elif answer.status != 503:
                wrong.append((target, answer.status, answer.body))
            read = holdfast.get("/things/1")
            if read.status != 200 or read.json()["v"] != "thing":
                wrong.append(("/things/1", read.status, read.body))

    origin.put("/things/1", {"v": "thing"})
    threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for number in range(rounds):
        holdfast.call("PUT", "/cache/network", {"offline": number % 3 == 1})
        eventually(lambda: holdfast.call("DELETE", "/cache/stores/users?leave=true").status in (204, 404), 20)
        eventually(lambda: attach(holdfast).status in (201, 409), 20)
    stop.set()
    for thread in threads:
        thread.join()
    holdfast.call("PUT", "/cache/network", {"offline": False})
    holdfast.await_drained(30)
    assert not wrong, wrong[:3]
    assert accepted
    for target, count in accepted.items():
        assert origin.json(target)["n"] == count, target
    sent = [r.path for r in origin.seen("PUT")]
    assert len(sent) == len(set(sent))


def test_a_store_that_the_configuration_no_longer_names_is_gone(origin, holdfast_with):
    holdfast = holdfast_with(stores=[{"name": "users", "paths": ["/users/**"]}])
    assert attach(holdfast, "later", ["/later/**"]).status == 201
    holdfast.config["stores"] = []
    holdfast.restart()
    assert stores(holdfast) == {"default": "started", "later": "started"}


@pytest.mark.parametrize("paths", [["/users/*"], ["/users/1"], ["/users/**"]])
def test_no_store_takes_writes_over_that_wait_in_a_detached_one(origin, holdfast, paths):
    attach(holdfast)
    origin.stop()
    receipt(holdfast.put("/users/1", {"v": "old"}))
    assert holdfast.call("DELETE", "/cache/stores/users?leave=true").status == 204
    assert attach(holdfast, "other", paths).status == 201
    for _ in range(2):
        refused = holdfast.put("/users/1", {"v": "new"})
        assert (refused.status, refused.json()["type"]) == (503, "/problems/store-detached")
        assert "users" in refused.json()["detail"]
        holdfast.restart()
    assert attach(holdfast, "again", paths, fileName="holdfast.users.sqlite").status == 201
    last = receipt(holdfast.put("/users/1", {"v": "new"}))
    origin.start()
    holdfast.await_state(last, "delivered")
    assert origin.json("/users/1")["v"] == "new"
    assert holdfast.put("/users/1", {"v": "newest"}).status == 200


@pytest.mark.parametrize(
    "name", ["holdfast.sqlite-wal", "holdfast.sqlite-shm", "holdfast.users.sqlite-wal", "holdfast.users.sqlite.lock",
             "holdfast.users.sqlite.partition.key", "partition.key", "lock", "reserve", "stores.json", "link.sqlite"])
def test_no_attaching_deletes_a_file_of_another_store(origin, holdfast, name):
    assert attach(holdfast, location={"primary": "."}).status == 201
    data = pathlib.Path(holdfast.data)
    (data / "link.sqlite").symlink_to(data / "holdfast.sqlite")
    origin.stop()
    writes = [receipt(holdfast.put(target, {"v": 1})) for target in ("/other/1", "/users/1")]
    for more in ({}, {"overwriteIncompatible": True}):
        refused = attach(holdfast, "z", ["/z/**"], location={"primary": "."}, fileName=name, **more)
        assert (refused.status, refused.json()["type"]) == (409, "/problems/store-unusable"), refused
        assert refused.json()["detail"].endswith(("fileName.", "itself."))
    holdfast.kill()
    holdfast.start()
    assert {o["id"] for o in holdfast.operations()} == set(writes)


@pytest.mark.parametrize("who", [{}, {"authorization": "Bearer a"}])
@pytest.mark.parametrize("size", [0, 1, 4_000, 20_000, 70_000, 1_000_000])
@pytest.mark.parametrize("is_online", [True, False])
def test_an_upload_is_the_body_of_a_write_to_any_store(origin, holdfast, size, who, is_online):
    attach(holdfast)
    body = os.urandom(size)
    origin.put("/users/0", {})
    assert holdfast.get("/users/0", **who).status == 200
    if not is_online:
        origin.stop()
    for target in ("/users/1", "/other/1"):
        begun = holdfast.call(
            "POST", "/cache/uploads", body, {"Content-Type": "a/b", "Upload-Length": str(size), **who})
        assert begun.status == 201, begun
        upload = begun.headers["Location"].split("/")[-1]
        stranger = {"Upload": upload, "Authorization": "Bearer other"}
        assert holdfast.call("PUT", f"/files{target}", None, stranger).json()["type"] == "/problems/not-found"
        answer = holdfast.call("PUT", f"/files{target}", None, {"Upload": upload, **who})
        assert answer.status in ((200, 201, 204) if is_online else (202,)), answer
    if not is_online:
        for target in ("/users/1", "/other/1"):
            assert holdfast.call("GET", f"/files{target}", None, who).body == body
        holdfast.kill()
        holdfast.start()
        assert holdfast.call("GET", "/files/users/1", None, who).body == body
        origin.start()

    def is_delivered(target):
        # A credential is nowhere on disk: after the restart the origin has to see it again.
        holdfast.get(target, **who, sync_policy="fetch-policy=FETCH_FROM_SERVICE")
        return [r.body for r in origin.seen("PUT") if r.path == target] == [body]

    for target in ("/users/1", "/other/1"):
        eventually(lambda: is_delivered(target))


@pytest.mark.parametrize("query", ["", "?leave=true"])
def test_a_snapshot_of_a_detached_store_is_refused_with_its_name(origin, holdfast, query):
    attach(holdfast)
    origin_user(origin, holdfast)
    snapshot = holdfast.call("GET", "/cache/snapshot").body
    if query:
        origin.stop()
        receipt(holdfast.put("/users/2", {"v": 1}))
    assert holdfast.call("DELETE", "/cache/stores/users" + query).status == 204
    refused = holdfast.call("PUT", "/cache/snapshot", snapshot)
    assert (refused.status, refused.json()["type"]) == (503, "/problems/store-detached")
    assert "store users. Attach or start it" in refused.json()["detail"]
    assert attach(holdfast).status == 201
    assert holdfast.call("PUT", "/cache/snapshot", snapshot).status in (200, 204)


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_body_under_way_whose_store_goes_is_refused_for_that(origin, holdfast, comes_back):
    attach(holdfast)
    origin.stop()
    eventually(lambda: holdfast.get("/users/1").status == 504)
    head = (b"PUT /files/users/5 HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\nContent-Length: 500000\r\n\r\n")
    with socket.create_connection(("127.0.0.1", holdfast.port), timeout=20) as client:
        client.sendall(head + b"k" * 300_000)
        eventually(lambda: list((holdfast.data / "stores").rglob("*bodies/**/*")))
        assert holdfast.call("DELETE", "/cache/stores/users?leave=true").status == 204
        if comes_back:
            assert attach(holdfast).status == 201
        client.sendall(b"k" * 200_000)
        answer = client.recv(1 << 16)
    assert answer.startswith(b"HTTP/1.1 503 ") and b"store-detached" in answer, answer
