"""RFC 9111 3.2, 4.3 and RFC 9110 13: validation, and what its answers change."""

import pytest

from cache_lab import FRESH, STALE, Reply, Step, at, confirmed, first, hit, miss

OLD, LATER, NEWEST = (f"Sun, 06 Nov {year} 08:49:37 GMT" for year in (1994, 2001, 2011))


def tagged(tag, condition, matches):
    """A fresh answer of a tag, and a client's condition."""
    answer = hit(f"If-None-Match: {condition}", status=304, has=[f"ETag: {tag}"], lacks=["Content-Length"])
    return [first(f"ETag: {tag}", *FRESH), answer if matches else hit(f"If-None-Match: {condition}", status=200)]


def dated(date, condition, matches, *more):
    lines = [f"Last-Modified: {date}"] if date else []
    return [first(*lines, *FRESH, *more), hit(f"If-Modified-Since: {condition}", status=304 if matches else 200)]


TAGS = {
    "strong": tagged('"a"', '"a"', True),
    "another": tagged('"a"', '"b"', False),
    "weak": tagged('W/"a"', 'W/"a"', True),
    "a strong one against a weak one": tagged('"a"', 'W/"a"', True),
    "a weak one against a strong one": tagged('W/"a"', '"a"', True),
    "first of several": tagged('"a"', '"a", "1", "2"', True),
    "middle of several": tagged('"a"', '"1", "a", "2"', True),
    "last of several": tagged('"a"', '"1","2" ,"a"', True),
    "none of several": tagged('"a"', '"1", "2"', False),
    "*": tagged('"a"', "*", True),
    "with a comma": tagged('"a,b"', '"1", "a,b"', True),
    "the part behind a comma is none": tagged('"b"', '"a,b"', False),
    "a backslash is no escape": tagged('"a\\"', '"a\\", "1"', True),
    "beyond ASCII": [first('ETag: "grün"', *FRESH), hit('If-None-Match: "grün"', status=304)],
    "unquoted both times": tagged("a", "a", True),
    "unquoted and quoted differ": tagged("a", '"a"', False),
    "quoted and unquoted differ": tagged('"a"', "a", False),
    "a small w": tagged('w/"a"', 'w/"a"', True),
    "W without slash": tagged('W"a"', 'W"a"', True),
    "an open quote": tagged('"a"', '"a', False),
    "empty": tagged('""', '""', True),
    "letters have case": tagged('"a"', '"A"', False),
}
TAGS |= {
    "in two lines": [first('ETag: "a"', *FRESH), hit('If-None-Match: "1"', 'If-None-Match: "a"', status=304)],
    "before If-Modified-Since, equal": [
        first('ETag: "a"', f"Last-Modified: {LATER}", *FRESH),
        hit('If-None-Match: "a"', f"If-Modified-Since: {OLD}", status=304)],
    "before If-Modified-Since, different": [
        first('ETag: "a"', f"Last-Modified: {OLD}", *FRESH),
        hit('If-None-Match: "b"', f"If-Modified-Since: {LATER}", status=200)],
}

DATES = {
    "the same": dated(OLD, OLD, True),
    "later": dated(OLD, LATER, True),
    "earlier": dated(LATER, OLD, False),
    "in the form of RFC 850": dated(OLD, "Sunday, 06-Nov-94 08:49:37 GMT", True),
    "of asctime": dated(OLD, "Sun Nov  6 08:49:37 1994", True),
    "unreadable": dated(OLD, "yesterday", False),
    "without Last-Modified the Date counts": dated(None, at(0), True, f"Date: {at(-100)}"),
    "before the Date, without Last-Modified": dated(None, at(-200), False, f"Date: {at(-100)}"),
    "without both the time of receipt counts": dated(None, at(100), True),
    "before receipt, without both": dated(None, OLD, False),
}

