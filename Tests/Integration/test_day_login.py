"""A day at a shared device: a global store first, then the store of who logs in, taken along to another host."""

from service import eventually, receipt
from test_stores import stores


def attach(holdfast, user, where):
    return holdfast.call("POST", "/cache/stores", [
        {"name": user, "paths": [f"/users/{user}/**"], "location": {"primary": str(where / user)}},
        {"name": f"{user}-session", "paths": [f"/users/{user}/session/**"], "type": "memory"}])


def detach(holdfast, user, query=""):
    assert holdfast.call("DELETE", f"/cache/stores/{user}-session").status == 204
    return holdfast.call("DELETE", f"/cache/stores/{user}{query}")


def test_a_day_at_a_shared_device(origin, holdfast_with, tmp_path):
    directory = {"name": "directory", "paths": ["/directory/**"], "strategy": "direct",
                 "location": {"primary": str(tmp_path / "shared")}}
    desk = holdfast_with(storeRoots=[str(tmp_path)], stores=[directory])
    laptop = holdfast_with(storeRoots=[str(tmp_path)])
    for user in ["ann", "bob"]:
        origin.put(f"/directory/{user}", {"id": user, "pin": "1234"})
        origin.put(f"/users/{user}/plan", {"v": f"{user}'s plan"})
        origin.put(f"/users/{user}/session/now", {"v": "open pages"})

    # In the morning only the global store is there: it has the table of users, which is enough to log in.
    assert stores(desk) == {"default": "started", "directory": "started"}
    assert desk.get("/directory/ann").json()["id"] == "ann"

    # Ann logs in: her stores, one on disk and one in memory, come at one location, and take her part of the service over.
    assert attach(desk, "ann", tmp_path).status == 201
    assert stores(desk) == {"default": "started", "directory": "started", "ann": "started", "ann-session": "started"}
    assert desk.get("/users/ann/plan").json()["v"] == "ann's plan"
    assert desk.get("/users/ann/session/now").status == 200
    entries = {s["name"]: s["entries"] for s in desk.call("GET", "/cache/stores").json()["items"]}
    assert entries == {"default": 0, "directory": 1, "ann": 1, "ann-session": 1}

    # The network goes. She works on, and logs out before it is back: her change waits in her store.
    origin.stop()
    eventually(lambda: desk.get("/users/ann/plan", sync_policy="fetch-policy=FETCH_FROM_SERVICE").status == 503)
    identifier = receipt(desk.put("/users/ann/plan", {"v": "ann's new plan"}))
    refused = detach(desk, "ann")
    assert (refused.status, refused.json()["type"]) == (409, "/problems/operations-pending")
    assert desk.call("DELETE", "/cache/stores/ann?leave=true").status == 204
    assert stores(desk) == {"default": "started", "directory": "started"}

    # Bob logs in. Nothing of Ann is to be seen, and the directory still answers.
    assert attach(desk, "bob", tmp_path).status == 201
    assert desk.get("/users/ann/plan").json()["type"] == "/problems/store-detached"
    assert desk.operations() == [] and desk.get("/directory/ann").status == 200
    targets = {e["target"] for e in desk.call("GET", "/cache/entries").json()["items"]}
    assert targets == {"/directory/ann"}
    assert detach(desk, "bob").status == 204

    # At the desk the network comes back: what Ann left is not sent without her store.
    origin.start()
    desk.call("POST", "/cache/sync?wait=1")
    assert origin.json("/users/ann/plan")["v"] == "ann's plan"

    # Her folder is at the laptop by now. There she logs in again: she sees her change, and it goes on its way, once.
    laptop.call("PUT", "/cache/network", {"offline": True})
    assert attach(laptop, "ann", tmp_path).status == 201
    assert laptop.get("/users/ann/plan").json()["v"] == "ann's new plan"
    # What was in memory went with the logout.
    assert laptop.get("/users/ann/session/now").status == 504
    laptop.call("PUT", "/cache/network", {"offline": False})
    laptop.await_state(identifier, "delivered")
    assert origin.json("/users/ann/plan")["v"] == "ann's new plan"
    assert len([r for r in origin.seen("PUT") if r.path == "/users/ann/plan"]) == 1

    # The next morning the desk has its global store again, and nobody's own.
    desk.restart()
    assert stores(desk) == {"default": "started", "directory": "started"}
