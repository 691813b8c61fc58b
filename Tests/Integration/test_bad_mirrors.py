"""Faults of one or both locations of a mirrored store: a clear error, everything else goes on, and it heals without a restart."""

import hashlib
import os
import random
import shutil
import threading

import pytest

from service import eventually, receipt

NOTE = {"id": "1", "text": "milk"}
LONG = "long " * 10_000  # lies in a file of its own


class Pair:
    """An app with its store of notes in two folders, offline, with a copy of /notes/1 and of a long one, and a queued write."""

    def __init__(self, origin, faults, holdfast_with, folder):
        self.origin, self.folder, self.make = origin, folder, holdfast_with
        self.app = holdfast_with(environment=faults.environment, storeRoots=[str(folder)])
        self.attach(self.app, location={"primary": str(folder / "app"), "mirror": str(folder / "group")})
        origin.put("/notes/1", NOTE)
        origin.put("/notes/long", {"text": LONG})
        assert [self.app.get(f"/notes/{name}").status for name in ("1", "long")] == [200, 200]
        origin.stop()
        self.queued = receipt(self.app.put("/notes/2", {"id": "2", "text": "queued"}))

    @staticmethod
    def attach(holdfast, **more):
        answer = holdfast.call("POST", "/cache/stores", {"name": "notes", "paths": ["/notes/**"], **more})
        assert answer.status == 201, answer

    def start_extension(self):
        extension = self.make(storeRoots=[str(self.folder)])
        self.attach(extension, location={"mirror": str(self.folder / "group")}, role="extension")
        return extension

    @property
    def mirror(self):
        return self.app.call("GET", "/cache/stores/notes").json()["mirror"]

    @property
    def health(self):
        return self.app.call("GET", "/health/ready").json()["status"]

    def check_reads(self, holdfast=None):
        holdfast = holdfast or self.app
        assert holdfast.get("/notes/1").json() == NOTE
        assert holdfast.get("/notes/2").json()["text"] == "queued"
        assert holdfast.get("/notes/long").json()["text"] == LONG

    def check_healed(self):
        """Both locations are there and have all; all writes arrive, once."""
        eventually(lambda: self.health == "ready", 20)
        assert self.mirror["out"] == [] and not self.mirror["behind"]
        self.check_reads()
        self.check_reads(self.start_extension())
        receipt(self.app.put("/notes/3", {"id": "3"}))
        self.origin.start()
        self.app.await_drained(20)
        assert self.origin.json("/notes/2")["text"] == "queued"
        assert len(self.origin.seen("PUT", "/notes/2")) == len(self.origin.seen("PUT", "/notes/3")) == 1

    def body(self, side):
        """The file of the long note in one location."""
        files = (self.folder / side).glob("*.bodies/*/*")
        return max(files, key=lambda file: file.stat().st_size)

    def database(self, side):
        return self.folder / side / "holdfast.notes.sqlite"


@pytest.fixture
def pair(origin, faults, holdfast_with, tmp_path):
    return Pair(origin, faults, holdfast_with, tmp_path)


def damage(file):
    """Other bytes of the same length; the times stay."""
    status = file.stat()
    file.chmod(0o600)
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


MIRROR_FAULTS = {
    "read-only": lambda faults: faults.protect("/group/"),
    "full": lambda faults: faults.fill_disk("/group/"),
    "failing": lambda faults: faults.set("write /group/ EIO", "sync /group/ EIO"),
    "unreadable": lambda faults: faults.set("read /group/ EIO", "write /group/ EIO"),
}


