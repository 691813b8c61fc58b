"""No value that a client, the origin or a snapshot gives becomes a second field, request or answer."""

import hashlib
import itertools
import json
import urllib.parse

import pytest

from framing import Tap, exchange, read_answers
from origin import Origin
from road import Road
from service import Holdfast, receipt
from snapshot_lines import line

EVIL = "a{}X-Evil: 1{}GET /evil HTTP/1.1"
numbers = itertools.count(1)


class Way:
    """An origin, what passes to it, and a service."""

    def __init__(self):
        self.origin = Origin().start()
        self.road = Road(self.origin.port).open()
        self.tap = Tap(self.road)
        self.holdfast = Holdfast(self.road.url).start()

    def close(self):
        self.holdfast.check_left()
        self.holdfast.close()
        self.road.close()
        self.origin.stop()

    def offline(self, is_offline=True):
        self.holdfast.call("PUT", "/cache/network", {"offline": is_offline})

    def check(self):
        """Reading fails where a request is not one; and no field has come in by a value."""
        for request in self.tap.requests():
            assert not request.start[1].startswith(b"/evil") and not request.all(b"x-evil")

    def failed(self):
        """The id of a write that the origin has refused, and its target."""
        target = f"/failed/{next(numbers)}"
        self.offline()
        identifier = receipt(self.holdfast.put(target, {"n": 1}))
        self.origin.order(method="PUT", path=target, status=400)
        self.offline(False)
        self.holdfast.await_state(identifier, "failed")
        return identifier, target

    def created(self, headers, body=b""):
        """A create that the origin answers so: the operation once delivered, and its temporary target."""
        collection = f"/created/{next(numbers)}"
        self.offline()
        answer = self.holdfast.post(collection, {"name": "x"})
        temporary = answer.headers["Location"].removeprefix("/resources")
        following = receipt(self.holdfast.put(temporary + "/parts/1", {"of": temporary.rsplit("/", 1)[1]}))
        self.origin.order(method="POST", path=collection, status=201, headers=headers, body=body)
        self.offline(False)
        return self.holdfast.await_state(receipt(answer), "delivered"), temporary, following


@pytest.fixture(scope="module")
def way():
    way = Way()
    yield way
    way.close()


@pytest.fixture(autouse=True)
def checked(way):
    yield
    way.check()


def raw(port, method, target, *fields):
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *fields, "Connection: close"]
    return read_answers(exchange(port, ("\r\n".join(lines) + "\r\n\r\n").encode()))


@pytest.mark.parametrize(
    "line_break", ["\r\n", "\n", "\r", "\0", "\x7f", "\u2028", "\u0085", "\u560a\u560d", "\x01"], ids=ascii)
def test_a_target_can_not_bring_a_field_in(way, line_break):
    target = "/items/" + urllib.parse.quote(EVIL.format(line_break, line_break), safe="")
    assert way.holdfast.get(target).status == 404
    assert len(way.origin.seen("GET", target)) == 1
    way.offline()
    identifier = receipt(way.holdfast.put(f"{target}?x={target}", {"n": 1}))
    way.offline(False)
    way.holdfast.await_state(identifier, "delivered")
    assert len(way.origin.seen("PUT", f"{target}?x={target}")) == 1


@pytest.mark.parametrize("field", ["X", "Idempotency-Key", "If-Match", "Accept", "Prefer", "Sync-Policy", "Via"])
@pytest.mark.parametrize("line_break", ["\r\n", "\n", "\r", "\0"], ids=ascii)
def test_a_field_with_a_line_break_ends_in_a_refusal(way, field, line_break):
    target = f"/refused/{next(numbers)}"
    line = f"{field}: a{line_break}X-Evil 1{line_break}GET /evil HTTP/1.1"
    answers = raw(way.holdfast.port, "PUT", "/resources" + target, "Content-Length: 0", line)
    assert [status for status, _ in answers] == [400]
    assert not way.origin.seen(path=target)


def test_an_edited_operation_has_nothing_but_fields(way):
    identifier, target = way.failed()
    edit = f"/cache/operations/{identifier}"
    for name, value in (("X", "a\r\nX-Evil: 1"), ("X", "a\nX-Evil: 1"), ("X", "a\rX-Evil: 1"), ("X", "a\0b"),
                        ("X\r\nX-Evil", "1"), ("X-Evil: 1\r\nX", "1"), ("X ", "1"), ("", "1")):
        assert way.holdfast.call("PATCH", edit, {"headers": {name: value}}).status == 400, (name, value)
    assert way.holdfast.call("PATCH", edit, {"headers": {"X-Note": "\u560d\u560aX-Evil: 1"}}).status == 200
    way.holdfast.await_state(identifier, "delivered")
    assert way.origin.seen("PUT", target)[-1].headers["x-note"].encode("latin-1") == "\u560d\u560aX-Evil: 1".encode()


