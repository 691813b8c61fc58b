"""RFC 9111 5.2.1 and 5.4: what a client may ask of the cache, and RFC 9213: what is said to caches of a kind."""

import pytest

from cache_lab import FRESH, STALE, Reply, Step, at, confirmed, first, hit, miss


def asking(directives, answer, outcome, *answer_lines):
    return [first(f"Cache-Control: {answer}", *answer_lines), outcome(f"Cache-Control: {directives}")]


def gateway(*sends):
    return Step("refused", sends=list(sends), status=504)


AGED = "Age: 1800"
DIRECTIVES = {
    "5.2.1.1: max-age=0 asks for a validation": asking("max-age=0", "max-age=3600", miss),
    "5.2.1.1: max-age=1 for something older": asking("max-age=1", "max-age=3600", miss, AGED),
    "5.2.1.1: a max-age above the age": asking("max-age=2400", "max-age=3600", hit, AGED),
    "5.2.1.1: with a tag it is a validation": [
        first(*FRESH, 'ETag: "a"'), confirmed(*FRESH, sends=["Cache-Control: max-age=0"], asked=['If-None-Match: "a"'])],
    "5.2.1.1: max-stale doesn't lift max-age": asking("max-age=1000, max-stale=9999", "max-age=3600", miss, AGED),
    "5.2.1.2: max-stale takes any staleness": asking("max-stale", "max-age=1500", hit, AGED),
    "5.2.1.2: max-stale above the staleness": asking("max-stale=1000", "max-age=1500", hit, AGED),
    "5.2.1.2: max-stale below the staleness": asking("max-stale=200", "max-age=1500", miss, AGED),
    "5.2.1.2: an unreadable max-stale": asking("max-stale=x", "max-age=1500", miss, AGED),
    "5.2.1.2: max-stale never goes over must-revalidate": asking("max-stale=9999", "max-age=1500, must-revalidate", miss, AGED),
    "5.2.1.2: nor proxy-revalidate": asking("max-stale=9999", "max-age=1500, proxy-revalidate", miss, AGED),
    "5.2.1.2: nor s-maxage": asking("max-stale=9999", "s-maxage=1500", miss, AGED),
    "5.2.1.2: nor no-cache": asking("max-stale=9999", "max-age=1500, no-cache", miss, AGED),
    "5.2.1.3: min-fresh above the freshness left": asking("min-fresh=2000", "max-age=3600", miss, AGED),
    "5.2.1.3: min-fresh below the freshness left": asking("min-fresh=1000", "max-age=3600", hit, AGED),
    "5.2.1.4: no-cache": asking("no-cache", "max-age=3600", miss),
    "5.2.1.4: No-Cache": asking("No-Cache", "max-age=3600", miss),
    "5.2.1.4: no-cache goes before max-stale": asking("no-cache, max-stale", "max-age=3600", miss),
    "5.2.1.4: immutable gives way to no-cache": asking("no-cache", "max-age=3600, immutable", miss),
    "5.2.1.5: the answer to no-store is not stored": [first(*FRESH, sends=["Cache-Control: no-store"]), miss()],
    "5.2.1.5: nor a confirmation to it": [
        first(*STALE, 'ETag: "a"'), confirmed(*FRESH, sends=["Cache-Control: no-store"]), confirmed(*FRESH)],
    "5.2.1.6: no-transform goes to the origin": [
        miss("Cache-Control: no-transform", asked=["Cache-Control: no-transform"])],
    "5.2.1.7: only-if-cached with a fresh answer": asking("only-if-cached", "max-age=3600", hit),
    "5.2.1.7: only-if-cached with nothing": [gateway("Cache-Control: only-if-cached")],
    "5.2.1.7: only-if-cached with a stale answer": [first(*STALE), gateway("Cache-Control: only-if-cached")],
    "5.2.1.7: only-if-cached with a stale answer and max-stale": [
        first(*STALE), hit("Cache-Control: only-if-cached, max-stale")],
    "5.2.1.7: only-if-cached with another variant": [
        first(*FRESH, "Vary: A", sends=["A: 1"]), gateway("Cache-Control: only-if-cached", "A: 2")],
    "5.2.1: a directive that is not known": asking("foo=bar", "max-age=3600", hit),
    "5.4: Pragma: no-cache is no-cache": [first(*FRESH), miss("Pragma: no-cache")],
    "5.4: Pragma is passed over beside Cache-Control": [first(*FRESH), hit("Pragma: no-cache", "Cache-Control: max-age=9999")],
    "5.4: another Pragma": [first(*FRESH), hit("Pragma: foo")],
    "5.2.1.1: two lines": [first("Cache-Control: max-age=3600", AGED),
                           miss("Cache-Control: max-stale=5", "Cache-Control: max-age=1000")],
}


