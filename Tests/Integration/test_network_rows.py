"""Online or offline, and whose requests: faults that users met in systems of this kind."""

import base64
import http.server
import threading

from service import eventually, receipt


class Portal(http.server.BaseHTTPRequestHandler):
    """A login page for everything."""

    def any(self):
        page = b"<html>log in</html>"
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_GET = do_PUT = do_POST = do_HEAD = do_OPTIONS = any

    def log_message(self, *_):
        pass


def network(holdfast):
    return holdfast.call("GET", "/cache").json()["network"]


def test_N01_a_login_page_is_not_the_origin(origin, holdfast):
    origin.put("/items/1", {"name": "kept"})
    holdfast.get("/items/1")
    origin.stop()
    identifier = receipt(holdfast.put("/items/2", {"name": "mine"}))
    http.server.ThreadingHTTPServer.allow_reuse_address = True
    portal = http.server.ThreadingHTTPServer(("127.0.0.1", origin.port), Portal)
    threading.Thread(target=portal.serve_forever, args=(0.02,), daemon=True).start()
    try:
        eventually(lambda: holdfast.operation(identifier)["attempts"] > 0 or True)
        read = holdfast.get("/items/1", accept="application/json", sync_policy="fetch-policy=FETCH_FROM_SERVICE_IF_ONLINE")
        assert b"log in" not in read.body
        assert holdfast.operation(identifier)["state"] != "delivered"
        assert holdfast.get("/items/1").json()["name"] == "kept"
    finally:
        portal.shutdown()
        portal.server_close()
    origin.start()
    holdfast.await_state(identifier, "delivered", 20)


def test_N03_a_503_is_degraded_and_not_offline(origin, holdfast):
    origin.order(method="GET", path="/items/1", status=503)
    assert holdfast.get("/items/1").status == 503
    assert "degraded" in str(network(holdfast))


def test_N05_online_and_offline_are_told_rightly_both_ways(origin, holdfast):
    origin.put("/items/1", {"n": 1})
    holdfast.get("/items/1")
    assert "online" in str(network(holdfast))
    origin.stop()
    assert holdfast.put("/items/1", {"n": 2}).status == 202
    assert "offline" in str(network(holdfast))
    origin.start()
    eventually(lambda: "online" in str(network(holdfast)))


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


def test_no_secret_is_written_to_disk(origin, holdfast):
    origin.stop()
    receipt(holdfast.put("/items/1", {"n": 1}, authorization="Bearer s3cr3t-value", cookie="sid=s3cr3t-value"))
    holdfast.stop()
    for file in holdfast.data.rglob("*"):
        assert not file.is_file() or b"s3cr3t-value" not in file.read_bytes()
    assert "s3cr3t-value" not in holdfast.log_text()
