"""RFC 9111 4.1: which of several stored answers is for a request."""

import pytest

from cache_lab import FRESH, STALE, at, confirmed, first, hit, miss


def varied(vary, before, after, selects, *more):
    """Whether the answer to the fields `before` is used for the fields `after`."""
    lines = [vary] if isinstance(vary, str) else vary
    return [first(*FRESH, *lines, *more, sends=before), (hit if selects else miss)(*after)]


SELECTING = {
    "the same value": varied("Vary: Foo", ["Foo: 1"], ["Foo: 1"], True),
    "another value": varied("Vary: Foo", ["Foo: 1"], ["Foo: 2"], False),
    "a value left out": varied("Vary: Foo", ["Foo: 1"], [], False),
    "a value that was left out": varied("Vary: Foo", [], ["Foo: 1"], False),
    "both left out": varied("Vary: Foo", [], [], True),
    "an empty value is not none": varied("Vary: Foo", ["Foo: 1"], ["Foo:"], False),
    "the case of a value counts": varied("Vary: Foo", ["Foo: a"], ["Foo: A"], False),
    "the case of a name doesn't": varied("Vary: fOO", ["Foo: 1"], ["foo: 1"], True),
    "other fields don't count": varied("Vary: Foo", ["Foo: 1", "Other: 2"], ["Foo: 1", "Other: 3"], True),
    "two names": varied("Vary: Foo, Bar", ["Foo: 1", "Bar: abc"], ["Bar: abc", "Foo: 1"], True),
    "two names, one differs": varied("Vary: Foo, Bar", ["Foo: 1", "Bar: abc"], ["Foo: 2", "Bar: abc"], False),
    "two names, one left out": varied("Vary: Foo, Bar", ["Foo: 1", "Bar: 2"], ["Foo: 1"], False),
    "values change places": varied("Vary: Foo, Bar", ["Foo: 1", "Bar: 2"], ["Foo: 2", "Bar: 1"], False),
    "three names": varied("Vary: Foo, Bar, Baz", ["Foo: 1", "Bar: a", "Baz: 7"], ["Foo: 1", "Bar: a", "Baz: 7"], True),
    "three names, the middle one differs": varied(
        "Vary: Foo, Bar, Baz", ["Foo: 1", "Bar: a4", "Baz: 7"], ["Foo: 1", "Bar: a", "Baz: 7"], False),
    "three names, one left out both times": varied(
        "Vary: Foo, Bar, Baz", ["Foo: 1", "Baz: 7"], ["Foo: 1", "Baz: 7"], True),
    "two lines of Vary": varied(["Vary: Foo", "Vary: Bar"], ["Foo: 1", "Bar: 2"], ["Foo: 1", "Bar: 3"], False),
    "two lines of Vary, both the same": varied(["Vary: Foo", "Vary: Bar"], ["Foo: 1", "Bar: 2"], ["Bar: 2", "Foo: 1"], True),
    "names repeated": varied("Vary: Foo, foo,FOO", ["Foo: 1"], ["Foo: 1"], True),
    "empty members": varied("Vary: , Foo ,,", ["Foo: 1"], ["Foo: 2"], False),
    "an empty Vary": varied("Vary:", ["Foo: 1"], ["Foo: 2"], True),
    "fifty names": varied("Vary: " + ", ".join(f"F{n}" for n in range(50)), ["F49: 1"], ["F49: 2"], False),
    "fifty names, all the same": varied("Vary: " + ", ".join(f"F{n}" for n in range(50)), ["F49: 1"], ["F49: 1"], True),
    "*": varied("Vary: *", ["Foo: 1"], ["Foo: 1"], False),
    "* with space": varied("Vary:  * ", ["Foo: 1"], ["Foo: 1"], False),
    "* twice": varied("Vary: *, *", [], [], False),
    "* behind a name": varied("Vary: Foo, *", ["Foo: 1"], ["Foo: 1"], False),
    "* in front of a name": varied("Vary: *, Foo", ["Foo: 1"], ["Foo: 1"], False),
    "* behind an empty member": varied("Vary: , *", [], [], False),
    "* in a second line": varied(["Vary: Foo", "Vary: *"], ["Foo: 1"], ["Foo: 1"], False),
    "* is no name": varied("Vary: *", ["*: 1"], ["*: 1"], False),
    "a hop-by-hop name": varied("Vary: Connection", [], [], True),
}