def cdn(value, outcome, *lines):
    return [first(f"CDN-Cache-Control: {value}", *lines), outcome()]


TARGETED = {
    "2.1: max-age": cdn("max-age=3600", hit),
    "2.1: a max-age of 2^31": cdn("max-age=2147483648", hit),
    "2.1: a max-age beyond it": cdn("max-age=99999999999", hit),
    "2.1: Age counts": cdn("max-age=3600", miss, f"Date: {at(0)}", "Age: 7200"),
    "2.1: max-age=0": cdn("max-age=0", miss),
    "2.1: a directive that is not known": cdn("foobar, max-age=3600", hit),
    "2.1: parameters are passed over": cdn("max-age=3600;a=1", hit),
    "2.1: the last of two": cdn("max-age=0, max-age=3600", hit),
    "2.1: space before = is malformed": cdn("max-age =3600", miss, "Cache-Control: max-age=0"),
    "2.1: space behind = is malformed": cdn("max-age= 3600", miss, "Cache-Control: max-age=0"),
    "2.1: a key in capitals is malformed": cdn("MaX-aGe=3600", miss, "Cache-Control: max-age=0"),
    "2.1: a value of another type counts for nothing": cdn('max-age="3600"', miss, "Cache-Control: no-store"),
    "2.1: what can't be read is passed over, no-store stays": cdn("max-age=3600, &&&&&", miss, "Cache-Control: no-store"),
    "2.1: what can't be read is passed over, max-age stays": cdn("max-age=0, &&&&&", hit, "Cache-Control: max-age=3600"),
    "2.1: an empty one is passed over": cdn("", hit, "Cache-Control: max-age=3600"),
    "2.2: Expires is passed over, past": cdn("max-age=3600", hit, f"Expires: {at(-9999)}", f"Date: {at(0)}"),
    "2.2: Expires is passed over, invalid": cdn("max-age=3600", hit, "Expires: 0", f"Date: {at(0)}"),
    "2.2: Expires is passed over, future": cdn("max-age=0", miss, f"Expires: {at(9999)}", f"Date: {at(0)}"),
    "2.2: goes before a short Cache-Control": cdn("max-age=3600", hit, "Cache-Control: max-age=0"),
    "2.2: goes before a long Cache-Control": cdn("max-age=0", miss, "Cache-Control: max-age=3600"),
    "2.2: private": cdn("private", miss, "Cache-Control: max-age=9999", f"Expires: {at(9999)}"),
    "2.2: no-cache": cdn("no-cache", miss, "Cache-Control: max-age=9999", f"Expires: {at(9999)}"),
    "2.2: no-store": cdn("no-store", miss, "Cache-Control: max-age=9999", f"Expires: {at(9999)}"),
    "2.2: goes before no-store": cdn("max-age=9999", hit, "Cache-Control: no-store"),
    "2.2: goes before private with names": [
        first("CDN-Cache-Control: max-age=3600", 'Cache-Control: private="X-A"', "X-A: 1"), hit(has=["X-A: 1"])],
    "2.2: its own no-cache with names": [
        first('CDN-Cache-Control: max-age=3600, no-cache="x-a"', "X-A: 1"), hit(lacks=["X-A"])],
    "2.2: s-maxage of Cache-Control has no say on stale answers": [
        first("CDN-Cache-Control: max-age=3600", "Cache-Control: s-maxage=1", "Age: 7200"),
        hit("Cache-Control: max-stale")],
    "2.2: an answer to POST": [
        Step(method="POST", content=b"a", reply=Reply(
            ["Content-Location: {base}", "CDN-Cache-Control: max-age=3600", "Cache-Control: no-store"])), hit()],
    "2.3: the field stays in the answer": [first("CDN-Cache-Control: foo", *FRESH, has=["CDN-Cache-Control: foo"])],
}

CASES = {**DIRECTIVES, **{f"9213 {name}": steps for name, steps in TARGETED.items()}}


@pytest.mark.parametrize("name", CASES)
def test_requests(shared_cache, name):
    shared_cache.run(CASES[name])
