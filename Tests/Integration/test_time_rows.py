"""Time: faults that users met in systems of this kind."""

from service import receipt


def test_T01_a_clock_that_was_far_ahead_wins_nothing_later(origin, holdfast):
    origin.put("/items/1", {"name": "old"})
    holdfast.kill()
    holdfast.start(under=("faketime", "-f", "+50y"))
    holdfast.get("/items/1")
    origin.stop()
    receipt(holdfast.put("/items/1", {"name": "ahead"}))
    holdfast.kill()
    holdfast.start()
    receipt(holdfast.put("/items/1", {"name": "later"}))
    assert holdfast.get("/items/1").json()["name"] == "later"
    origin.start()
    holdfast.await_drained()
    assert origin.json("/items/1")["name"] == "later"
    origin.put("/items/1", {"name": "newest"})
    read = holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE")
    assert read.json()["name"] == "newest"


def test_T03_conditions_on_time_go_by_the_origins_own_dates(origin, holdfast):
    modified = "Mon, 05 Jan 2026 10:00:00 GMT"
    holdfast.kill()
    holdfast.start(under=("faketime", "-f", "-1d"))
    page = {"status": 200, "headers": {"Last-Modified": modified, "Content-Type": "application/json",
                                       "Cache-Control": "no-cache"}, "body": b'{"n": 1}'}
    origin.order(method="GET", path="/items/1", **page)
    origin.order(method="GET", path="/items/1", status=304, headers={"Last-Modified": modified})
    assert holdfast.get("/items/1").json() == {"n": 1}
    assert holdfast.get("/items/1").json() == {"n": 1}
    assert origin.seen("GET", "/items/1")[1].headers["if-modified-since"] == modified
    assert holdfast.put("/items/1", {"n": 2}).status == 201
    assert origin.seen("PUT")[0].headers["if-unmodified-since"] == modified
