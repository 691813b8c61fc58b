"""RFC 9110 and 9112 as far as a cache shows them, RFC 9211, and faults that users met in caches."""

import concurrent.futures
import http.client
import socket

import pytest

from cache_lab import FRESH, STALE, Reply, Step, at, confirmed, first, hit, miss

STATUS = {
    "9211 2.2: a miss": [first(*FRESH, has=["Cache-Status: Holdfast; fwd=uri-miss; fwd-status=200; stored"])],
    "9211 2.5: what is not stored says why": [
        first("Cache-Control: no-store", has=["Cache-Status: Holdfast; fwd=uri-miss; fwd-status=200; detail=NO_STORE"])],
    "9211 2.2: another variant": [
        first(*FRESH, "Vary: A", sends=["A: 1"]),
        first(*FRESH, sends=["A: 2"], has=["Cache-Status: Holdfast; fwd=vary-miss; fwd-status=200; stored"])],
    "9211 2.2: stale": [
        first(*STALE), first(*FRESH, has=["Cache-Status: Holdfast; fwd=stale; fwd-status=200; stored"])],
    "9211 2.2: confirmed": [
        first(*STALE, 'ETag: "a"'), confirmed(*FRESH, has=["Cache-Status: Holdfast; fwd=stale; fwd-status=304"])],
    "9211 2.2: the request's directives": [
        first(*FRESH), first(*FRESH, sends=["Cache-Control: no-cache"],
                             has=["Cache-Status: Holdfast; fwd=request; fwd-status=200; stored"])],
    "9211 2.2: the method": [
        Step(method="POST", content=b"a", has=["Cache-Status: Holdfast; fwd=method"])],
    "9211 2: what others wrote stays in front": [
        first(*FRESH, "Cache-Status: Up; hit", has=[
            "Cache-Status: Up; hit, Holdfast; fwd=uri-miss; fwd-status=200; stored"])],
}