@pytest.mark.parametrize("fault", MIRROR_FAULTS)
def test_a_mirror_that_takes_nothing_is_told_of_and_caught_up(origin, faults, pair, fault):
    MIRROR_FAULTS[fault](faults)
    for body in ({"id": "4"}, b"x" * 100_000):
        answer = pair.app.put("/notes/4", body)
        assert (answer.status, answer.json()["type"]) == (500, "/problems/mirror-failed")
        assert (answer.json()["location"], answer.json()["accepted"]) == ("mirror", True)
    assert pair.health == "degraded" and pair.mirror["failures"] > 0
    pair.check_reads()
    assert pair.app.operation(answer.headers["Sync-Operation"])["state"] == "pending"
    assert pair.app.get("/notes/4").body == b"x" * 100_000
    faults.set()
    pair.check_healed()
    assert len(origin.seen("PUT", "/notes/4")) == 1


@pytest.mark.parametrize("fault", MIRROR_FAULTS)
def test_a_mirror_that_takes_nothing_stands_in_the_way_of_no_answer_of_the_origin(origin, faults, pair, fault):
    MIRROR_FAULTS[fault](faults)
    origin.put("/notes/5", {"id": "5"})
    origin.start()
    pair.app.await_drained(20)
    assert pair.app.get("/notes/5").json() == {"id": "5"}
    assert pair.app.put("/notes/5", {"id": "5", "text": "new"}).status == 200
    assert origin.json("/notes/5")["text"] == "new"
    assert pair.app.delete("/notes/5").status in (200, 204)
    origin.put("/notes/6", {"id": "6"})
    assert pair.app.get("/notes/6").json() == {"id": "6"}
    origin.stop()
    assert pair.app.get("/notes/6").json() == {"id": "6"}
    assert pair.app.get("/notes/5").status == 404


@pytest.mark.parametrize("fault", ["read-only", "full", "failing"])
def test_a_primary_location_that_takes_nothing_refuses_writes_by_its_name_and_reads_go_on(faults, pair, fault):
    {"read-only": lambda: faults.protect("/app/"), "full": lambda: faults.fill_disk("/app/"),
     "failing": lambda: faults.set("write /app/ EIO", "sync /app/ EIO")}[fault]()
    answer = pair.app.put("/notes/4", {"id": "4"})
    assert answer.status == 507 and answer.json()["location"] == "primary", answer
    assert pair.health == "degraded"
    pair.check_reads()
    assert pair.app.get("/notes/4").status == 504
    faults.set()
    eventually(lambda: pair.app.put("/notes/4", {"id": "4"}).status == 202, 20)
    pair.check_healed()


def test_a_mirror_that_is_missing_at_the_start_is_left_out_and_filled_when_it_can_be(pair):
    pair.app.stop()
    shutil.rmtree(pair.folder / "group")
    (pair.folder / "group").write_text("in the way")
    pair.app.start()
    assert pair.mirror["out"] == ["mirror"] and pair.health == "degraded"
    pair.check_reads()
    answer = pair.app.put("/notes/4", {"id": "4"})
    assert (answer.status, answer.json()["accepted"]) == (500, True)
    (pair.folder / "group").unlink()
    pair.check_healed()


@pytest.mark.parametrize("side", ["app", "group"])
def test_a_location_that_was_deleted_while_stopped_is_made_anew_from_the_other(pair, side):
    pair.app.stop()
    shutil.rmtree(pair.folder / side)
    pair.app.start()
    pair.check_reads()
    pair.check_healed()


@pytest.mark.parametrize("side", ["app", "group"])
def test_a_location_that_is_deleted_while_running_is_made_anew_from_the_other(pair, side):
    shutil.rmtree(pair.folder / side)
    eventually(lambda: pair.mirror["failures"] > 0, 5)
    pair.check_reads()
    pair.check_healed()


def test_M07_a_body_that_is_damaged_in_one_location_is_read_from_the_other_and_mended(pair):
    whole = pair.body("group").read_bytes()
    damage(pair.body("app"))
    pair.app.restart()
    pair.check_reads()
    assert pair.body("app").read_bytes() == whole


