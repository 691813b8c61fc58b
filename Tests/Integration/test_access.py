"""Who may do what: tokens on every route of the contract, hosts and web origins, and where requests go."""

import contextlib
import pathlib
import socket
import stat
import subprocess
import threading
import time

import pytest
import yaml

from framing import exchange, read_answers
from service import BINARY, Holdfast, eventually, free_port, receipt, request, stays

CONTRACT = yaml.safe_load((pathlib.Path(__file__).parents[2] / "openapi.yaml").read_text())
METHODS = {"get", "head", "put", "post", "patch", "delete"}
ROUTES = [(method.upper(), path, operation.get("security") == [])
          for path, item in CONTRACT["paths"].items() for method, operation in item.items() if method in METHODS]
# What the contract marks as needing a full token.
FULL_ALONE = {(method.upper(), path) for path, item in CONTRACT["paths"].items()
              for method, operation in item.items() if method in METHODS
              and ["full"] in [scopes for way in operation.get("security", []) for scopes in way.values()]}
OPEN = ("/health/live", "/health/ready", "/problems/{code}", "/cache/ui")
FULL, READER = "full-token-0123", "read-token-0123"


@pytest.fixture(scope="module")
def guarded():
    """A service with tokens before an origin that is not there."""
    service = Holdfast("http://127.0.0.1:9", accessTokens=[FULL, {"token": READER, "readOnly": True}]).start()
    yield service
    service.check_left()
    service.close()


def ask(service, method, path, **headers):
    filled = path.format(name="default", code="offline", target="items/1", id="x")
    if path == "/cache/events":  # has no end
        headers["Last-Event-ID"] = "none"
        with socket.create_connection(("127.0.0.1", service.port), timeout=5) as client:
            lines = [f"GET {filled} HTTP/1.1", "Host: localhost", *(f"{k}: {v}" for k, v in headers.items())]
            client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            status = int(client.recv(4096).split()[1])
            return status, ""
    answer = service.call(method, filled, headers=headers)
    is_problem = answer.headers.get("Content-Type") == "application/problem+json" and answer.body
    return answer.status, answer.json()["type"] if is_problem else ""


@pytest.mark.parametrize("method, path, is_open", ROUTES, ids=lambda value: str(value))
def test_every_route_but_the_open_ones_wants_a_token(guarded, method, path, is_open):
    assert is_open == (path in OPEN)  # the contract says so too
    for headers in (
            {}, {"Holdfast-Token": "wrong-token-012"}, {"Holdfast-Token": FULL + "x"}, {"Holdfast-Token": FULL[:-1]},
            {"Holdfast-Token": ""}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {FULL}"},
            {"Cookie": f"Holdfast-Token={FULL}"}):
        status, _ = ask(guarded, method, path, **headers)
        assert (status == 401) == (not is_open), headers
    assert ask(guarded, method, path, **{"Holdfast-Token": FULL})[0] not in (401, 403)


@pytest.mark.parametrize("method, path, is_open", ROUTES, ids=lambda value: str(value))
def test_a_token_for_reading_changes_nothing_on_any_route(guarded, method, path, is_open):
    status, kind = ask(guarded, method, path, **{"Holdfast-Token": READER})
    if (method, path) not in FULL_ALONE:
        assert method in ("GET", "HEAD") and status not in (401, 403)
    else:
        assert status == 403 and (method == "HEAD" or kind == "/problems/read-only-token")


@pytest.mark.parametrize("method", ["MOVE", "LOCK", "PROPPATCH", "MKCOL", "FOO", "TRACE", "CONNECT"])
def test_a_token_for_reading_passes_no_other_method_on(guarded, method):
    assert guarded.call(method, "/resources/items/1", headers={"Holdfast-Token": READER}).status in (403, 405)


def test_a_bearer_is_a_token_for_management_and_the_origins_affair_elsewhere(origin, holdfast_with):
    holdfast = holdfast_with(accessTokens=[FULL])
    bearer = {"Authorization": f"Bearer {FULL}"}
    assert holdfast.call("GET", "/cache", headers=bearer).status == 200
    assert holdfast.call("GET", "/metrics", headers=bearer).status == 200
    assert holdfast.call("GET", "/resources/items/1", headers=bearer).status == 401
    assert holdfast.call("GET", "/resources/../cache", headers=bearer).status == 401
    assert not origin.seen()