MESSAGES = {
    "6.5: trailers don't end in the stored head": [
        first(*FRESH, trailers=["Cache-Control: no-store", "X-A: 1"]), hit(lacks=["X-A"])],
    "5.4: a long field is kept": [first(*FRESH, "X-Long: " + "a" * 60_000), hit(has=["X-Long: " + "a" * 60_000])],
    "5.4: many fields are kept": [first(*FRESH, *(f"X-{n}: {n}" for n in range(80))), hit(has=["X-79: 79"])],
    "9.1: an unknown method passes": [Step(method="FOO", reply=Reply(["X-A: 1"]), has=["X-A: 1"])],
    "4: other queries are other targets": [
        first(*FRESH, target="?a=1"), miss(target="?a=2"), hit(target="?a=1", body=b"body 1")],
    "4: the order of a query counts": [first(*FRESH, target="?a=1&b=2"), miss(target="?b=2&a=1")],
    "4: a target is the same under both routes": [first(*FRESH), hit(route="/resources")],
    "6.6.1: an answer without Date gets one": [first(*FRESH, has=["Date"]), hit(has=["Date"])],
    "7.6.1: fields of the client's connection go no further": [
        miss("TE: trailers", "X-A: 1", "Connection: TE, X-A", "Keep-Alive: 5", "Proxy-Connection: a", "Upgrade: a",
             unasked=["TE", "X-A", "Keep-Alive", "Proxy-Connection", "Upgrade"])],
    "7.6.2: Max-Forwards counts the intermediaries of OPTIONS": [
        Step(method="OPTIONS", sends=["Max-Forwards: 5"], asked=["Max-Forwards: 4"])],
    "7.6.2: Max-Forwards that is used up ends here": [
        hit("Max-Forwards: 0", method="OPTIONS", status=204, has=["Allow"])],
    "7.6.2: Max-Forwards of other methods is passed on": [miss("Max-Forwards: 0", asked=["Max-Forwards: 0"])],
    "7.6.3: Via names us to the origin": [miss("Via: 1.0 other", asked=["Via: 1.0 other, 1.1 holdfast"])],
    "5.2.2.6: no-transform changes nothing": [
        first("Cache-Control: max-age=3600, no-transform", "Content-Encoding: gzip", body=b"zip"), hit(body=b"zip")],
    "13.1.1: If-Match of another version is refused": [
        first(*FRESH, 'ETag: "a"'), Step("refused", sends=['If-Match: "b"'], status=412)],
    "13.1.1: a weak tag never matches": [
        first(*FRESH, 'ETag: W/"a"'), Step("refused", sends=['If-Match: W/"a"'], status=412)],
    "13.1.1: one of several, and *": [
        first(*FRESH, 'ETag: "a"'), hit('If-Match: "b", "a"', status=200), hit("If-Match: *", status=200)],
    "13.1.4: If-Unmodified-Since of an earlier date is refused": [
        first(*FRESH, f"Last-Modified: {at(-100)}"),
        Step("refused", sends=[f"If-Unmodified-Since: {at(-200)}"], status=412)],
    "13.2.2: If-Match goes before If-Unmodified-Since": [
        first(*FRESH, 'ETag: "a"', f"Last-Modified: {at(-100)}"),
        hit('If-Match: "a"', f"If-Unmodified-Since: {at(-200)}", status=200)],
    "13.2.1: conditions mean nothing beside an error": [
        first(*FRESH, 'ETag: "a"', status=404), hit('If-None-Match: "a"', status=404), hit('If-Match: "b"', status=404)],
    "15.5.13: 412 is not given again to who asks without the condition": [
        Step(sends=['If-Match: "b"'], reply=Reply(FRESH, 412, b"no"), status=412), miss()],
    "13.1.1: of a version that the origin has left is refused too": [
        first(*STALE, 'ETag: "a"'),
        Step("refused", sends=['If-Match: "a"'], reply=Reply(['ETag: "b"', *FRESH]), status=412)],
    "15.4.5: a 304 has the fields that a cache needs, and none that describe the content": [
        first(*FRESH, 'ETag: "a"', "Vary: A", "Content-Location: {base}", "Content-Type: text/plain",
              "Content-Language: de"),
        hit('If-None-Match: "a"', status=304, has=["Cache-Control", "ETag", "Vary", "Content-Location", "Date", "Age"],
            lacks=["Content-Type", "Content-Language", "Content-Length"])],
    "H03: a 304 is no answer without body to the client": [
        first(*STALE, 'ETag: "a"'), confirmed(*FRESH), hit(has=["Cache-Control: max-age=3600"])],
    "H17: a cookie is not replayed to the next user": [
        first(*FRESH, "Set-Cookie: who=first", has=["Set-Cookie: who=first"]), hit(lacks=["Set-Cookie"]),
        hit(lacks=["Set-Cookie"])],
}

CASES = {**STATUS, **MESSAGES}


@pytest.mark.parametrize("name", CASES)
def test_messages(shared_cache, name):
    shared_cache.run(CASES[name])