def test_M07_a_body_that_is_damaged_in_both_locations_is_served_by_neither_and_fetched_anew(origin, pair):
    for side in ("app", "group"):
        damage(pair.body(side))
    pair.app.restart()
    answer = pair.app.get("/notes/long")
    assert answer.status in (500, 503, 504) and answer.headers["Content-Type"] == "application/problem+json"
    assert pair.app.get("/notes/1").json() == NOTE
    origin.start()
    pair.app.await_drained(20)
    assert eventually(lambda: (answer := pair.app.get("/notes/long")).status == 200 and answer).json()["text"] == LONG
    pair.check_reads(pair.start_extension())


@pytest.mark.parametrize("sides", [["app"], ["group"], ["app", "group"]], ids=["primary", "mirror", "both"])
def test_a_database_that_is_damaged_loses_nothing_that_the_other_has(pair, sides):
    pair.app.stop()
    for side in sides:
        file = pair.database(side)
        data = bytearray(file.read_bytes())
        data[:100] = b"\xff" * 100
        file.write_bytes(data)
    pair.app.start()
    if len(sides) == 1:
        pair.check_reads()
        pair.check_healed()
    else:
        # What is left is served, what is gone is asked for again, and new writes are safe.
        receipt(pair.app.put("/notes/9", {"id": "9"}))
        pair.app.restart()
        pair.origin.start()
        pair.app.await_drained(20)
        assert pair.origin.json("/notes/9") == {"id": "9"}
        assert pair.app.get("/notes/1").json() == NOTE


def test_M03_a_mirrored_body_that_is_missing_is_noticed_by_who_reads_and_by_a_verification(pair):
    whole = pair.body("app").read_bytes()
    pair.body("app").unlink()
    pair.app.restart()
    pair.check_reads()
    assert pair.body("app").read_bytes() == whole
    pair.body("group").unlink()
    found = pair.app.call("POST", "/cache/stores/notes/verify").json()
    assert (found["copied"], found["damaged"]) == (1, 0)
    assert pair.body("group").read_bytes() == whole


def test_M07_a_verification_mends_what_is_damaged_in_one_location(pair):
    whole = pair.body("app").read_bytes()
    for side in ("app", "group"):
        damage(pair.body(side))
        assert pair.app.call("POST", "/cache/stores/notes/verify").json()["copied"] == 1
        assert pair.body(side).read_bytes() == whole
    assert pair.app.call("POST", "/cache/stores/notes/verify").json()["copied"] == 0


def test_what_has_one_location_can_not_be_verified(holdfast_with, pair):
    extension = pair.start_extension()
    for holdfast, name, status in ((extension, "notes", 400), (pair.app, "default", 400), (pair.app, "none", 404)):
        assert holdfast.call("POST", f"/cache/stores/{name}/verify").status == status


def test_the_primary_location_moves_while_both_work(pair):
    new = {"primary": str(pair.folder / "new"), "mirror": str(pair.folder / "group")}
    answer = pair.app.call("PUT", "/cache/stores/notes", {"location": {"primary": new["primary"]}})
    assert answer.status == 200 and answer.json()["location"] == new, answer
    assert not (pair.folder / "app").exists()
    pair.check_reads()
    pair.app.restart()
    assert pair.app.call("GET", "/cache/stores/notes").json()["location"] == new
    pair.check_healed()


@pytest.mark.parametrize("location, status", [
    ({"primary": "/elsewhere"}, 403), ({"mirror": "new"}, 400), ({"primary": "new", "mirror": "new"}, 400), ({}, 400),
])
def test_a_location_that_can_not_be_moved_to_is_refused_and_all_goes_on(pair, location, status):
    assert pair.app.call("PUT", "/cache/stores/notes", {"location": location}).status == status
    pair.check_reads()


def test_a_location_that_takes_nothing_is_not_moved_to(faults, pair):
    faults.fill_disk("/new/")
    answer = pair.app.call("PUT", "/cache/stores/notes", {"location": {"primary": str(pair.folder / "new")}})
    assert answer.status == 409 and answer.json()["location"] == "primary"
    faults.set()
    assert pair.mirror["out"] == []
    pair.check_reads()
    pair.check_healed()


