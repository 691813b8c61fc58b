"""Jobs in the background: accepted on disk, run few at a time, resumed after a crash, canceled by a call."""

import contextlib
import threading

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
