"""The origin did the work and its answer was lost: seen as delivered, not repeated, no conflict."""

from service import eventually, receipt


def start(origin, holdfast):
    origin.collections.add("/items")
    origin.put("/items/1", {"id": "1", "name": "old"})
    holdfast.get("/items/1")
    holdfast.get("/items")
    origin.stop()


def finish(origin, holdfast, identifier, method):
    origin.order(method=method, cut="after")
    origin.start()
    holdfast.await_state(identifier, "delivered", 20)
    assert len(origin.seen(method)) == 1
    assert not holdfast.conflicts()


def test_put(origin, holdfast):
    start(origin, holdfast)
    finish(origin, holdfast, receipt(holdfast.put("/items/1", {"id": "1", "name": "new"})), "PUT")
    assert origin.json("/items/1")["name"] == "new"


def test_patch(origin, holdfast):
    start(origin, holdfast)
    finish(origin, holdfast, receipt(holdfast.patch("/items/1", {"name": "new"})), "PATCH")
    assert origin.json("/items/1")["name"] == "new"


def test_delete(origin, holdfast):
    start(origin, holdfast)
    finish(origin, holdfast, receipt(holdfast.delete("/items/1")), "DELETE")
    assert holdfast.get("/items/1").status == 404


def test_post(origin, holdfast):
    start(origin, holdfast)
    finish(origin, holdfast, receipt(holdfast.post("/items", {"name": "added"})), "POST")
    assert len([p for p in origin.documents if origin.json(p)["name"] == "added"]) == 1


def test_a_post_that_can_not_be_told_is_held(origin, holdfast):
    start(origin, holdfast)
    identifier = receipt(holdfast.post("/items", {"name": "added"}))
    origin.order(method="POST", cut="after")
    origin.order(method="GET", path="/items", status=403, times=1000)
    origin.start()
    operation = holdfast.await_state(identifier, "failed", 20)
    assert operation["reason"] == "outcome-unknown"
    assert len(origin.seen("POST")) == 1


def test_an_online_write_without_an_answer_is_not_queued(origin, holdfast):
    start(origin, holdfast)
    origin.start()
    origin.order(method="PUT", cut="after")
    holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE")
    answer = holdfast.put("/items/1", {"id": "1", "name": "new"})
    assert answer.status == 504, answer
    assert answer.json()["type"].endswith("/problems/outcome-unknown")
    assert not holdfast.open_operations()
    assert len(origin.seen("PUT")) == 1


def always_cut(origin, holdfast):
    """An origin that ends the connection on each PUT to a target where it has nothing."""
    origin.stop()
    identifier = receipt(holdfast.put("/items/2", {"name": "poison"}))
    origin.order(method="PUT", path="/items/2", cut="before", times=1000)
    origin.start()
    return identifier


def test_a_write_that_is_always_cut_off_fails_after_maxAttempts(origin, holdfast_with):
    holdfast = holdfast_with(maxAttempts=3)
    identifier = always_cut(origin, holdfast)
    assert holdfast.await_state(identifier, "failed", 20)["reason"] == "max-attempts"
    assert len(origin.seen("PUT")) == 3


def test_a_write_that_is_always_cut_off_can_be_given_up_for_the_next_one(origin, holdfast):
    identifier = always_cut(origin, holdfast)
    holdfast.await_state(identifier, "unknown", 20)
    later = holdfast.put("/items/2", {"name": "good"}, prefer="wait=0")
    place = f"/cache/operations/{identifier}"
    refused = holdfast.call("DELETE", place)
    assert (refused.status, refused.json()["type"]) == (409, "/problems/operation-busy")
    origin.order(method="GET", path="/items/2", status=503, times=1000)
    given_up = eventually(lambda: (answer := holdfast.call("DELETE", f"{place}?force=true")).status == 200 and answer)
    assert given_up.json()["items"][0]["state"] == "cancelled"
    origin.orders.clear()
    holdfast.await_state(receipt(later), "delivered", 20)
    assert origin.json("/items/2")["name"] == "good"