def test_M05_what_the_origin_deleted_is_gone_in_both_locations(origin, pair):
    origin.start()
    pair.app.await_drained(20)
    extension = pair.start_extension()
    del origin.documents["/notes/1"]
    assert pair.app.get("/notes/1", cache_control="no-cache").status == 404
    origin.stop()
    pair.app.restart()
    for process in (pair.app, extension):
        eventually(lambda: process.get("/notes/1").status in (404, 410), 5)
        assert process.get("/notes/1", sync_policy="fetch-policy=FETCH_FROM_CACHE").status in (404, 410)


def trees(pair):
    """Names and digests of all bodies, by location."""
    return [
        {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (pair.folder / side).glob("*.bodies/??/*")}
        for side in ("app", "group")]


def test_M01_after_many_random_writes_both_locations_have_the_same(origin, pair):
    origin.start()
    pair.app.await_drained(20)
    dice = random.Random(1)
    for number in range(400):
        target = f"/notes/{dice.randrange(30)}"
        if dice.random() < 0.25:
            pair.app.delete(target)
        else:
            pair.app.put(target, {"id": target, "text": LONG[:dice.choice((10, 20_000))] + str(number)})
    found = pair.app.call("POST", "/cache/stores/notes/verify").json()
    assert (found["copied"], found["damaged"], found["failures"]) == (0, 0, 0)
    primary, mirror = trees(pair)
    assert primary.items() <= mirror.items() and len(primary) > 1  # what other processes may still need stays for a while
    assert all(name == digest for name, digest in mirror.items())


def test_M09_a_mirror_for_a_store_that_is_filled_gets_all_of_it(origin, holdfast_with, tmp_path):
    holdfast = holdfast_with(storeRoots=[str(tmp_path)])
    Pair.attach(holdfast, location={"primary": str(tmp_path / "app")})
    for number in range(300):
        origin.put(f"/notes/{number}", {"id": number})
        assert holdfast.get(f"/notes/{number}").status == 200
    origin.stop()
    queued = receipt(holdfast.put("/notes/1", {"id": 1, "text": "new"}))
    assert holdfast.call("DELETE", "/cache/stores/notes?leave=true").status == 204
    Pair.attach(holdfast, location={"primary": str(tmp_path / "app"), "mirror": str(tmp_path / "group")})

    def mirror():
        return holdfast.call("GET", "/cache/stores/notes").json()["mirror"]

    eventually(lambda: not mirror()["comparing"] and not mirror()["behind"])
    assert mirror()["copied"] >= 300 and mirror()["done"] >= mirror()["total"] >= 300
    extension = holdfast_with(storeRoots=[str(tmp_path)])
    Pair.attach(extension, location={"mirror": str(tmp_path / "group")}, role="extension")
    assert extension.call("GET", "/cache/stores/notes").json()["entries"] == 300
    assert extension.operation(queued)["state"] == "pending"
    assert extension.get("/notes/1").json()["text"] == "new"


@pytest.mark.parametrize("fault", MIRROR_FAULTS)
def test_an_extension_whose_mirror_takes_nothing_says_so_and_heals(faults, pair, fault):
    extension = pair.make(environment=faults.environment, storeRoots=[str(pair.folder)])
    Pair.attach(extension, location={"mirror": str(pair.folder / "group")}, role="extension")
    MIRROR_FAULTS[fault](faults)
    answer = extension.put("/notes/7", {"id": "7"})
    # What a disk can't read SQLite takes for damage.
    assert answer.status == (500 if fault == "unreadable" else 507), answer
    assert answer.json()["location"] == "mirror"
    assert "accepted" not in answer.json()
    faults.set()
    identifier = receipt(eventually(lambda: (it := extension.put("/notes/7", {"id": "7"})).status == 202 and it, 20))
    eventually(lambda: pair.app.operation(identifier).get("state") == "pending", 20)
    pair.check_healed()