NORMALISED = {
    "space around commas": varied("Vary: Foo", ["Foo: 1,2"], ["Foo:  1 ,  2 "], True),
    "lines are joined": varied("Vary: Foo", ["Foo: 1, 2"], ["Foo: 1", "Foo: 2"], True),
    "the order of lines counts": varied("Vary: Foo", ["Foo: 1", "Foo: 2"], ["Foo: 2", "Foo: 1"], False),
    "the order of languages": varied("Vary: Accept-Language", ["Accept-Language: en, de"], ["Accept-Language: de, en"], True),
    "the case of languages": varied("Vary: Accept-Language", ["Accept-Language: en, DE"], ["Accept-Language: EN, de"], True),
    "space in languages": varied(
        "Vary: Accept-Language", ["Accept-Language: en,de;q=0.5"], ["Accept-Language:  en , de ; q=0.5"], True),
    "weights of languages": varied(
        "Vary: Accept-Language", ["Accept-Language: en, de;q=0.5"], ["Accept-Language: en;q=0.5, de"], False),
    "a weight of 1 is none": varied(
        "Vary: Accept-Language", ["Accept-Language: en;q=1.0, de"], ["Accept-Language: de;q=1, en"], True),
    "another language": varied("Vary: Accept-Language", ["Accept-Language: en"], ["Accept-Language: de"], False),
    "the order of codings": varied("Vary: Accept-Encoding", ["Accept-Encoding: gzip, br"], ["Accept-Encoding: br,gzip"], True),
    "x-gzip is gzip": varied("Vary: Accept-Encoding", ["Accept-Encoding: gzip"], ["Accept-Encoding: x-gzip"], True),
    "a coding that is refused": varied("Vary: Accept-Encoding", ["Accept-Encoding: gzip"], ["Accept-Encoding: gzip;q=0"], False),
}

