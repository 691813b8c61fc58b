"""RFC 9111 4.2.4, 5.2.2.2 and RFC 5861: when a stale answer is served, under `offlineReads: HONOUR_ORIGIN`."""

import pytest

from cache_lab import FRESH, Reply, Step, confirmed, first, hit, miss
from origin import Origin
from service import Holdfast, eventually

OLD = "Age: 100"


def aged(directives, *fields):
    return first(f"Cache-Control: {directives}", OLD, *fields, body=b"stored")


def failing(expect, *sends, **reply):
    """The origin gives no usable answer; `expect` is "stale" or "refused"."""
    body, status = (b"stored", 200) if expect == "stale" else (None, 502)
    return Step(expect, sends=list(sends), reply=Reply(**{"body": b"broken", **reply}), status=status, body=body)


CUT = {"cut": "before"}
STALE_USES = {
    "4.2.4: a closed connection, nothing forbids it": [aged("max-age=60"), failing("stale", **CUT)],
    "4.2.4: must-revalidate forbids it": [aged("max-age=60, must-revalidate"), failing("refused", **CUT)],
    "4.2.4: proxy-revalidate forbids it": [aged("max-age=60, proxy-revalidate"), failing("refused", **CUT)],
    "4.2.4: no-cache forbids it": [aged("max-age=60, no-cache"), failing("refused", **CUT)],
    "4.2.4: s-maxage forbids it": [aged("s-maxage=60"), failing("refused", **CUT)],
    "4.2.4: an answer that ends within its length": [
        aged("max-age=60"), failing("stale", fields=FRESH, body=b"b" * 100, cut="within"), failing("stale", **CUT)],
    "4.2.4: chunks that end early": [
        aged("max-age=60"), failing("stale", fields=FRESH, body=b"b" * 100, cut="within", trailers=["x: y"])],
    "4.2.4: an error status is passed on where nothing allows a stale answer": [
        aged("max-age=60"), first(status=503, body=b"broken")],
    "4.2.4: the client's no-cache forbids it": [
        aged("max-age=60"), failing("refused", "Cache-Control: no-cache", **CUT)],
    "5.2.1.1: the client's max-age forbids it": [
        aged("max-age=60"), failing("refused", "Cache-Control: max-age=1000", **CUT)],
    "5.2.1.2: max-stale that is exceeded forbids it": [
        aged("max-age=60"), failing("refused", "Cache-Control: max-stale=10", **CUT)],
    "5.2.1.3: min-fresh forbids it": [
        aged("max-age=60"), failing("refused", "Cache-Control: min-fresh=1", **CUT)],
    "4.4: an invalid answer is not served": [
        first(*FRESH, body=b"stored"), Step(method="PUT", content=b"a"), failing("refused", **CUT)],
    "4.2.4: the Age of a stale answer is right": [
        aged("max-age=60"),
        Step("stale", reply=Reply(cut="before"), body=b"stored", age=range(100, 160), has=["Age"])],
    **{f"5861 4: stale-if-error stands in for {status}": [
        aged("max-age=60, stale-if-error=600"), failing("stale", status=status)]
       for status in (500, 502, 503, 504)},
    **{f"5861 4: and not for {status}": [
        aged("max-age=60, stale-if-error=600"), first(status=status, body=b"other")] for status in (404, 501, 403)},
    "5861 4: stale-if-error for a closed connection": [aged("max-age=60, stale-if-error=600"), failing("stale", **CUT)],
    "5861 4: stale-if-error that is over": [
        aged("max-age=60, stale-if-error=10"), first(status=503, body=b"broken")],
    "5861 4: stale-if-error that is over, closed connection": [
        aged("max-age=60, stale-if-error=10"), failing("refused", **CUT)],
    "5861 4: the request may ask for it": [
        aged("max-age=60"), failing("stale", "Cache-Control: stale-if-error=600", status=503)],
    "5861 4: must-revalidate goes before it": [
        aged("max-age=60, must-revalidate, stale-if-error=600"), first(status=503, body=b"broken")],
    "5861 3: the window of stale-while-revalidate is over": [aged("max-age=60, stale-while-revalidate=10"), miss()],
    "5861 3: must-revalidate goes before it": [
        aged("max-age=60, must-revalidate, stale-while-revalidate=600"), miss()],
    "5861 3: a client that wants no stale answer gets none": [
        aged("max-age=60, stale-while-revalidate=600"), miss("Cache-Control: min-fresh=1")],
    "5861 3: the time of an answer that has a tag is confirmed": [
        aged("max-age=60, stale-while-revalidate=10", 'ETag: "a"'),
        confirmed(*FRESH, asked=['If-None-Match: "a"'], body=b"stored"), hit(body=b"stored")],
}


@pytest.mark.parametrize("name", STALE_USES)
def test_stale(shared_cache, name):
    shared_cache.run(STALE_USES[name])


