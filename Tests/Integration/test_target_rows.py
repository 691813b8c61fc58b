"""Targets byte for byte: faults that users met in systems of this kind."""

import pytest

from service import receipt


def test_X17_an_encoded_slash_is_another_target(origin, holdfast):
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/a%2Fb", {"n": 1})
    origin.put("/a/b", {"n": 2})
    for _ in range(2):
        assert holdfast.get("/a%2Fb").json() == {"n": 1}
        assert holdfast.get("/a/b").json() == {"n": 2}
    assert [r.path for r in origin.seen("GET")] == ["/a%2Fb", "/a/b"]


def test_X19_a_stray_percent_sign_harms_nobody_else(origin, holdfast):
    origin.put("/items/1", {"n": 1})
    assert holdfast.get("/100%").status in (400, 404)
    origin.stop()
    statuses = [holdfast.put(target, {"n": 1}).status for target in ("/100%", "/items/2")]
    assert statuses[0] in (202, 400) and statuses[1] == 202
    origin.start()
    holdfast.await_drained()
    assert "/items/2" in origin.documents


@pytest.mark.parametrize("name", ["♪♫", "😀", "שלום", "caf\u00e9", "cafe\u0301", "𐍈"])
def test_M11_a_unicode_id_is_the_same_everywhere(origin, holdfast, name):
    encoded = "".join(f"%{byte:02X}" for byte in name.encode())
    target = f"/items/{encoded}"
    origin.put(target, {"id": name})
    assert holdfast.get(target).json() == {"id": name}
    origin.stop()
    identifier = receipt(holdfast.put(target, {"id": name, "n": 2}))
    assert holdfast.operation(identifier)["target"] == target
    kept = holdfast.call("GET", "/cache/entries").json()["items"]
    assert [entry["target"] for entry in kept] == [target]
    assert holdfast.get(target).json() == {"id": name, "n": 2}
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert [r.path for r in origin.seen("PUT")] == [target]


def test_M13_a_body_above_the_origins_limit_is_sent_once_and_kept(origin, holdfast):
    body = b"x" * 5_000_000
    origin.stop()
    identifier = receipt(holdfast.call("PUT", "/files/big", body, {"Content-Type": "application/octet-stream"}))
    origin.order(method="PUT", status=413, times=1000, body=b"at most 1 MB")
    origin.start()
    operation = holdfast.await_state(identifier, "failed")
    assert operation["lastAnswer"]["status"] == 413
    assert operation["lastAnswer"]["body"] == "at most 1 MB"
    assert len(origin.seen("PUT")) == 1
    assert holdfast.call("GET", f"/cache/operations/{identifier}/body").body == body