ONE, TWO = ["Foo: 1"], ["Foo: 2"]
VARIANTS = {
    "every variant is kept": [
        first(*FRESH, "Vary: Foo", sends=ONE, body=b"one"), first(*FRESH, "Vary: Foo", sends=TWO, body=b"two"),
        hit(*ONE, body=b"one"), hit(*TWO, body=b"two")],
    "many variants are kept": [
        *(first(*FRESH, "Vary: Foo", sends=[f"Foo: {n}"], body=b"%d" % n) for n in range(20)),
        *(hit(f"Foo: {n}", body=b"%d" % n) for n in range(20))],
    "a variant that is validated does not displace another": [
        first(*STALE, "Vary: Foo", 'ETag: "1"', sends=ONE, body=b"one"),
        first(*FRESH, "Vary: Foo", 'ETag: "2"', sends=TWO, body=b"two"),
        confirmed(*FRESH, "Vary: Foo", 'ETag: "1"', sends=ONE, body=b"one"),
        hit(*ONE, body=b"one"), hit(*TWO, body=b"two")],
    "a variant that is replaced does not displace another": [
        first(*STALE, "Vary: Foo", sends=ONE, body=b"one"), first(*FRESH, "Vary: Foo", sends=TWO, body=b"two"),
        first(*FRESH, "Vary: Foo", sends=ONE, body=b"new"), hit(*ONE, body=b"new"), hit(*TWO, body=b"two")],
    "the newest of those that match is used": [
        first(*STALE, body=b"old"), first(*FRESH, "Vary: Foo", sends=ONE, body=b"new"), hit(*ONE, body=b"new")],
    "an answer that varies goes before an older one that doesn't": [
        first(*FRESH, body=b"any"), first(*FRESH, "Vary: Foo", sends=[*ONE, "Cache-Control: no-cache"], body=b"one"),
        hit(*ONE, body=b"one"), hit(*TWO, body=b"any")],
    "4: of those that match the most recent one by Date is used, whichever came last": [
        first(*FRESH, "Vary: Foo", f"Date: {at(0)}", sends=ONE, body=b"newer"),
        first(*FRESH, f"Date: {at(-100)}", sends=TWO, body=b"older"), hit(*ONE, body=b"newer"), hit(*TWO, body=b"older")],
    "4.1: what is prepared for others does not hide a newer variant": [
        first(*FRESH, body=b"any"),
        first(*FRESH, "Vary: Accept-Language", sends=["Accept-Language: de", "Cache-Control: no-cache"], body=b"german"),
        hit("Accept-Language: fr", body=b"any"), hit("Accept-Language: de", body=b"german")],
    "4.1: an answer of Vary: * can be confirmed": [
        first(*FRESH, "Vary: *", 'ETag: "a"', body=b"one"),
        confirmed('ETag: "a"', asked=['If-None-Match: "a"'], body=b"one")],
    "4.3.1: the origin is told of the variants that are stored": [
        first(*FRESH, "Vary: Foo", 'ETag: "1"', sends=ONE, body=b"one"),
        confirmed(*FRESH, "Vary: Foo", 'ETag: "1"', sends=TWO, asked=['If-None-Match: "1"'], body=b"one"),
        hit(*TWO, body=b"one"), hit(*ONE, body=b"one")],
    "4.3.1: the selecting fields of the request go with a validation": [
        first(*STALE, "Vary: Foo", 'ETag: "1"', sends=ONE),
        confirmed(*FRESH, sends=ONE, asked=["Foo: 1", 'If-None-Match: "1"'])],
    "4.3.4: a date confirms no other variant": [
        first(*STALE, "Vary: Foo", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", sends=ONE, body=b"one"),
        first(*STALE, "Vary: Foo", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", sends=TWO, body=b"two"),
        confirmed(*FRESH, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", sends=ONE, body=b"one"),
        hit(*ONE, body=b"one")],
    "4.3.4: a 304 without validator confirms the variant that was asked for": [
        first(*STALE, "Vary: Foo", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", sends=ONE, body=b"one"),
        first(*STALE, "Vary: Foo", "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT", sends=TWO, body=b"two"),
        confirmed(*FRESH, sends=ONE, body=b"one"), hit(*ONE, body=b"one")],
    "4.3.1: no date of another variant is sent": [
        first(*FRESH, "Vary: Foo", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", sends=ONE),
        miss(*TWO, unasked=["If-Modified-Since"])],
    "H07: a 304 that adds to Vary divides from then on": [
        first(*STALE, "Vary: A", 'ETag: "1"', sends=["A: 1", "B: 1"], body=b"one"),
        confirmed(*FRESH, "Vary: A, B", 'ETag: "1"', sends=["A: 1", "B: 1"], body=b"one"),
        hit("A: 1", "B: 1", body=b"one"),
        first(*FRESH, "Vary: A, B", 'ETag: "2"', sends=["A: 1", "B: 2"], body=b"two"),
        hit("A: 1", "B: 1", body=b"one"), hit("A: 1", "B: 2", body=b"two")],
    "H09: Vary: Service": [
        first(*FRESH, "Vary: Service", sends=["Service: a"], body=b"a"),
        first(*FRESH, "Vary: Service", sends=["Service: b"], body=b"b"), hit("Service: a", body=b"a")],
    "H11: Vary with empty, repeated and odd names": [
        first(*FRESH, "Vary: , ,a-b,A-B,\"x\", @, Foo", sends=ONE), hit(*ONE), miss(*TWO)],
    "H21: gzip;q=0 is no acceptance": [
        first(*FRESH, "Vary: Accept-Encoding", "Content-Encoding: gzip", sends=["Accept-Encoding: gzip"], body=b"zip"),
        first(*FRESH, "Vary: Accept-Encoding", sends=["Accept-Encoding: gzip;q=0, identity"], body=b"plain"),
        hit("Accept-Encoding: gzip;q=0, identity", body=b"plain")],
    "H23: variants of a coding keep their own tags": [
        first(*FRESH, "Vary: Accept-Encoding", "Content-Encoding: gzip", 'ETag: "a-gzip"',
              sends=["Accept-Encoding: gzip"], body=b"zip"),
        first(*FRESH, "Vary: Accept-Encoding", 'ETag: "a"', sends=["Accept-Encoding: identity"], body=b"plain"),
        hit("Accept-Encoding: gzip", 'If-None-Match: "a"', body=b"zip", status=200, has=['ETag: "a-gzip"']),
        hit("Accept-Encoding: identity", 'If-None-Match: "a"', status=304)],
}

CASES = {**{f"4.1: {name}": steps for name, steps in {**SELECTING, **NORMALISED}.items()}, **VARIANTS}


@pytest.mark.parametrize("name", CASES)
def test_vary(shared_cache, name):
    shared_cache.run(CASES[name])
