"""The four cache modes: what the next start loads, and what saves it."""

import signal
import threading
import time

import pytest

from service import eventually, receipt


def mode(holdfast, name):
    return holdfast.call("PUT", "/cache/mode", {name: {}})


def save(holdfast, query=""):
    return holdfast.call("POST", "/cache/save" + query).json()["saved"]


def filled(origin, holdfast, value="old", name="1"):
    origin.put(f"/items/{name}", {"v": value})
    read = holdfast.get(f"/items/{name}", sync_policy="fetch-policy=FETCH_FROM_SERVICE")
    assert read.json()["v"] == value
    return read


def kept(holdfast, name="1"):
    """What is in the cache, without asking the origin."""
    read = holdfast.get(f"/items/{name}", sync_policy="fetch-policy=FETCH_FROM_CACHE")
    return read.json()["v"] if read.status == 200 else None


@pytest.mark.parametrize("ending", ["stop", "kill"])
def test_saved_by_hand_the_next_start_has_what_was_saved(origin, holdfast_with, ending):
    holdfast = holdfast_with(cacheMode="manualSaving")
    filled(origin, holdfast)
    assert save(holdfast)
    filled(origin, holdfast, "unsaved")
    filled(origin, holdfast, "unsaved", "2")
    assert not save(holdfast, "?reason=background")
    assert (kept(holdfast), kept(holdfast, "2")) == ("unsaved", "unsaved")
    getattr(holdfast, ending)()
    holdfast.start()
    assert (kept(holdfast), kept(holdfast, "2")) == ("old", None)


def test_automatic_has_all_and_saves_in_the_background(origin, holdfast):
    filled(origin, holdfast)
    holdfast.process.send_signal(signal.SIGUSR1)
    assert save(holdfast, "?reason=background") and save(holdfast)
    holdfast.stop()
    holdfast.start()
    assert kept(holdfast) == "old"
    assert holdfast.call("GET", "/cache/mode").json() == {"automatic": {}}


def test_initialized_begins_empty_and_leaves_what_was_saved(origin, holdfast):
    filled(origin, holdfast)
    holdfast.config["cacheMode"] = "initialized"
    holdfast.stop()
    holdfast.start()
    assert kept(holdfast) is None
    filled(origin, holdfast, "session")
    assert kept(holdfast) == "session" and not save(holdfast)
    holdfast.config["cacheMode"] = {"automatic": {}}
    holdfast.stop()
    holdfast.start()
    assert kept(holdfast) == "old"


def test_without_a_cache_requests_pass_and_are_refused_offline(origin, holdfast_with):
    holdfast = holdfast_with(cacheMode="no")
    origin.put("/items/1", {"v": "a"})
    for _ in range(2):
        answer = holdfast.get("/items/1")
        assert (answer.json()["v"], answer.headers["Cache-Status"]) == ("a", "Holdfast; fwd=bypass")
    assert len(origin.seen("GET")) == 2
    assert holdfast.put("/items/1", {"v": "b"}).status == 200 and origin.json("/items/1")["v"] == "b"
    assert holdfast.call("GET", "/cache/entries").json()["items"] == []
    assert not save(holdfast)
    origin.stop()
    for answer in [holdfast.get("/items/1"), holdfast.put("/items/1", {"v": "c"})]:
        assert (answer.status, answer.json()["type"]) == (503, "/problems/cache-disabled")
    assert holdfast.operations() == []


def test_operations_from_before_are_delivered_without_a_cache(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"v": "mine"}))
    refused = mode(holdfast, "no")
    assert (refused.status, refused.json()["type"]) == (409, "/problems/operations-pending")
    holdfast.config["cacheMode"] = "no"
    holdfast.restart()
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.json("/items/1")["v"] == "mine"


def test_the_mode_is_switched_at_run_time(origin, holdfast):
    filled(origin, holdfast)
    assert mode(holdfast, "no").json() == {"no": {}}
    assert holdfast.get("/items/1").headers.get("Sync-State") is None
    assert mode(holdfast, "manualSaving").status == 200
    eventually(lambda: kept(holdfast) == "old")
    filled(origin, holdfast, "unsaved")
    assert mode(holdfast, "automatic").status == 200
    holdfast.restart()
    assert kept(holdfast) == "unsaved"
    for wrong in [{}, {"no": {}, "automatic": {}}, {"often": {}}, {"automatic": 1}, []]:
        assert holdfast.call("PUT", "/cache/mode", wrong).status == 400, wrong


@pytest.mark.parametrize("delay", [0, 0.002, 0.006, 0.012, 0.025])
def test_a_crash_while_saving_leaves_the_old_or_the_new(origin, holdfast_with, delay):
    holdfast = holdfast_with(cacheMode="manualSaving")
    names = [str(n) for n in range(150)]

    def fill(value):
        for name in names:
            filled(origin, holdfast, value, name)

    fill("old")
    assert save(holdfast)
    fill("new")
    saving = threading.Thread(target=lambda: holdfast.attempt("POST", "/cache/save"))
    saving.start()
    time.sleep(delay)
    holdfast.kill()
    saving.join()
    holdfast.start()
    assert {kept(holdfast, name) for name in names} in ({"old"}, {"new"})


def test_a_write_after_the_last_save_leaves_no_copy_that_counts_as_fresh(origin, holdfast_with):
    holdfast = holdfast_with(cacheMode="manualSaving")
    origin.headers = {"Cache-Control": "max-age=3600"}
    origin.put("/items/1", {"v": "old"})
    assert holdfast.get("/items/1").json()["v"] == "old"
    assert save(holdfast)
    assert holdfast.put("/items/1", {"v": "mine"}).status == 200
    holdfast.restart()
    assert kept(holdfast) == "old"
    assert holdfast.get("/items/1").json()["v"] == "mine"


def test_pins_and_policies_stay_in_every_mode(origin, holdfast_with):
    holdfast = holdfast_with(cacheMode="manualSaving")
    filled(origin, holdfast)
    assert holdfast.call("PUT", "/cache/entry/pin?target=/items/1", {"priority": "high"}).status == 200
    origin.stop()  # or what is pinned is downloaded again
    holdfast.restart()
    assert holdfast.call("GET", "/cache/entry/pin?target=/items/1").json() == {"priority": "high"}
    assert kept(holdfast) is None


def test_a_store_has_a_mode_of_its_own(origin, holdfast_with):
    holdfast = holdfast_with(stores=[{"name": "session", "paths": ["/session/**"], "mode": "initialized"},
                                     {"name": "off", "paths": ["/off/**"], "mode": {"no": {}}}])
    for target in ["/items/1", "/session/1", "/off/1"]:
        origin.put(target, {"v": "a"})
        assert holdfast.get(target).status == 200
    shown = {s["name"]: s.get("mode") for s in holdfast.call("GET", "/cache/stores").json()["items"]}
    assert shown == {"default": None, "session": "initialized", "off": "no"}
    targets = {e["target"] for e in holdfast.call("GET", "/cache/entries").json()["items"]}
    assert targets == {"/items/1", "/session/1"}
    holdfast.restart()
    targets = {e["target"] for e in holdfast.call("GET", "/cache/entries").json()["items"]}
    assert targets == {"/items/1"}
    origin.stop()
    eventually(lambda: holdfast.put("/off/1", {"v": 1}).json()["type"] == "/problems/cache-disabled")
    receipt(holdfast.put("/session/1", {"v": 1}))