ASKED = {
    "4.3.1: a strong tag": [first('ETag: "a"', *STALE), confirmed(asked=['If-None-Match: "a"'])],
    "4.3.1: a weak tag": [first('ETag: W/"a"', *STALE), confirmed(asked=['If-None-Match: W/"a"'])],
    "4.3.1: an unquoted tag as it came": [first("ETag: a", *STALE), confirmed(asked=["If-None-Match: a"])],
    "4.3.1: a date byte for byte": [
        first("Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT", *STALE),
        confirmed(asked=["If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT"])],
    "4.3.1: both": [first('ETag: "a"', f"Last-Modified: {OLD}", *STALE),
                    confirmed(asked=['If-None-Match: "a"', f"If-Modified-Since: {OLD}"])],
    "4.3.1: nothing where there is no validator": [first(*STALE), miss(unasked=["If-None-Match", "If-Modified-Since"])],
    "4.3.1: the client's own conditions go where nothing is stored": [
        miss('If-None-Match: "a"', f"If-Modified-Since: {OLD}",
             asked=['If-None-Match: "a"', f"If-Modified-Since: {OLD}"])],
    "4.3.1: unquoted too": [miss("If-None-Match: a", asked=["If-None-Match: a"])],
    "4.3.3: the origin's 304 goes to the client whose condition was sent on": [
        Step(sends=['If-None-Match: "a"'], reply=Reply(['ETag: "a"'], 304), status=304)],
    "4.3.3: a 304 that nobody asked for is an error": [
        Step(reply=Reply(['ETag: "a"'], 304), status=502, expect="refused")],
    "4.3.3: a full answer replaces the stored one": [
        first('ETag: "a"', *STALE), first('ETag: "b"', *FRESH), hit(body=b"body 2", has=['ETag: "b"'])],
    "4.3.3: an error of the origin is passed on": [
        first('ETag: "a"', "Cache-Control: max-age=60, must-revalidate", "Age: 90"),
        first(status=503, body=b"broken")],
    "4.3.2: a stale answer is confirmed first, then the client's tag": [
        first('ETag: "a"', *STALE), confirmed(*FRESH, sends=['If-None-Match: "a"'], status=304)],
    "4.3.2: the client's tag is another": [
        first('ETag: "a"', *STALE), confirmed(*FRESH, sends=['If-None-Match: "b"'], status=200)],
    "4.3.2: the client's tag is of the new answer": [
        first('ETag: "a"', *STALE),
        Step(sends=['If-None-Match: "b"'], reply=Reply(['ETag: "b"', *FRESH]), status=304, asked=['If-None-Match: "a"']),
        hit(body=b"body 2")],
    "4.3.2: the client's date, stored answer confirmed": [
        first(f"Last-Modified: {OLD}", *STALE), confirmed(*FRESH, sends=[f"If-Modified-Since: {OLD}"], status=304)],
}
CHANGED = [
    ("Test-Header", "a", "b"), ("X-Test-Header", "a", "b"), ("Content-Foo", "a", "b"), ("X-Content-Foo", "a", "b"),
    ("Content-Type", "text/plain", "text/plain;charset=utf-8"),
    ("Content-MD5", "rL0Y20zC+Fzt72VPzMSk2A==", "N7UdGUp1E+RbVvZSTy1R8g=="), ("Content-Location", "/foo", "/bar"),
    ("Content-Security-Policy", "default-src 'self'", "default-src 'self' cdn.example.com"),
    ("X-Frame-Options", "deny", "sameorigin"), ("X-XSS-Protection", "1", "1; mode=block"),
    ("Expires", at(-1000), at(3600)), ("Clear-Site-Data", "cache", "cookies"), ("Public-Key-Pins", "a", "b"),
    ("Content-Language", "de", "fr")]
KEPT = [("Content-Encoding", "gzip", "br"), ("Content-Length", "6", "60")]


def updating(name, before, after, shown):
    if shown == "/bar":
        shown = "{route}/bar"
    life = [] if name == "Expires" else STALE
    then = [] if name == "Expires" else FRESH
    for kind, validator in (("a tag", 'ETag: "a"'), ("a date", f"Last-Modified: {OLD}")):
        yield f"3.2: {name}, confirmed by {kind}", [
            first(f"{name}: {before}", validator, *life),
            confirmed(f"{name}: {after}", validator, *then, has=[f"{name}: {shown}"]), hit(has=[f"{name}: {shown}"])]