def raw(port, *requests):
    """What one connection gets for requests that are sent together, until the service closes it."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"".join(request.encode() for request in requests))
        received = b""
        while piece := connection.recv(65536):
            received += piece
        return received


@pytest.mark.parametrize("trailers", [[], ["x: y"]], ids=["a length", "chunks"])
def test_3_3_an_answer_that_was_cut_is_not_whole_for_its_client_and_not_stored(shared_cache, trailers):
    target = f"/cut/{len(trailers)}"
    shared_cache.origin.script(target, Reply(FRESH, body=b"b" * 100, cut="within", trailers=trailers))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        shared_cache.holdfast.call("GET", "/files" + target)
    shared_cache.origin.script(target, Reply(FRESH, body=b"whole"))
    assert shared_cache.holdfast.call("GET", "/files" + target).body == b"whole"


@pytest.mark.parametrize("status", [404, 410, 500])
def test_3_3_an_error_that_was_cut_is_not_whole_for_its_client_and_not_repeated(shared_cache, status):
    target = f"/cut/error/{status}"
    shared_cache.origin.script(target, Reply(FRESH, status=status, body=b"b" * 100, cut="within"))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        shared_cache.holdfast.call("GET", "/files" + target)
    shared_cache.origin.script(target, Reply(FRESH, status=status, body=b"whole"))
    answer = shared_cache.holdfast.call("GET", "/files" + target)
    assert (answer.status, answer.body) == (status, b"whole")


def test_3_3_an_answer_whose_end_nothing_proves_is_passed_on_and_not_stored(shared_cache):
    shared_cache.origin.script("/open", Reply(FRESH, body=b"perhaps", cut="ends"))
    for _ in range(2):
        answer = shared_cache.holdfast.call("GET", "/files/open")
        assert answer.body == b"perhaps" and "detail=UNDELIMITED" in answer.headers["Cache-Status"]
    assert len(shared_cache.origin.seen("GET", "/open")) == 2


def test_H13_answers_to_HEAD_have_no_body_and_keep_the_connection(shared_cache):
    for name in "abc":
        shared_cache.origin.script(f"/h13/{name}", Reply(FRESH, body=b"body"))
    head = "{} /files/h13/{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n"
    received = raw(shared_cache.holdfast.port, *(head.format("HEAD", name, "") for name in "aabc"),
                   head.format("GET", "a", "Connection: close\r\n"))
    assert received.count(b"HTTP/1.1 200") == 5 and received.count(b"Content-Length: 4") == 5
    assert received.count(b"body") == 1 and received.endswith(b"\r\n\r\nbody")


INTERIM = [(102, []), (103, ["Link: </style.css>; rel=preload", "X-Hint: a"])]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PROPFIND"])
def test_15_2_interim_answers_are_passed_on_ahead_of_the_final_one(shared_cache, method):
    shared_cache.origin.script(f"/hints/{method}", Reply(body=b"final", interim=INTERIM))
    received = raw(shared_cache.holdfast.port, f"{method} /files/hints/{method} HTTP/1.1\r\nHost: localhost\r\n"
                   "Content-Type: text/plain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    processing, hints, final = received.split(b"\r\n\r\n", 2)
    assert processing.startswith(b"HTTP/1.1 102 ") and b"X-Hint" not in processing
    assert hints.startswith(b"HTTP/1.1 103 ") and b"X-Hint: a" in hints and b"Content-Length" not in hints
    assert final.startswith(b"HTTP/1.1 200 ") and b"X-Hint" not in final


def test_X23_an_interim_answer_is_not_the_final_one_and_not_stored(shared_cache):
    shared_cache.origin.script("/hints", Reply(FRESH, body=b"final", interim=INTERIM))
    request = "GET /files/hints HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert raw(shared_cache.holdfast.port, request).endswith(b"\r\n\r\nfinal")
    again = raw(shared_cache.holdfast.port, request)
    assert again.startswith(b"HTTP/1.1 200 ") and b"X-Hint" not in again and again.endswith(b"\r\n\r\nfinal")
    assert len(shared_cache.origin.seen("GET", "/hints")) == 1


def test_15_2_a_client_of_HTTP_1_0_gets_no_interim_answer(shared_cache):
    shared_cache.origin.script("/old", Reply(FRESH, body=b"final", interim=INTERIM))
    received = raw(shared_cache.holdfast.port, "GET /files/old HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 200 ") and b"X-Hint" not in received and received.endswith(b"final")


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_interim_answers_can_be_held_back_for_clients_that_take_them_for_the_final_one(origin, holdfast_with, method):
    origin.script("/hints", Reply(body=b"final", interim=INTERIM))
    holdfast = holdfast_with(interimAnswers=False)
    answer = holdfast.call(method, "/files/hints", headers={"Content-Type": "text/plain"})
    assert (answer.status, answer.body) == (200, b"final")


def test_H31_many_clients_of_a_cold_target_cost_one_request_and_a_slow_one_holds_nobody_up(shared_cache):
    origin, port = shared_cache.origin, shared_cache.holdfast.port
    body = b"x" * 4_000_000
    origin.script("/cold", Reply(FRESH, body=body))
    with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /files/cold HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n")
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: shared_cache.holdfast.call("GET", "/files/cold").body == body, range(200)))
    assert all(answers)
    assert len(origin.seen("GET", "/cold")) == 1
