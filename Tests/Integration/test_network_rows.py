"""Online or offline, and whose requests: faults that users met in systems of this kind."""

import base64
import contextlib
import http.server
import threading

import pytest

from service import RUNNING, eventually, receipt, stays


class Portal(http.server.BaseHTTPRequestHandler):
    """A login page for everything."""

    def any(self):
        page = b"<html>log in</html>"
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(self.command)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_GET = do_PUT = do_POST = do_HEAD = do_OPTIONS = any

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def portal(port):
    """A portal in the origin's place; `asked` has the methods that it saw."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Portal)
    server.asked = []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def test_N01_a_login_page_is_not_the_origin(origin, holdfast):
    origin.put("/items/1", {"name": "kept"})
    holdfast.get("/items/1")
    origin.stop()
    identifier = receipt(holdfast.put("/items/2", {"name": "mine"}))
    with portal(origin.port) as server:
        eventually(lambda: "PUT" in server.asked)
        eventually(lambda: holdfast.network() == "offline")
        read = holdfast.get(
            "/items/1", accept="application/json", sync_policy="fetch-policy=FETCH_FROM_SERVICE_IF_ONLINE")
        assert read.json()["name"] == "kept"
        stays(lambda: holdfast.network() == "offline", 2)
        assert holdfast.operation(identifier)["state"] in RUNNING
    assert holdfast.get("/items/1").json()["name"] == "kept"
    origin.start()
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.json("/items/2")["name"] == "mine"


def test_N01_a_read_that_meets_a_login_page_is_answered_from_the_copy(origin, holdfast):
    origin.put("/items/1", {"name": "kept"})
    holdfast.get("/items/1")
    origin.stop()
    with portal(origin.port):
        read = holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE_IF_ONLINE")
        assert read.json()["name"] == "kept"
        assert holdfast.network() == "offline"


def test_N03_a_503_is_degraded_and_not_offline(origin, holdfast):
    origin.order(method="GET", path="/items/1", status=503)
    assert holdfast.get("/items/1").status == 503
    assert holdfast.network() == "degraded"
    origin.put("/items/1", {"n": 1})
    assert holdfast.get("/items/1").status == 200
    assert holdfast.network() == "online"


@pytest.mark.parametrize("answer, state", [
    ({"status": 204, "headers": {"X-Site": "mine"}}, "online"),
    ({"status": 503}, "degraded"),
    ({"status": 200, "headers": {"X-Site": "mine"}}, "offline"),
    ({"status": 204, "headers": {"X-Site": "other"}}, "offline"),
    ({"status": 204}, "offline"),
])
def test_N03_the_probe_judges_status_and_header(origin, holdfast_with, answer, state):
    holdfast = holdfast_with(probe={"target": "/up", "status": 204, "header": {"X-Site": "mine"}})
    origin.stop()
    receipt(holdfast.put("/items/1", {"n": 1}))
    assert holdfast.network() == "offline"
    origin.order(method="GET", path="/up", times=1000, **answer)
    origin.order(method="PUT", times=1000, **answer)
    origin.start()
    eventually(lambda: len(origin.seen("GET", "/up")) >= 1)
    eventually(lambda: holdfast.network() == state)
    if state == "offline":
        stays(lambda: holdfast.network() == state, 2)
        assert not origin.seen("PUT")


def test_N05_online_and_offline_are_told_rightly_both_ways(origin, holdfast):
    origin.put("/items/1", {"n": 1})
    holdfast.get("/items/1")
    for n in (2, 3):
        assert holdfast.network() == "online"
        origin.stop()
        receipt(holdfast.put("/items/1", {"n": n}))
        assert holdfast.network() == "offline"
        origin.start()
        eventually(lambda: holdfast.network() == "online")
        holdfast.await_drained()


def test_U01_delivery_uses_the_newest_value_of_a_configured_credential(origin, holdfast_with, tmp_path):
    old, new = ("Basic " + base64.b64encode(b"ann:" + word).decode() for word in (b"old", b"new"))
    token = tmp_path / "token"
    token.write_text(old)
    holdfast = holdfast_with(
        credentials=[{"header": "Authorization", "file": str(token)}], partitionBy=[{"path": "/**", "basic": "user"}])
    origin.put("/items/1", {"n": 0})
    holdfast.get("/items/1", authorization=old)
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization=old))
    origin.order(method="PUT", status=401)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    token.write_text(new)
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.seen("PUT")[-1].headers["authorization"] == new


def test_U01_delivery_uses_the_renewed_value_that_the_client_sends(origin, holdfast_with):
    old, new = ("Basic " + base64.b64encode(b"ann:" + word).decode() for word in (b"old", b"new"))
    holdfast = holdfast_with(partitionBy=[{"path": "/**", "basic": "user"}])
    origin.put("/items/1", {"n": 0})
    holdfast.get("/items/1", authorization=old)
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization=old))
    origin.order(method="PUT", status=401)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    assert holdfast.get(
        "/items/1", authorization=new, sync_policy="fetch-policy=FETCH_FROM_SERVICE").status == 200
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.seen("PUT")[-1].headers["authorization"] == new


def test_U03_what_one_identity_queued_is_not_sent_with_anothers_credential(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization="Bearer A"))
    holdfast.restart()
    origin.start()
    origin.put("/items/2", {"n": 2})
    eventually(lambda: holdfast.get("/items/2", authorization="Bearer B").status == 200)
    assert holdfast.operation(identifier)["reason"] == "credential"
    assert not origin.seen("PUT")
    holdfast.get("/items/2", authorization="Bearer A")
    eventually(lambda: origin.seen("PUT"))
    assert origin.seen("PUT")[0].headers["authorization"] == "Bearer A"


def test_U05_nothing_is_dropped_while_the_origin_refuses_the_credential(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization="Bearer A"))
    origin.order(status=401, times=1000)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    holdfast.await_state(identifier, "pending")


def test_U05_nothing_is_dropped_while_a_credential_can_not_be_renewed(origin, holdfast_with, tmp_path):
    old, new = ("Basic " + base64.b64encode(b"ann:" + word).decode() for word in (b"old", b"new"))
    renewed = tmp_path / "token"
    renewed.write_text(old)
    holdfast = holdfast_with(
        credentials=[{"header": "Authorization", "command": ["cat", str(renewed)]}],
        partitionBy=[{"path": "/**", "basic": "user"}])
    origin.put("/items/1", {"n": 0})
    holdfast.get("/items/1", authorization=old)
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization=old))
    renewed.unlink()
    origin.order(status=401, times=1000)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    stays(lambda: holdfast.operation(identifier)["state"] in RUNNING, 2)
    origin.orders.clear()
    renewed.write_text(new)
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.seen("PUT")[-1].headers["authorization"] == new


def test_no_secret_is_written_to_disk(origin, holdfast):
    origin.stop()
    receipt(holdfast.put("/items/1", {"n": 1}, authorization="Bearer s3cr3t-value", cookie="sid=s3cr3t-value"))
    holdfast.stop()
    for file in holdfast.data.rglob("*"):
        assert not file.is_file() or b"s3cr3t-value" not in file.read_bytes()
    assert "s3cr3t-value" not in holdfast.log_text()
