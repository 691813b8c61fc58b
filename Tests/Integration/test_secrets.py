"""Secrets stay in memory: none is in the data folder, the log, a snapshot, or what /cache and /metrics say."""

import base64
import http.client
import os
import stat
import threading

import pytest

from service import eventually, receipt

TOKEN = "holdfast-s3cret-token"
READER = "reading-s3cret-token"
SECRETS = {  # what a client sends
    "Authorization": "Bearer client-s3cret-bearer",
    "Cookie": "sid=client-s3cret-cookie",
    "X-Api-Key": "client-s3cret-key",
    "Proxy-Authorization": "Basic " + base64.b64encode(b"ann:client-s3cret-proxy").decode(),
    "X-CSRF-Token": "client-s3cret-csrf",
    "X-Own-Credential": "client-s3cret-credential",
    "X-Own-Secret": "client-s3cret-field",
    "Holdfast-Token": TOKEN,
}
QUERY = "client-s3cret-parameter"
FILE = "Bearer configured-s3cret-credential"
ANSWERED = {  # what the origin answers with
    "Set-Cookie": "sid=origin-s3cret-cookie",
    "X-CSRF-Token": "origin-s3cret-csrf",
    "X-XSRF-TOKEN": "origin-s3cret-xsrf",
    "X-Own-Secret": "origin-s3cret-field",
}
MARKS = [b"s3cret", base64.b64encode(b"ann:client-s3cret-proxy"), b"".join(b"%02x" % byte for byte in b"s3cret")]
PAGES = [
    "/cache", "/cache/mode", "/cache/network", "/cache/policies", "/cache/entries?partition=*",
    "/cache/operations?partition=*", "/cache/entry?target=/items/1",
    "/cache/conflicts?partition=*", "/cache/uploads", "/cache/stores", "/cache/stores/default", "/cache/partitions",
    "/cache/snapshot", "/cache/snapshot?partitions=all", "/cache/suspended", "/metrics", "/health/ready",
]


def shows(data):
    """The secret bytes in what somebody may read, with what stands around them."""
    for mark in MARKS:
        if (at := data.find(mark)) >= 0:
            return data[max(0, at - 80):at + 40]
    return None


@pytest.fixture
def holdfast(holdfast_with, tmp_path):
    (tmp_path / "credential").write_text(FILE)
    return holdfast_with(
        accessTokens=[TOKEN, {"token": READER, "readOnly": True}], logLevel="debug",
        credentialFields=["X-Own-Credential"], secretFields=["X-Own-Secret"],
        credentials=[{"header": "Authorization", "file": str(tmp_path / "credential")}])


def call(holdfast, method, path, body=None, **headers):
    return holdfast.call(method, path, body, {**SECRETS, **headers})


def events(holdfast, heard):
    """Keeps what /cache/events says, until the service ends."""
    connection = http.client.HTTPConnection("127.0.0.1", holdfast.port, timeout=30)
    connection.request("GET", "/cache/events?partition=*", headers={"Holdfast-Token": TOKEN})
    answer = connection.getresponse()

    def listen():
        try:
            while piece := answer.read1():
                heard.append(piece)
        except (OSError, http.client.HTTPException):
            pass

    threading.Thread(target=listen, daemon=True).start()


