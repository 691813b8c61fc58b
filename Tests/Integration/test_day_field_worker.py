"""A day of a field worker's phone: the depot's network in the morning, none in the valley, and the office meanwhile."""

import random

from service import eventually, receipt

PHOTO = {"Content-Type": "image/jpeg"}
MANUAL = random.Random(4).randbytes(300_000)
BEFORE, AFTER = random.Random(5).randbytes(80_000), random.Random(6).randbytes(90_000)
PHONE = {
    "synchronization": {
        "maxStoreSize": "20",
        "policies": [
            {"path": "/manuals/**", "fetchPolicy": "FETCH_FROM_SERVICE_ON_CACHE_MISS",
             "expirationPolicy": "NEVER_EXPIRE", "evictionPolicy": "MANUAL_EVICTION"},
            {"path": "/news/*", "expirationPolicy": "EXPIRE_ON_RESTART",
             "evictionPolicy": "EVICT_ON_EXPIRY_AT_STARTUP"},
            {"path": "/hours/**", "updatePolicy": "UPDATE_IF_ONLINE"},
            {"path": "/payslips/*", "noCache": "true"}],
        "defaultPolicy": {"fetchPolicy": "FETCH_FROM_SERVICE_IF_ONLINE", "expirationPolicy": "EXPIRE_AFTER",
                          "expireAfter": "28800", "updatePolicy": "QUEUE_IF_OFFLINE",
                          "conflictResolutionPolicy": "PRESERVE_CONFLICT"}},
    "oracleSync": True}


def get_data(phone, target, persistent=False):
    answer = phone.call("GET", "/files" + target + ("?persistentState=true" if persistent else ""))
    return answer.body if answer.status == 200 else answer.status


def entry(phone, target):
    return phone.call("GET", f"/cache/entry?target={target}").json()


def flags(phone, target):
    shown = entry(phone, target)
    return [name for name in ("hasOfflineUpdates", "hasConflicts", "hasOfflineCommitError") if shown[name]]


def the_office_prepares(origin):
    origin.put("/orders/17", {"id": "17", "task": "replace the pump", "state": "open"})
    origin.put("/orders/18", {"id": "18", "task": "read the meter", "state": "open"})
    origin.put("/orders/19", {"id": "19", "task": "oil the gate", "state": "open"})
    origin.put("/manuals/pump.pdf", MANUAL, content_type="application/pdf")
    origin.put("/photos/17.jpg", BEFORE, content_type="image/jpeg")
    origin.put("/news/today", {"text": "rain at noon"})
    origin.put("/hours/ann", {"hours": 7})
    origin.put("/payslips/11", {"net": 2100})


def in_the_morning_at_the_depot(origin, phone):
    assert phone.call("PUT", "/cache/entry/pin?target=/manuals/pump.pdf", {"priority": "high"}).status == 200
    eventually(lambda: entry(phone, "/manuals/pump.pdf").get("serverCopy"))
    for target in ("/orders/17", "/orders/18", "/orders/19", "/news/today", "/hours/ann", "/payslips/11"):
        assert phone.get(target).status == 200
    assert get_data(phone, "/photos/17.jpg") == BEFORE
    assert all(r.headers["oracle-mobile-sync-agent"] == "true" for r in origin.seen())


def in_the_valley_reads_go_on_as_their_path_says(phone):
    assert get_data(phone, "/manuals/pump.pdf") == MANUAL
    assert phone.get("/orders/17").json()["task"] == "replace the pump"
    assert phone.get("/payslips/11").status == 503
    assert phone.get("/orders/99").status == 503


def in_the_valley_writes_are_kept(phone):
    done = phone.put("/orders/17", {"id": "17", "task": "replace the pump", "state": "done"})
    receipt(done)
    receipt(phone.patch("/orders/18", {"meter": 4711}))
    receipt(phone.delete("/orders/19"))
    receipt(phone.call("PUT", "/files/photos/17.jpg", AFTER, PHOTO))
    created = phone.post("/orders", {"task": "fix the fence", "state": "open"})
    receipt(created)
    assert phone.put("/hours/ann", {"hours": 8}).status == 503
    assert phone.put("/hours/ann?saveIfOffline=true", {"hours": 8}).status == 202
    assert phone.put("/orders/18?saveIfOffline=false", {}).status == 503
    assert phone.delete("/orders/18?deleteIfOffline=false").status == 503
    return created.headers["Location"].removeprefix("/resources")