def test_management_on_an_address_of_its_own_is_not_on_the_other(origin, holdfast_with):
    port = free_port()
    holdfast = holdfast_with(manageListen=f"127.0.0.1:{port}")
    for path in ("/cache", "/cache/", "/cache/ui", "/cache/operations", "/metrics", "//cache", "/%63ache",
                 "/resources/../cache"):
        for target in (path, "http://localhost" + path):
            status, _ = raw(holdfast.port, f"GET {target} HTTP/1.1", "Host: localhost")
            assert status in (400, 404), target
    assert request(port, "GET", "/cache").status == 200
    assert request(port, "GET", "/metrics").status == 200
    assert request(holdfast.port, "GET", "/health/live").status == 200
    assert not origin.seen()


def test_a_unix_socket_is_its_owners_alone_whatever_the_umask(tmp_path):
    path = tmp_path / "socket"
    process = subprocess.Popen(
        ["sh", "-c", 'umask 0; exec "$@"', "sh", BINARY, "--origin", "http://127.0.0.1:9", "--listen", f"unix:{path}",
         "--data", str(tmp_path / "data")], stderr=subprocess.DEVNULL)
    try:
        eventually(path.exists)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            eventually(lambda: client.connect_ex(str(path)) == 0)
            client.sendall(b"GET /cache HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
    finally:
        process.terminate()
        assert process.wait(10) == 0
    assert not path.exists()


# Hosts and web origins

def raw(port, *lines):
    """Status and message of the only answer."""
    (answer,) = read_answers(exchange(port, ("\r\n".join(lines) + "\r\nConnection: close\r\n\r\n").encode("latin-1")))
    return answer


@pytest.mark.parametrize("host", [
    "evil.test", "evil.test:80", "localhost.evil.test", "evil.test:localhost", "127.0.0.1.evil.test", "127.0.0.2",
    "0.0.0.0", "[::]", "[::1].evil.test", "2130706433", "0x7f000001", "localhost:80:80", "",
])
def test_another_host_is_misdirected_on_both_ways_to_an_answer(shared_cache, host):
    origin, holdfast = shared_cache.origin, shared_cache.holdfast
    origin.put("/hosts", {"n": 1})
    origin.headers["Cache-Control"] = "max-age=600"
    assert raw(holdfast.port, "GET /resources/hosts HTTP/1.1", "Host: localhost")[0] == 200  # prepared from now on
    for path in ("/resources/hosts", "/resources/hosts-else", "/cache", "/cache/ui", "/openapi.yaml"):
        assert raw(holdfast.port, f"GET {path} HTTP/1.1", f"Host: {host}")[0] in (400, 421), path
    del origin.headers["Cache-Control"]


@pytest.mark.parametrize("fields", [
    ["Origin: http://evil.test"], ["Origin: null"], ["Origin: https://localhost.evil.test"],
    ["Origin: http://localhost:1"], ["Origin: file://"], ["Sec-Fetch-Site: cross-site"],
    ["Origin: http://evil.test", "Sec-Fetch-Site: same-origin"],
])
def test_another_web_origin_is_refused_and_no_answer_lets_one_in(shared_cache, fields):
    port = shared_cache.holdfast.port
    host = f"Host: localhost:{port}"
    for method, path in (
            ("GET", "/resources/a"), ("PUT", "/resources/a"), ("OPTIONS", "/resources/a"), ("GET", "/cache"),
            ("POST", "/cache/sync"), ("DELETE", "/cache/entries")):
        status, message = raw(port, f"{method} {path} HTTP/1.1", host, *fields)
        assert status == 403 and not [name for name, _ in message.fields if name.startswith(b"access-control")]
    assert not shared_cache.origin.seen(path="/a")
    own = f"Origin: http://localhost:{port}"
    for allowed in ([own], ["Sec-Fetch-Site: same-origin"], ["Sec-Fetch-Site: none"], []):
        status, message = raw(port, "GET /cache HTTP/1.1", host, *allowed)
        assert status == 200 and not [name for name, _ in message.fields if name.startswith(b"access-control")]


# Requests go to the configured origin alone

@pytest.fixture
def elsewhere():
    """A port that counts who comes."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=50)
    came = []

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                came.append(client.recv(4096))
                client.close()

    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1], came
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_no_form_of_a_target_leads_elsewhere(origin, holdfast, elsewhere):
    port, came = elsewhere
    other = f"127.0.0.1:{port}"
    for target in (
            f"http://{other}/resources/a", f"http://{other}/", f"https://{other}/resources/a",
            f"ftp://{other}/resources/a",
            f"http://localhost@{other}/resources/a", f"http://localhost#@{other}/resources/a",
            f"http:{other}/resources/a",
            f"http://localhost:{holdfast.port}@{other}/resources/a", f"http:\\\\{other}\\resources\\a",
            f"{other}/resources/a",
            f"//{other}/resources/a", f"/resources//{other}/a", f"/resources/\\{other}/a", f"/resources\\\\{other}/a",
            f"/resources@{other}/a", f"/resources:{port}/a", f"/resources/@{other}/a", f"/resources/..//{other}/a",
            f"/resources/%2f%2f{other}/a", f"/resources/http://{other}/a", f"/resources?http://{other}/",
            f"/resources#@{other}/"):
        for method in ("GET", "PUT", "CONNECT"):
            for host in ("localhost", other):
                raw(holdfast.port, f"{method} {target} HTTP/1.1", f"Host: {host}")
    raw(holdfast.port, "GET /resources/a HTTP/1.1", "Host: localhost", f"X-Forwarded-Host: {other}",
        f"Forwarded: host={other}", f"X-Original-URL: http://{other}/", f"X-Host: {other}")
    time.sleep(0.1)
    assert not came
    assert {r.headers["host"] for r in origin.seen()} == {f"127.0.0.1:{origin.port}"}
    assert all("://" not in r.path.split("?")[0] or r.path.startswith("/http:") for r in origin.seen())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_elsewhere_is_the_clients_to_follow(origin, holdfast, elsewhere, status):
    port, came = elsewhere
    location = f"http://127.0.0.1:{port}/stolen"
    origin.order(path="/items/1", status=status, headers={"Location": location}, times=3)
    for call in (holdfast.get("/items/1", authorization="Bearer secret"),
                 holdfast.put("/items/1", {"n": 1}, cookie="s=secret")):
        assert (call.status, call.headers["Location"]) == (status, location)
    holdfast.call("POST", "/cache/entry/refresh?target=/items/1")
    assert not came


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_queued_write_is_not_taken_elsewhere_by_a_redirect(origin, holdfast, elsewhere, status):
    port, came = elsewhere
    origin.put("/", {"up": True})  # so that the redirect is no portal's
    holdfast.call("PUT", "/cache/network", {"offline": True})
    identifier = receipt(holdfast.put("/items/1", {"n": 1}, authorization="Bearer secret"))
    origin.order(method="PUT", status=status, headers={"Location": f"http://127.0.0.1:{port}/stolen"})
    holdfast.call("PUT", "/cache/network", {"offline": False})
    holdfast.await_state(identifier, "failed")
    assert not came


def test_links_elsewhere_stay_as_they_are_and_are_not_asked(origin, holdfast, elsewhere):
    port, came = elsewhere
    other = f"http://127.0.0.1:{port}"
    fields = {"Location": f"{other}/a", "Content-Location": f"{other}/b", "Link": f'<{other}/c>; rel="next"',
              "Next-Page": f"{other}/d", "Cache-Control": "max-age=600"}
    origin.headers.update(fields)
    origin.put("/items", [{"id": "1"}])
    for _ in range(2):
        answer = holdfast.get("/items")
        assert {name: answer.headers[name] for name in fields} == fields
    origin.put("/parallel", {"items": [{"n": 1}], "uris": [f"{other}/e"], "etags": ['"1"']})
    assert holdfast.get("/parallel").status == 200
    stays(lambda: not came, 0.3)
