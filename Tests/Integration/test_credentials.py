"""Whose credential goes out with what: one that is refused stops its own lanes, and none stands in for another."""

import pytest

from service import RUNNING, eventually, receipt, stays

ANN, BEN = "Bearer ann-0", "Bearer ben-0"
FRESH = "fetch-policy=FETCH_FROM_SERVICE"


def offline(holdfast, is_offline=True):
    holdfast.call("PUT", "/cache/network", {"offline": is_offline})


def sent_with(origin, credential):
    return [r for r in origin.seen() if r.headers.get("authorization") == credential]


@pytest.mark.parametrize("status", [401, 407])
def test_a_refused_credential_stops_the_lanes_of_its_identity_alone(origin, holdfast, status):
    offline(holdfast)
    anns = [receipt(holdfast.put(f"/ann/{n}", {"n": n}, authorization=ANN)) for n in range(20)]
    bens = [receipt(holdfast.put(f"/ben/{n}", {"n": n}, authorization=BEN)) for n in range(20)]
    nobodys = [receipt(holdfast.put(f"/nobody/{n}", {"n": n})) for n in range(5)]
    for n in range(20):
        origin.order(method="PUT", path=f"/ann/{n}", status=status, times=1000)
    offline(holdfast, False)
    for identifier in bens + nobodys:
        holdfast.await_state(identifier, "delivered")
    attempts = len(sent_with(origin, ANN))
    assert 1 <= attempts <= 8  # what was under way together; nothing after the refusal
    assert {holdfast.operation(i)["reason"] for i in anns} == {"credential"}
    stays(lambda: len(sent_with(origin, ANN)) == attempts, 1)
    assert all(r.path.startswith("/ben/") for r in sent_with(origin, BEN))
    assert all(r.path.startswith("/ann/") for r in sent_with(origin, ANN))
    # The client calls again, and the origin has come to accept it.
    origin.orders.clear()
    assert holdfast.get("/ann/x", authorization=ANN, sync_policy=FRESH).status == 404
    for identifier in anns:
        holdfast.await_state(identifier, "delivered")
    assert len([r for r in origin.seen("PUT") if r.status < 300]) == 45


def test_what_was_written_without_a_credential_goes_on_once_the_origin_asks_for_none(origin, holdfast):
    offline(holdfast)
    identifier = receipt(holdfast.put("/nobody/1", {"n": 1}))
    origin.order(method="PUT", path="/nobody/1", status=401)
    offline(holdfast, False)
    holdfast.await_state(identifier, "delivered")
    assert [r.status for r in origin.seen("PUT")][0] == 401


def test_what_waited_for_a_configured_credential_goes_on_without_where_there_is_none_any_more(
        origin, holdfast_with, tmp_path):
    holdfast = holdfast_with(credentials=[{"header": "Authorization", "file": str(tmp_path / "none")}])
    offline(holdfast)
    identifier = receipt(holdfast.put("/nobody/1", {"n": 1}))
    offline(holdfast, False)
    eventually(lambda: holdfast.operation(identifier).get("reason") == "credential")
    holdfast.config["credentials"] = []
    holdfast.restart()
    holdfast.await_state(identifier, "delivered")


def test_after_a_restart_each_waits_for_its_own_and_says_so(origin, holdfast):
    offline(holdfast)
    waiting = {credential: receipt(holdfast.put(path, {"n": 1}, authorization=credential))
               for path, credential in (("/ann/1", ANN), ("/ben/1", BEN))}
    free = receipt(holdfast.put("/nobody/1", {"n": 1}))
    holdfast.restart()
    holdfast.await_state(free, "delivered")
    for identifier in waiting.values():
        operation = eventually(lambda: (o := holdfast.operation(identifier)).get("reason") and o)
        assert (operation["state"], operation["reason"]) == ("pending", "credential")
    assert holdfast.get("/ann/x", authorization=ANN).status == 404
    holdfast.await_state(waiting[ANN], "delivered")
    stays(lambda: holdfast.operation(waiting[BEN])["state"] == "pending", 0.5)
    assert not sent_with(origin, BEN)
    assert not [r for r in origin.seen(path="/ben/1")]


def test_a_copy_is_refreshed_with_no_credential_but_its_own(origin, holdfast):
    origin.put("/items/1", {"of": "ann"})
    assert holdfast.get("/items/1", authorization=ANN).status == 200
    partition = holdfast.call("GET", "/cache/partitions").json()["items"]
    mine, = [p["id"] for p in partition if p["id"]]
    holdfast.restart()
    asked = len(origin.log)
    for headers in ({"Authorization": BEN}, {}):
        refused = holdfast.call("POST", f"/cache/entry/refresh?target=/items/1&partition={mine}", headers=headers)
        assert (refused.status, refused.json()["type"]) == (401, "/problems/credential-unproven")
    assert len(origin.log) == asked
    own = holdfast.call(
        "POST", f"/cache/entry/refresh?target=/items/1&partition={mine}", headers={"Authorization": ANN})
    assert own.status == 200 and sent_with(origin, ANN)


@pytest.mark.parametrize("content", ["", "\n", "a\r\nX-Evil: 1", "a\nb", "a\0b"], ids=ascii)
def test_a_configured_credential_that_is_none_is_waited_for(origin, holdfast_with, tmp_path, content):
    file = tmp_path / "credential"
    file.write_text(content)
    holdfast = holdfast_with(credentials=[{"header": "Authorization", "file": str(file)}])
    offline(holdfast)
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization=ANN))
    holdfast.restart()
    eventually(lambda: holdfast.operation(identifier).get("reason") == "credential")
    assert holdfast.get("/items/2").status == 404  # others are served as ever
    assert holdfast.operation(identifier)["state"] in RUNNING
    assert not origin.writes() and not [r for r in origin.seen() if "x-evil" in r.headers]
    assert "is no field value" in holdfast.log_text()
    file.write_text(ANN + "\n")
    holdfast.await_state(identifier, "delivered", 15)
    assert {r.headers["authorization"] for r in origin.writes()} == {ANN}