def both_copies_are_there(phone, fence):
    assert phone.get("/orders/17").json()["state"] == "done"
    assert phone.get("/orders/17?persistentState=true").json()["state"] == "open"
    assert phone.get("/orders/18").json()["meter"] == 4711
    assert phone.get("/orders/19").status == 404
    assert phone.get("/orders/19?persistentState=true").json()["task"] == "oil the gate"
    assert phone.get(fence).json()["task"] == "fix the fence"
    assert get_data(phone, "/photos/17.jpg") == AFTER
    assert get_data(phone, "/photos/17.jpg", persistent=True) == BEFORE
    for target in ("/orders/17", "/orders/19", fence):
        assert flags(phone, target) == ["hasOfflineUpdates"]


def the_file_lies_on_disk_twice(phone):
    shown = entry(phone, "/photos/17.jpg")
    for copy, expected in (("localEdit", AFTER), ("serverCopy", BEFORE)):
        with open(shown[copy]["path"], "rb") as file:
            assert file.read() == expected


def the_phone_starts_anew(phone):
    phone.restart()
    only_kept = {"sync_policy": "fetch-policy=FETCH_FROM_CACHE"}
    eventually(lambda: phone.get("/news/today", **only_kept).status == 404)
    assert get_data(phone, "/manuals/pump.pdf") == MANUAL


def the_office_changes_an_order_meanwhile(origin):
    origin.put("/orders/17", {"id": "17", "task": "replace the pump and the valve", "state": "open"})


def back_in_reach_everything_is_delivered_once_but_the_conflict(origin, phone):
    eventually(lambda: [o["state"] for o in phone.open_operations()] == ["conflict"])
    assert origin.json("/orders/18") == {"id": "18", "task": "read the meter", "state": "open", "meter": 4711}
    assert "/orders/19" not in origin.documents
    assert origin.documents["/photos/17.jpg"].body == AFTER
    assert origin.json("/hours/ann") == {"hours": 8}
    assert [(r.method, r.path) for r in origin.writes() if 200 <= r.status < 300].count(("POST", "/orders")) == 1
    assert flags(phone, "/orders/17") == ["hasOfflineUpdates", "hasConflicts"]


def the_worker_merges_the_two_versions(origin, phone):
    conflict = phone.await_conflict()
    assert conflict["client"]["body"]["state"] == "done"
    assert conflict["server"]["body"]["task"] == "replace the pump and the valve"
    merged = {"id": "17", "task": "replace the pump and the valve", "state": "half done"}
    assert phone.resolve(conflict["id"], {"keep": "merged", "body": merged}).status == 200
    assert origin.json("/orders/17") == phone.get("/orders/17").json() == merged
    assert flags(phone, "/orders/17") == []


def what_was_made_in_the_valley_has_its_real_name(origin, phone, fence):
    moved = phone.get(fence)
    assert moved.status == 308
    real = moved.headers["Location"].removeprefix("/resources")
    assert origin.json(real)["task"] == phone.get(real).json()["task"] == "fix the fence"


def a_last_edit_is_thought_better_of(origin, phone):
    origin.stop()
    receipt(phone.put("/orders/18", {"id": "18", "state": "lost"}))
    receipt(phone.delete("/photos/17.jpg"))
    assert phone.call("DELETE", "/cache/operations").json() == {"discarded": 2, "left": 0}
    assert phone.get("/orders/18").json()["meter"] == 4711
    assert get_data(phone, "/photos/17.jpg") == AFTER
    origin.start()


def test_a_day_in_the_field(origin, holdfast_with):
    the_office_prepares(origin)
    phone = holdfast_with(**PHONE)
    in_the_morning_at_the_depot(origin, phone)
    origin.stop()
    in_the_valley_reads_go_on_as_their_path_says(phone)
    fence = in_the_valley_writes_are_kept(phone)
    both_copies_are_there(phone, fence)
    the_file_lies_on_disk_twice(phone)
    the_phone_starts_anew(phone)
    both_copies_are_there(phone, fence)
    the_office_changes_an_order_meanwhile(origin)
    origin.start()
    back_in_reach_everything_is_delivered_once_but_the_conflict(origin, phone)
    the_worker_merges_the_two_versions(origin, phone)
    what_was_made_in_the_valley_has_its_real_name(origin, phone, fence)
    a_last_edit_is_thought_better_of(origin, phone)
