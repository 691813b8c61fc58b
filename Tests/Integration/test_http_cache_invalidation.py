"""RFC 9111 4 and 4.4, RFC 9110 9.3.3: what unsafe methods do to stored answers."""

import pytest

from cache_lab import FRESH, Reply, Step, at, first, hit, miss

UNSAFE = ["POST", "PUT", "DELETE", "M-SEARCH"]


def unsafe(method, *fields, status=200, target="", **more):
    return Step(method=method, content=b"sent", reply=Reply(list(fields), status, **more), target=target)


def known(target):
    return first(*FRESH, target=target, body=b"old")


CASES = {}
for method in UNSAFE:
    CASES |= {
        f"4.4: {method} invalidates its target": [known(""), unsafe(method), miss()],
        f"4.4: a {method} that failed invalidates nothing": [known(""), unsafe(method, status=500), hit(body=b"old")],
        f"4.4: a {method} that was refused invalidates nothing": [known(""), unsafe(method, status=403), hit(body=b"old")],
        f"4.4: {method} with a redirect invalidates": [known(""), unsafe(method, status=303), miss()],
        f"4.4: {method} invalidates what Location names": [
            known("/l"), unsafe(method, "Location: {base}/l"), miss(target="/l")],
        f"4.4: {method} invalidates what Content-Location names": [
            known("/c"), unsafe(method, "Content-Location: {base}/c"), miss(target="/c")],
        f"4.4: {method} that failed does not invalidate what Location names": [
            known("/l"), unsafe(method, "Location: {base}/l", status=500), hit(target="/l", body=b"old")],
        f"4.4: {method} invalidates nothing of another origin": [
            known("/l"), unsafe(method, "Location: http://else.test{base}/l", "Content-Location: http://else.test{base}/l"),
            hit(target="/l", body=b"old")],
        f"4: {method} is written through": [known(""), unsafe(method), unsafe(method)],
    }
CASES |= {f"H15: POST with {status} invalidates": [known(""), unsafe("POST", status=status, body=b""), miss()]
          for status in (200, 201, 202, 204, 205)}
CASES |= {
    "4.4: a relative Location": [known("/a/l"), unsafe("POST", "Location: l", target="/a/x"), miss(target="/a/l")],
    "4.4: all variants are invalid": [
        first(*FRESH, "Vary: A", sends=["A: 1"]), first(*FRESH, "Vary: A", sends=["A: 2"]), unsafe("PUT"),
        miss("A: 1", reply=Reply(["Vary: A", *FRESH])), miss("A: 2")],
    "4.4: what an identity has stored is invalid, and what belongs to nobody": [
        known(""), Step(method="PUT", content=b"sent", sends=["Authorization: Basic YTpi"]), miss()],
    "4.4: another target stays": [known("/a"), unsafe("POST", target="/b/c"), hit(target="/a", body=b"old")],
    **{f"9.2.1: {method} is safe and invalidates nothing": [
        known(""), Step(method=method, reply=Reply(status=200)), hit(body=b"old")] for method in ("OPTIONS", "PROPFIND")},
    **{f"3: an answer to {method} is not reused": [
        Step(method=method, reply=Reply(list(FRESH))), Step(method=method, reply=Reply(list(FRESH))), miss()]
       for method in ("FOO", "OPTIONS", "REPORT")},
    "9.3.3: an answer to POST with Content-Location and freshness is reused for GET": [
        unsafe("POST", "Content-Location: {base}", *FRESH, "Content-Type: text/plain"), hit()],
    "9.3.3: without a type too": [unsafe("POST", "Content-Location: {base}", *FRESH), hit()],
    "9.3.3: and for HEAD": [
        unsafe("POST", "Content-Location: {base}", *FRESH), hit(method="HEAD", has=["Content-Length: 6"])],
    "9.3.3: Expires is freshness": [
        unsafe("POST", "Content-Location: {base}", f"Expires: {at(3600)}", f"Date: {at(0)}"), hit()],
    "9.3.3: not without freshness": [
        unsafe("POST", "Content-Location: {base}", f"Last-Modified: {at(-1e6)}", f"Date: {at(0)}"), miss()],
    "9.3.3: not without Content-Location": [unsafe("POST", *FRESH), miss()],
    "9.3.3: not with another Content-Location": [unsafe("POST", "Content-Location: {base}/a", *FRESH), miss()],
    "9.3.3: not with no-store": [unsafe("POST", "Content-Location: {base}", *FRESH, "Cache-Control: no-store"), miss()],
    "9.3.3: not what is private, for others": [
        unsafe("POST", "Content-Location: {base}", "Cache-Control: private, max-age=3600"), miss()],
    "9.3.3: a POST is never answered from what is stored": [
        unsafe("POST", "Content-Location: {base}", *FRESH), unsafe("POST", "Content-Location: {base}", *FRESH)],
    "9.3.3: fields that private names are not for others": [
        unsafe("POST", "Content-Location: {base}", 'Cache-Control: private="X-A", max-age=3600', "X-A: 1", "X-B: 2"),
        hit(has=["X-B: 2"], lacks=["X-A"])],
}


@pytest.mark.parametrize("name", CASES)
def test_invalidation(shared_cache, name):
    shared_cache.run(CASES[name])