OFFLINE = {
    "4.2.4: disconnected, nothing forbids it": ("max-age=60", None, 200),
    "4.2.4: disconnected and fresh": ("max-age=600", None, 200),
    "4.2.4: disconnected, must-revalidate and fresh": ("max-age=600, must-revalidate", None, 200),
    "5.2.2.2: disconnected, must-revalidate": ("max-age=60, must-revalidate", None, 504),
    "5.2.2.8: disconnected, proxy-revalidate": ("max-age=60, proxy-revalidate", None, 504),
    "5.2.2.4: disconnected, no-cache": ("max-age=600, no-cache", None, 504),
    "5.2.2.10: disconnected, s-maxage": ("s-maxage=60", None, 504),
    "5.2.1.4: disconnected, the client says no-cache": ("max-age=600", "no-cache", 504),
    "5.2.1.1: disconnected, the client says max-age": ("max-age=600", "max-age=10", 504),
    "5.2.1.2: disconnected, within max-stale": ("max-age=60", "max-stale=100", 200),
    "5.2.1.2: disconnected, beyond max-stale": ("max-age=60", "max-stale=10", 504),
    "5.2.1.3: disconnected, min-fresh": ("max-age=150", "min-fresh=100", 504),
    "5861 4: disconnected, within stale-if-error": ("max-age=60, stale-if-error=600", None, 200),
    "5861 4: disconnected, beyond stale-if-error": ("max-age=60, stale-if-error=10", None, 504),
    "H19: max-stale does not lift must-revalidate": ("max-age=60, must-revalidate", "max-stale=99999", 504),
}


@pytest.fixture(scope="module")
def disconnected():
    """A service that has stored an answer for each case of OFFLINE, and has lost its origin since."""
    origin = Origin().start()
    service = Holdfast(origin.url, defaultPolicy={"offlineReads": "HONOUR_ORIGIN"}).start()
    for number, (directives, _, _) in enumerate(OFFLINE.values()):
        origin.script(f"/case/{number}", Reply([f"Cache-Control: {directives}", OLD], body=b"stored"))
        assert service.call("GET", f"/files/case/{number}").status == 200
    origin.stop()
    yield service
    service.close()


@pytest.mark.parametrize("name", OFFLINE)
def test_disconnected(disconnected, name):
    _, asks, status = OFFLINE[name]
    target = f"/files/case/{list(OFFLINE).index(name)}"
    answer = disconnected.call("GET", target, headers={"Cache-Control": asks} if asks else {})
    assert answer.status == status, answer
    if status == 200:
        assert answer.body == b"stored"
        assert int(answer.headers["Age"]) in range(100, 160)
    else:
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_H01_a_stale_answer_is_refreshed_once_in_the_background(shared_cache):
    origin, holdfast = shared_cache.origin, shared_cache.holdfast
    origin.script("/swr", Reply(["Cache-Control: max-age=1, stale-while-revalidate=60", "Age: 2"], body=b"old"))
    assert holdfast.call("GET", "/files/swr").body == b"old"
    origin.script("/swr", Reply(["Cache-Control: max-age=600"], body=b"new"))
    stale = holdfast.call("GET", "/files/swr")
    assert stale.body == b"old" and int(stale.headers["Age"]) >= 2
    assert "; hit; ttl=-" in stale.headers["Cache-Status"] and "; detail=STALE" in stale.headers["Cache-Status"]
    eventually(lambda: holdfast.call("GET", "/files/swr", headers={"Cache-Control": "only-if-cached"}).body == b"new")
    assert holdfast.call("GET", "/files/swr").body == b"new"
    assert len(origin.seen("GET", "/swr")) == 2


def test_H25_the_first_read_after_the_loss_of_the_origin_is_answered(origin, holdfast):
    origin.script("/a", Reply(["Cache-Control: max-age=60", OLD], body=b"stored"))
    holdfast.call("GET", "/files/a")
    origin.stop()
    answer = holdfast.call("GET", "/files/a")
    assert answer.status == 200 and answer.body == b"stored"
    assert int(answer.headers["Age"]) >= 100 and "detail=" in answer.headers["Cache-Status"]


def test_H27_an_origin_that_flaps_costs_no_stored_answer(origin, holdfast):
    origin.script("/a", Reply(["Cache-Control: max-age=60", OLD], body=b"stored"))
    holdfast.call("GET", "/files/a")
    for _ in range(2):
        origin.stop()
        for _ in range(3):
            assert holdfast.call("GET", "/files/a").body == b"stored"
            missed = holdfast.call("GET", "/files/b")
            assert missed.status == 504 and missed.json()["detail"]
        origin.start()
        eventually(lambda: holdfast.call("GET", "/resources/items").status == 404)


def test_H29_a_stored_answer_goes_before_an_error_of_the_origin(origin, holdfast):
    origin.script("/a", Reply(["Cache-Control: max-age=60", OLD], body=b"stored"))
    holdfast.call("GET", "/files/a")
    origin.script("/a", Reply(status=503, body=b"broken"))
    answer = holdfast.call("GET", "/files/a")
    assert answer.status == 200 and answer.body == b"stored"
    assert answer.headers["Cache-Status"].startswith("Holdfast; fwd=stale; fwd-status=503")