def test_a_strict_store_reads_from_no_location_alone_and_says_which_one_is_missing(origin, holdfast_with, tmp_path):
    holdfast = holdfast_with(storeRoots=[str(tmp_path)])
    location = {"primary": str(tmp_path / "app"), "mirror": str(tmp_path / "group")}
    (tmp_path / "group").write_text("in the way")
    asked = {"name": "notes", "paths": ["/notes/**"], "location": location, "mirrorStrict": True}
    answer = holdfast.call("POST", "/cache/stores", asked)
    assert (answer.status, answer.json()["location"]) == (409, "mirror")
    (tmp_path / "group").unlink()
    assert holdfast.call("POST", "/cache/stores", asked).status == 201
    origin.put("/notes/1", NOTE)
    assert holdfast.get("/notes/1").json() == NOTE
    origin.stop()
    shutil.rmtree(tmp_path / "group")
    answer = holdfast.get("/notes/1", sync_policy="fetch-policy=FETCH_FROM_CACHE")
    assert answer.status >= 500 and answer.json()["location"] == "mirror", answer


def test_a_location_that_is_not_allowed_is_named(holdfast_with, tmp_path):
    holdfast = holdfast_with(storeRoots=[str(tmp_path)])
    for primary, mirror, named in (("/elsewhere", str(tmp_path), "primary"), (str(tmp_path), "/elsewhere", "mirror")):
        answer = holdfast.call("POST", "/cache/stores", {
            "name": "notes", "paths": ["/notes/**"], "location": {"primary": primary, "mirror": mirror}})
        assert (answer.status, answer.json()["location"]) == (403, named)


def test_the_primary_location_moves_under_load_and_every_write_arrives_once(origin, pair):
    origin.start()
    pair.app.await_drained(20)
    pair.app.call("PUT", "/cache/suspended", {"suspended": True})
    origin.stop()
    accepted, failures, ends = [], [], threading.Event()

    def work(worker):
        number = 0
        while not ends.is_set():
            answer = pair.app.put(f"/notes/w{worker}-{number}", {"id": number})
            if answer.status != 202:
                failures.append(answer)
            accepted.append(f"/notes/w{worker}-{number}")
            if pair.app.get("/notes/1").status != 200 or pair.app.get(accepted[0]).status != 200:
                failures.append("a read failed")
            number += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for name in ("one", "two", "three"):
        answer = pair.app.call("PUT", "/cache/stores/notes", {"location": {"primary": str(pair.folder / name)}})
        assert answer.status == 200, answer
    ends.set()
    for worker in workers:
        worker.join()
    assert not failures
    assert sorted(path.name for path in pair.folder.iterdir()) == ["group", "three"]
    pair.app.restart()
    origin.start()
    pair.app.call("PUT", "/cache/suspended", {"suspended": False})
    pair.app.await_drained(60)
    assert [len(origin.seen("PUT", target)) for target in accepted] == [1] * len(accepted)


@pytest.mark.parametrize("point", ["create /new/ kill 5 1", "write /new/holdfast kill 20 1", "rename stores.json kill 0 1",
                                   "create .copy kill 0 1", "create .copy kill 1 1", "unlink .copy kill 0 1",
                                   "unlink /app/ kill 0 1", "unlink /app/ kill 3 1"])
def test_a_move_that_is_killed_leaves_all_there_and_can_be_made_again(faults, pair, point):
    faults.set(point)
    answer = pair.app.attempt("PUT", "/cache/stores/notes", {"location": {"primary": str(pair.folder / "new")}})
    assert answer is None, answer
    faults.set()
    pair.app.process.wait(10)
    pair.app.start()
    pair.check_reads()
    pair.check_healed()
    for name in ("new", "app"):
        moved = pair.app.call("PUT", "/cache/stores/notes", {"location": {"primary": str(pair.folder / name)}})
        assert moved.status == 200, moved
        pair.check_reads()
