"""How the origin is reached: TLS, HTTP/2, proxies, redirects, interim answers."""

import subprocess

import pytest

from origin import Origin
from proxy import Proxy
from service import Holdfast, eventually, free_port, receipt


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A folder with an authority of our own (ca.pem), and the key and certificate of 127.0.0.1 by it (server.pem)."""
    folder = tmp_path_factory.mktemp("authority")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Test authority",
            "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1",
            "-keyout", folder / "server.key", "-out", folder / "server.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-days", "2", "-in", folder / "server.csr", "-CA", folder / "ca.pem",
            "-CAkey", folder / "ca.key", "-CAcreateserial", "-extfile", folder / "names", "-out", folder / "server.crt")
    (folder / "server.pem").write_text((folder / "server.key").read_text() + (folder / "server.crt").read_text())
    return folder


@pytest.fixture
def secure_origin(authority):
    origin = Origin(certificate=authority / "server.pem").start()
    yield origin
    origin.stop()


def test_a_certificate_of_a_named_authority_is_taken(secure_origin, holdfast_with, authority):
    holdfast = holdfast_with(origin=secure_origin.url, caFile=str(authority / "ca.pem"))
    secure_origin.put("/items/1", {"n": 1})
    assert holdfast.get("/items/1").json() == {"n": 1}
    assert holdfast.put("/items/1", {"n": 2}).status == 200
    secure_origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 3}))
    secure_origin.start()
    holdfast.await_state(identifier, "delivered")
    assert secure_origin.json("/items/1") == {"n": 3}


def test_an_unknown_certificate_is_not_the_origin(secure_origin, holdfast_with, authority):
    holdfast = holdfast_with(origin=secure_origin.url)
    secure_origin.put("/items/1", {"n": 1})
    refused = holdfast.get("/items/1")
    assert (refused.status, refused.headers["Content-Type"]) == (504, "application/problem+json")
    assert holdfast.network() == "offline"
    identifier = receipt(holdfast.put("/items/2", {"n": 2}))
    assert not secure_origin.seen()
    holdfast.stop()
    holdfast.config["caFile"] = str(authority / "ca.pem")
    holdfast.start()
    holdfast.await_state(identifier, "delivered")
    assert secure_origin.json("/items/2") == {"n": 2}


def test_a_server_that_another_certificate_replaces_is_offline_and_copies_go_on(
        secure_origin, holdfast_with, authority, tmp_path):
    holdfast = holdfast_with(origin=secure_origin.url, caFile=str(authority / "ca.pem"))
    secure_origin.put("/items/1", {"n": 1})
    holdfast.get("/items/1")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key", "-out", tmp_path / "certificate")
    (tmp_path / "other.pem").write_text((tmp_path / "key").read_text() + (tmp_path / "certificate").read_text())
    secure_origin.stop()
    secure_origin.certificate = tmp_path / "other.pem"
    secure_origin.start()
    secure_origin.log.clear()
    read = holdfast.get("/items/1", sync_policy="fetch-policy=FETCH_FROM_SERVICE_IF_ONLINE")
    assert read.json() == {"n": 1}
    assert holdfast.network() == "offline"
    assert not secure_origin.seen()
    secure_origin.stop()
    secure_origin.certificate = authority / "server.pem"
    secure_origin.start()
    eventually(lambda: holdfast.network() == "online")


@pytest.fixture
def http2_origin(origin, authority, tmp_path):
    """nginx with TLS and HTTP/2 in front of the scripted origin: its URL, and its log of protocols and methods."""
    port, log = free_port(), tmp_path / "log"
    (tmp_path / "nginx.conf").write_text(f"""
        daemon off; pid {tmp_path}/pid; error_log stderr; worker_processes 1;
        events {{ worker_connections 64; }}
        http {{
            log_format protocol '$server_protocol $request_method $request_uri';
            access_log {log} protocol;
            client_body_temp_path {tmp_path}/body; proxy_temp_path {tmp_path}/proxy; fastcgi_temp_path {tmp_path}/f;
            uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;
            server {{
                listen 127.0.0.1:{port} ssl http2;
                ssl_certificate {authority}/server.pem; ssl_certificate_key {authority}/server.pem;
                client_max_body_size 0; proxy_request_buffering off; proxy_max_temp_file_size 0;
                location / {{ proxy_pass {origin.url}; proxy_http_version 1.1; }}
            }}
        }}""")
    nginx = subprocess.Popen(["nginx", "-e", "stderr", "-c", str(tmp_path / "nginx.conf")], stderr=subprocess.DEVNULL)
    eventually(log.exists)
    yield f"https://127.0.0.1:{port}", log
    nginx.terminate()
    nginx.wait(10)


def test_an_origin_that_speaks_http_2_is_spoken_to_in_it(origin, http2_origin, holdfast_with, authority):
    url, log = http2_origin
    holdfast = holdfast_with(origin=url, caFile=str(authority / "ca.pem"))
    origin.put("/items/1", {"n": 1})
    assert holdfast.get("/items/1").json() == {"n": 1}
    assert holdfast.put("/items/1", {"n": 2}).status == 200
    assert holdfast.patch("/items/1", {"m": 3}).status == 200
    assert holdfast.post("/items", {"n": 4}).status == 201
    assert holdfast.delete("/items/1").status == 204
    big = bytes(range(256)) * 20_000
    kind = {"Content-Type": "application/octet-stream"}
    assert holdfast.call("PUT", "/files/big", big, kind).status == 201
    assert origin.documents["/big"].body == big
    assert holdfast.call("GET", "/files/big").body == big
    lines = eventually(lambda: (text := log.read_text()).count("/big") >= 2 and text.splitlines())
    assert {line.split()[0] for line in lines} == {"HTTP/2.0"}
    assert {line.split()[1] for line in lines} >= {"GET", "PUT", "PATCH", "POST", "DELETE"}


def test_the_proxy_that_the_environment_names_is_asked(origin):
    proxy = Proxy()
    holdfast = Holdfast(origin.url, environment={"http_proxy": proxy.url, "no_proxy": ""}).start()
    try:
        origin.put("/items/1", {"n": 1})
        assert holdfast.get("/items/1?a=%2F").json() == {"n": 1}
        assert holdfast.put("/items/1", {"n": 2}).status == 200
        assert proxy.asked == [origin.url + "/items/1?a=%2F", origin.url + "/items/1"]
        proxy.stop()
        receipt(holdfast.put("/items/1", {"n": 3}))
        assert holdfast.network() == "offline"
    finally:
        holdfast.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_passed_on_and_names_our_own_targets(origin, holdfast, status):
    origin.order(method="GET", path="/old", status=status, headers={"Location": "/new?a=1"})
    answer = holdfast.get("/old")
    assert (answer.status, answer.headers["Location"]) == (status, "/resources/new?a=1")
    assert [r.path for r in origin.seen("GET")] == ["/old"]


def test_X23_interim_answers_are_not_the_final_one(origin, holdfast_with):
    holdfast = holdfast_with(interimAnswers=False)  # http.client takes one for the final answer
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/items/1", {"n": 1})
    origin.order(method="GET", interim=b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
                                       b"HTTP/1.1 102 Processing\r\n\r\n")
    for _ in range(2):
        answer = holdfast.get("/items/1")
        assert (answer.status, answer.json(), answer.headers["Link"]) == (200, {"n": 1}, None)
    assert len(origin.seen("GET")) == 1