UPDATED = {name: steps for line in CHANGED for name, steps in updating(*line, line[2])}
UPDATED |= {name + " is as it was": steps for line in KEPT for name, steps in updating(*line, line[1])}
UPDATED |= {
    "3.2: Cache-Control is replaced": [
        first('ETag: "a"', "Cache-Control: max-age=1", "Age: 9"),
        confirmed("Cache-Control: max-age=3600", has=["Cache-Control: max-age=3600"]),
        hit(has=["Cache-Control: max-age=3600"])],
    "3.2: all lines of a name are replaced": [
        first('ETag: "a"', "X-A: 1", "X-A: 2", *STALE), confirmed("X-A: 3", *FRESH, has=["X-A: 3"]), hit(has=["X-A: 3"])],
    "3.2: what a 304 leaves out stays": [
        first('ETag: "a"', "X-A: 1", *STALE), confirmed(*FRESH, has=["X-A: 1"]), hit(has=["X-A: 1"])],
    "3.2: fields that Connection names are not taken": [
        first('ETag: "a"', "X-A: 1", *STALE), confirmed(*FRESH, "Connection: X-B, close", "X-B: 1"), hit(lacks=["X-B"])],
    "4.3.4: a 304 of another strong tag changes nothing": [
        first('ETag: "a"', "Cache-Control: max-age=60, must-revalidate", "Age: 90"),
        Step("refused", reply=Reply(['ETag: "b"', "X-A: 1"], 304), status=502)],
    "4.3.4: a weak tag of the same text confirms": [
        first('ETag: W/"a"', *STALE), confirmed('ETag: "a"', *FRESH), hit()],
    "4.3.4: a 304 without validator confirms the only one": [first('ETag: "a"', *STALE), confirmed(*FRESH), hit()],
    "4.3.4: a 304 may end the freshness": [first('ETag: "a"', *STALE), confirmed("Cache-Control: no-cache"), confirmed()],
}

HEAD = {
    "4.3.5: HEAD is answered from a stored GET": [
        first(*FRESH, "X-A: 1"), hit(method="HEAD", has=["X-A: 1", "Content-Length: 6"])],
    "4.3.5: HEAD goes on as HEAD where the stored answer is stale": [first(*STALE), miss(method="HEAD")],
    "4.3.5: an agreeing answer to HEAD renews the stored GET": [
        first(*STALE, 'ETag: "a"', "X-A: 1", "X-B: 1", body=b"kept"),
        first(*FRESH, 'ETag: "a"', "X-A: 2", "Content-Length: 4", method="HEAD"),
        hit(body=b"kept", has=["X-A: 2", "X-B: 1"])],
    "4.3.5: without validators too": [
        first(*STALE, "X-A: 1", body=b"kept"), first(*FRESH, "X-A: 2", "Content-Length: 4", method="HEAD"),
        hit(body=b"kept", has=["X-A: 2"])],
    "4.3.5: another tag makes the stored GET invalid": [
        first(*FRESH, 'ETag: "a"'),
        first(*FRESH, 'ETag: "b"', "Content-Length: 6", method="HEAD", sends=["Cache-Control: no-cache"]), miss()],
    "4.3.5: another date makes it invalid": [
        first(*FRESH, f"Last-Modified: {OLD}"),
        first(*FRESH, f"Last-Modified: {LATER}", "Content-Length: 6", method="HEAD", sends=["Cache-Control: no-cache"]),
        miss()],
    "4.3.5: another length makes it invalid": [
        first(*FRESH, body=b"kept"), first(*FRESH, "Content-Length: 5", method="HEAD", sends=["Cache-Control: no-cache"]),
        miss()],
    "4.3.5: 410 to HEAD makes it invalid": [
        first(*FRESH), first(*FRESH, status=410, method="HEAD", sends=["Cache-Control: no-cache"]), miss()],
    "4.3.5: an error to HEAD leaves it": [
        first(*FRESH), first(status=500, method="HEAD", sends=["Cache-Control: no-cache"]), hit(body=b"body 1")],
    "4.3.5: 304 to HEAD renews": [
        first(*STALE, 'ETag: "a"'), confirmed(*FRESH, "X-A: 2", method="HEAD"), hit(has=["X-A: 2"])],
    "3: an answer to HEAD is no answer to GET": [first(*FRESH, method="HEAD"), miss()],
}

CASES = {**{f"13.1.2: If-None-Match, {name}": steps for name, steps in TAGS.items()},
         **{f"4.3.2: If-Modified-Since, {name}": steps for name, steps in DATES.items()}, **ASKED, **UPDATED, **HEAD}


@pytest.mark.parametrize("name", CASES)
def test_validation(shared_cache, name):
    shared_cache.run(CASES[name])
