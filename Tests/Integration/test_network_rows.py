"""Online or offline, and whose requests: faults that users met in systems of this kind."""

import base64
import contextlib
import http.server
import json
import threading

import pytest

from service import RUNNING, eventually, named, receipt, stays


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


def token(kind, secret):
    """What ann sends, as keyword arguments of a request."""
    if kind == "jwt":
        parts = [{"alg": "none"}, {"sub": "ann", "jti": secret}]
        texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return {"authorization": "Bearer " + ".".join([*texts, "c2ln"])}
    if kind == "header":
        return {"authorization": "Bearer " + secret, "x_user": "ann"}
    return {"authorization": "Basic " + base64.b64encode(f"ann:{secret}".encode()).decode()}


IDENTITIES = {"basic": {"basic": "user"}, "header": {"header": "X-User"}, "jwt": {"jwt": ["sub"]}}
of_each_identity = pytest.mark.parametrize("kind", IDENTITIES)


class Secrets:
    """Files that have the present values of configured credentials."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return self.folder / name

    def write(self, fields):
        for name, value in named(fields).items():
            self.path(name).write_text(value)

    def remove(self, fields):
        for name in named(fields):
            self.path(name).unlink()

    def sources(self, fields):
        return [{"header": name, "command": ["cat", str(self.path(name))]} for name in named(fields)]


def queued_by_ann(origin, holdfast, credential):
    """A write that ann queued with that credential; the origin is off."""
    origin.put("/items/1", {"n": 0})
    assert holdfast.get("/items/1", **credential).status == 200
    origin.stop()
    return receipt(holdfast.put("/items/1", {"n": 1}, **credential))


def partitioned(kind):
    return [{"path": "/**", **IDENTITIES[kind]}]


@of_each_identity
def test_U01_delivery_uses_the_newest_value_of_a_configured_credential(origin, holdfast_with, tmp_path, kind):
    old, new, secrets = token(kind, "old"), token(kind, "new"), Secrets(tmp_path)
    secrets.write(old)
    holdfast = holdfast_with(credentials=secrets.sources(old), partitionBy=partitioned(kind))
    identifier = queued_by_ann(origin, holdfast, old)
    origin.order(method="PUT", status=401)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    secrets.write(new)
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.seen("PUT")[-1].headers["authorization"] == new["authorization"]
    assert len(origin.seen("PUT")) == 2


@of_each_identity
def test_U01_delivery_uses_the_renewed_value_that_the_client_sends(origin, holdfast_with, kind):
    old, new = token(kind, "old"), token(kind, "new")
    holdfast = holdfast_with(partitionBy=partitioned(kind))
    identifier = queued_by_ann(origin, holdfast, old)
    origin.order(method="PUT", status=401)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    assert holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE", **new).status == 200
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.seen("PUT")[-1].headers["authorization"] == new["authorization"]


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


def test_U03_after_a_restart_a_read_of_the_edit_is_enough_to_deliver_it(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization="Bearer A"))
    holdfast.restart()
    assert holdfast.get("/items/1", authorization="Bearer A").json() == {"n": 1}
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.seen("PUT")[0].headers["authorization"] == "Bearer A"


def test_U05_nothing_is_dropped_while_the_origin_refuses_the_credential(origin, holdfast):
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization="Bearer A"))
    origin.order(status=401, times=1000)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    holdfast.await_state(identifier, "pending")


@of_each_identity
def test_U05_nothing_is_dropped_while_a_credential_can_not_be_renewed(origin, holdfast_with, tmp_path, kind):
    old, new, secrets = token(kind, "old"), token(kind, "new"), Secrets(tmp_path)
    secrets.write(old)
    holdfast = holdfast_with(credentials=secrets.sources(old), partitionBy=partitioned(kind))
    identifier = queued_by_ann(origin, holdfast, old)
    secrets.remove(old)
    origin.order(status=401, times=1000)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    stays(lambda: holdfast.operation(identifier)["state"] in RUNNING, 2)
    origin.orders.clear()
    secrets.write(new)
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.seen("PUT")[-1].headers["authorization"] == new["authorization"]


@of_each_identity
def test_U05_nothing_is_dropped_while_the_client_s_renewed_value_is_refused(origin, holdfast_with, kind):
    old, bad, new = (token(kind, secret) for secret in ("old", "bad", "new"))
    holdfast = holdfast_with(partitionBy=partitioned(kind))
    identifier = queued_by_ann(origin, holdfast, old)
    origin.order(status=401, times=1000)
    origin.start()
    eventually(lambda: origin.seen("PUT"))
    holdfast.await_state(identifier, "pending")
    assert holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE", **bad).status == 401
    stays(lambda: holdfast.operation(identifier)["state"] in RUNNING, 1)
    origin.orders.clear()
    assert holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE", **new).status == 200
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.seen("PUT")[-1].headers["authorization"] == new["authorization"]


def test_no_secret_is_written_to_disk(origin, holdfast):
    origin.stop()
    receipt(holdfast.put("/items/1", {"n": 1}, authorization="Bearer s3cr3t-value", cookie="sid=s3cr3t-value"))
    holdfast.stop()
    for file in holdfast.data.rglob("*"):
        assert not file.is_file() or b"s3cr3t-value" not in file.read_bytes()
    assert "s3cr3t-value" not in holdfast.log_text()