@pytest.mark.parametrize("name", ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect"])
def test_an_edited_operation_is_framed_by_the_service(way, name):
    identifier, target = way.failed()
    way.holdfast.call("PATCH", f"/cache/operations/{identifier}", {"headers": {name: "0"}})
    way.holdfast.call("POST", f"/cache/operations/{identifier}/retry")
    way.holdfast.await_state(identifier, "delivered")
    assert way.origin.json(target) == {"n": 1}


@pytest.mark.parametrize("name", [
    "a/../../x", "a b", "a\r\nX-Evil: 1", "?x=1", "#a", "%2e%2e", "//evil", "\\evil", "\0", "é", "..."], ids=ascii)
def test_an_id_from_the_origin_is_one_segment(way, name):
    operation, temporary, following = way.created(
        {"Content-Type": "application/json"}, json.dumps({"id": name, "name": "x"}).encode())
    target = operation["target"] + "/" + urllib.parse.quote(name, safe="!$&'()*+,;=:@")
    assert operation["newTarget"] == target
    way.holdfast.await_state(following, "delivered")
    sent, = way.origin.seen("PUT", target + "/parts/1")
    assert json.loads(sent.body) == {"of": name}
    assert [status for status, _ in raw(way.holdfast.port, "GET", "/resources" + temporary)] == [308]


@pytest.mark.parametrize("name", [".", ".."])
def test_an_id_that_climbs_names_nothing(way, name):
    operation, temporary, following = way.created(
        {"Content-Type": "application/json"}, json.dumps({"id": name}).encode())
    assert "newTarget" not in operation
    assert way.holdfast.await_state(following, "failed")["reason"] == "no-target"
    assert [status for status, _ in raw(way.holdfast.port, "GET", "/resources" + temporary)] == [410]


@pytest.mark.parametrize("location, target", [
    ("http://other.test/items/1", None), ("//other.test/items/1", None), ("\\\\other.test/1", None),
    ("http://127.0.0.1@other.test/items/1", None), ("http://127.0.0.1.other.test/items/1", None),
    ("javascript:alert(1)", None), ("/a b", None), ("/../../deep", "/deep"), ("/a/%2e%2e/b", "/b"),
    (" /items/7#x ", "/items/7"),
    ("/items/%0d%0aX-Evil:%201", "/items/%0d%0aX-Evil:%201"),
])
def test_a_location_from_the_origin_leads_to_the_origin_or_nowhere(way, location, target):
    operation, temporary, following = way.created({"Location": location})
    assert operation.get("newTarget") == target
    way.holdfast.await_state(following, "delivered" if target else "failed")
    assert [status for status, _ in raw(way.holdfast.port, "GET", "/resources" + temporary)] == [308 if target else 410]


@pytest.mark.parametrize(
    "target", ["/a b", "/a\r\nX-Evil: 1", "//evil", "/../x", "/a\\b", "http://other.test/", "/a#b", "x"])
def test_management_takes_no_target_that_a_client_could_not_ask_for(way, target):
    query = "?target=" + urllib.parse.quote(target, safe="")
    before = len(way.origin.log)
    for method, path, body in (
            ("GET", "/cache/entry", None), ("POST", "/cache/entry/refresh", None), ("DELETE", "/cache/entry", None),
            ("PUT", "/cache/entry/pin", {"priority": "high"}), ("PUT", "/cache/entry/policy", {"noCache": True})):
        assert way.holdfast.call(method, path + query, body).status == 400, path
    assert len(way.origin.log) == before


def resigned(snapshot):
    """With the checks of all lines, and the digest in the last, as they must be for these contents."""
    lines = []
    for text in snapshot.split(b"\n")[:-1]:
        content = json.loads(text)
        content.pop("check")
        if "end" in content:
            content["end"]["sha256"] = hashlib.sha256(b"".join(lines)).hexdigest()
        lines.append(line(**content))
    return b"".join(lines)


@pytest.mark.parametrize("old, new", [
    ("/copied", "/copied HTTP/1.1\r\nX-Evil: 1"), ("/copied", "//evil"), ("/copied", "/../x"), ("/copied", "/a\\b"),
    ("max-age=600", "a\r\nX-Evil: 1"), ("max-age=600", "a\0"), ("Cache-Control", "X\r\nX-Evil"), ("Cache-Control", ""),
])
def test_a_snapshot_brings_in_no_target_and_no_field_that_breaks_out(way, old, new):
    way.origin.put("/copied", {"n": 1})
    way.origin.headers["Cache-Control"] = "max-age=600"
    assert way.holdfast.get("/copied").status == 200
    snapshot = way.holdfast.call("GET", "/cache/snapshot").body
    assert way.holdfast.call("PUT", "/cache/snapshot", resigned(snapshot)).status == 200
    changed = snapshot.replace(json.dumps(old).encode(), json.dumps(new).encode())
    assert changed != snapshot
    assert way.holdfast.call("PUT", "/cache/snapshot", resigned(changed)).status == 400
