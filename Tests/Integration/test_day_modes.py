"""A day with the four cache modes, as an application that keeps a shared list of tasks lives it."""

import signal

from service import eventually, receipt

TASKS = {str(n): {"id": str(n), "task": f"task {n}"} for n in range(1, 4)}


def read_all(holdfast):
    for name in TASKS:
        assert holdfast.get(f"/tasks/{name}", sync_policy="fetch-policy=FETCH_FROM_SERVICE").status == 200


def known(holdfast):
    """What the application shows in a tunnel: names of tasks with their text."""
    texts = {}
    for name in TASKS:
        answer = holdfast.get(f"/tasks/{name}", sync_policy="fetch-policy=FETCH_FROM_CACHE")
        if answer.status == 200:
            texts[name] = answer.json()["task"]
    return texts


def change(origin, text):
    for name, task in TASKS.items():
        origin.put(f"/tasks/{name}", {**task, "task": f"{text} {name}"})


def all_of(text):
    return {name: f"{text} {name}" for name in TASKS}


def next_morning(holdfast, mode):
    holdfast.stop()
    holdfast.config["cacheMode"] = mode
    holdfast.start()


def test_a_day_with_the_four_cache_modes(origin, holdfast):
    # Automatic, the default: the application goes to the background, is put away, and has everything in the morning.
    change(origin, "monday")
    read_all(holdfast)
    assert holdfast.call("GET", "/cache/mode").json() == {"automatic": {}}
    holdfast.process.send_signal(signal.SIGUSR1)
    assert holdfast.call("POST", "/cache/save?reason=background").json() == {"saved": True}
    next_morning(holdfast, "automatic")
    assert known(holdfast) == all_of("monday")

    # By hand: what was saved last is what comes back, whatever was read since; a crash is as good as a stop.
    next_morning(holdfast, "manualSaving")
    change(origin, "tuesday")
    read_all(holdfast)
    assert holdfast.call("POST", "/cache/save").json() == {"saved": True}
    change(origin, "tuesday night")
    read_all(holdfast)
    assert known(holdfast) == all_of("tuesday night")
    assert holdfast.call("POST", "/cache/save?reason=background").json() == {"saved": False}
    holdfast.restart()
    assert known(holdfast) == all_of("tuesday")

    # The application keeps the cache itself: it takes the text out, and brings it along the next time.
    text = holdfast.call("GET", "/cache/snapshot").body.decode()
    next_morning(holdfast, {"initialized": {"data": text}})
    assert known(holdfast) == all_of("tuesday")
    change(origin, "wednesday")
    read_all(holdfast)
    assert holdfast.call("POST", "/cache/save").json() == {"saved": False}
    text = holdfast.call("GET", "/cache/snapshot").body.decode()
    next_morning(holdfast, "initialized")
    assert known(holdfast) == {}
    assert holdfast.call("PUT", "/cache/mode", {"initialized": {"data": text}}).status == 200
    assert known(holdfast) == all_of("wednesday")

    # A write made in a tunnel is safe in this mode as in every other, and keeps the cache from being switched off.
    origin.stop()
    identifier = receipt(holdfast.put("/tasks/1", {"id": "1", "task": "mine"}))
    refused = holdfast.call("PUT", "/cache/mode", {"no": {}})
    assert (refused.status, refused.json()["type"]) == (409, "/problems/operations-pending")
    next_morning(holdfast, "no")
    assert holdfast.get("/tasks/2").json()["type"] == "/problems/cache-disabled"
    assert holdfast.put("/tasks/2", {"id": "2"}).json()["type"] == "/problems/cache-disabled"
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.json("/tasks/1")["task"] == "mine"

    # Without a cache every read is the origin's, nothing is kept, and there is nothing to take out.
    eventually(lambda: holdfast.get("/tasks/2").status == 200)
    asked = len(origin.seen("GET"))
    assert holdfast.get("/tasks/2").json()["task"] == "wednesday 2"
    assert len(origin.seen("GET")) == asked + 1
    assert holdfast.call("GET", "/cache/entries").json()["items"] == []
    assert holdfast.call("GET", "/cache/snapshot").status == 404
    assert holdfast.call("POST", "/cache/save").json() == {"saved": False}