def work(origin, holdfast):
    """All that makes entries, operations of every state, conflicts, keys and refusals."""
    origin.headers.update({"Cache-Control": "max-age=600", **ANSWERED})
    for n in range(1, 6):
        origin.put(f"/items/{n}", {"id": str(n), "n": n})
    for path in ("/resources/items/1", "/resources/items/2", "/files/items/3", "/resources/items",
                 f"/resources/items/4?access_token={QUERY}", f"/resources/items/4?a=1&%74oken={QUERY}"):
        assert call(holdfast, "GET", path).status == 200
        assert call(holdfast, "GET", path, **{"If-None-Match": '"x"'}).status == 200
    online = call(holdfast, "PUT", "/resources/items/1", {"id": "1", "n": 2}, **{"Idempotency-Key": "online"})
    assert online.status == 200
    call(holdfast, "PUT", "/cache/network", {"offline": True})
    accepted = [receipt(call(holdfast, method, path, body)) for method, path, body in (
        ("PUT", "/resources/items/1", {"id": "1", "n": 3}), ("PUT", "/resources/items/2", {"id": "2", "n": 3}),
        ("PUT", "/resources/items/3", {"id": "3", "n": 3}), ("POST", "/resources/items", {"n": 9}))]
    refused = [
        call(holdfast, "PUT", f"/resources/items/4?api_key={QUERY}", {"n": 1}),
        call(holdfast, "GET", f"/resources/absent?sig={QUERY}"),
        call(holdfast, "GET", "/resources/items/1", **{"Sync-Policy": "what?"}),
        call(holdfast, "GET", f"/resources/../x?token={QUERY}"),
        holdfast.call("GET", "/cache", headers={"Holdfast-Token": TOKEN + "x"}),
        holdfast.call("DELETE", "/cache/entries", headers={"Holdfast-Token": READER}),
        call(holdfast, "PATCH", f"/cache/operations/{accepted[0]}", {"headers": {"X": "a\nb"}}),
    ]
    assert all(answer.status >= 400 for answer in refused)
    origin.put("/items/2", {"id": "2", "n": 7})
    origin.order(method="PUT", path="/items/3", status=422, headers=ANSWERED)
    call(holdfast, "PUT", "/cache/network", {"offline": False})
    states = ("delivered", "conflict", "failed", "delivered")
    for identifier, state in zip(accepted, states):
        eventually(lambda: call(holdfast, "GET", f"/cache/operations/{identifier}").json()["state"] == state)
    edit = {"headers": {"Authorization": "Bearer client-s3cret-edited"}}
    call(holdfast, "PATCH", f"/cache/operations/{accepted[2]}", edit)
    conflict = call(holdfast, "GET", "/cache/conflicts?partition=*").json()["items"][0]["id"]
    return refused, [f"/cache/operations/{i}" for i in accepted] + [f"/cache/conflicts/{conflict}"]


def test_no_secret_is_anywhere_but_in_memory_and_on_its_way(origin, holdfast):
    heard = []
    events(holdfast, heard)
    refused, pages = work(origin, holdfast)
    for answer in refused:
        assert not shows(answer.body + str(answer.headers).encode()), answer
    for page in PAGES + pages:
        answer = call(holdfast, "GET", page)
        assert answer.status == 200, page
        assert not shows(answer.body + str(answer.headers).encode()), page
    assert call(holdfast, "POST", "/cache/save").status == 200
    assert heard and not shows(b"".join(heard))

    def look():
        files = [file for file in holdfast.data.rglob("*") if file.is_file()]
        assert len(files) > 2
        for file in files:
            assert not shows(file.read_bytes()), file
        assert not shows(holdfast.log_text().encode())

    look()
    holdfast.stop()
    look()
    holdfast.start()
    look()
    # The origin is sent what it is to have, and nothing that is Holdfast's own.
    sent = [request.headers for request in origin.seen()]
    assert not any(TOKEN in str(headers) or READER in str(headers) for headers in sent)
    assert any(headers.get("x-own-credential") == SECRETS["X-Own-Credential"] for headers in sent)


def test_files_are_the_users_alone_whatever_the_umask(origin, holdfast_with):
    holdfast = holdfast_with()
    holdfast.stop()
    holdfast.start(under=("sh", "-c", 'umask 0; exec "$@"', "sh"))
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/big", os.urandom(300_000), content_type="application/octet-stream")
    assert holdfast.call("GET", "/files/big").status == 200
    holdfast.call("PUT", "/cache/network", {"offline": True})
    octets = {"Content-Type": "application/octet-stream"}
    receipt(holdfast.call("PUT", "/files/other", os.urandom(300_000), octets))
    assert holdfast.call("POST", "/cache/uploads", os.urandom(100_000), octets).status == 201
    assert holdfast.call("POST", "/cache/stores", {"name": "more", "paths": ["/more/**"]}).status == 201
    paths = [holdfast.data, *holdfast.data.rglob("*")]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in paths}
    assert not [path for path, mode in modes.items() if mode & 0o077]
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    bodies = [path for path in paths if path.is_file() and path.stat().st_size == 300_000]
    assert len(bodies) == 2 and {modes[path] for path in bodies} == {0o400}
