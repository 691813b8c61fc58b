"""RFC 9111 3, 3.1, 3.5 and 5.2.2: what is stored, of which answers and with which fields."""

import pytest

from cache_lab import FRESH, STALE, at, confirmed, first, hit, miss

BODILESS = {204: {"body": b""}}

STATUS = {f"3: {status} with explicit freshness is reused": [
    first(*FRESH, status=status, **BODILESS.get(status, {})), hit(status=status)]
    for status in (200, 201, 202, 203, 204, 299, 300, 301, 302, 303, 307, 308, 400, 402, 404, 405, 409, 410, 414, 451,
                   499, 500, 501, 502, 503, 504, 599)}
STATUS |= {f"3: a stale {status} is not": [
    first(*STALE, status=status, **BODILESS.get(status, {})), miss()]
    for status in (200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599)}
STATUS |= {f"3: {status} is of one moment and never stored": [first(*FRESH, status=status), miss()]
           for status in (401, 403, 407, 408, 421, 425, 429)}

DIRECTIVES = {
    "5.2.2.5: no-store": [first("Cache-Control: no-store"), miss()],
    "5.2.2.5: no-store has no case": [first("Cache-Control: No-StOrE"), miss()],
    "5.2.2.5: no-store goes before freshness": [
        first("Cache-Control: max-age=3600, no-store", f"Expires: {at(3600)}", f"Date: {at(0)}"), miss()],
    "5.2.2.5: no-store with an argument is still one": [first("Cache-Control: no-store=x, max-age=3600"), miss()],
    "5.2.2.5: no-store in a second line": [first(*FRESH, "Cache-Control: no-store"), miss()],
    "5.2.2.3: must-understand lets no-store be passed over where the status is known": [
        first("Cache-Control: must-understand, no-store, max-age=3600"), hit()],
    "5.2.2.3: must-understand forbids to store a status that is not known": [
        first("Cache-Control: must-understand, max-age=3600", status=299), miss()],
    "5.2.2.3: no-store holds for a status that is not known": [
        first("Cache-Control: must-understand, no-store, max-age=3600", status=299), miss()],
    "5.2.2.7: private is not for a shared cache": [first("Cache-Control: private, max-age=3600"), miss()],
    "5.2.2.7: private is for the partition of an identity": [
        first("Cache-Control: private, max-age=3600", sends=["Authorization: Basic YTpi"]),
        hit("Authorization: Basic YTpi")],
    "5.2.2.7: private with names holds for these fields": [
        first('Cache-Control: private="X-A, x-b", max-age=3600', "X-A: 1", "X-B: 2", "X-C: 3",
              has=["X-A: 1", "X-B: 2"]),
        hit(has=["X-C: 3"], lacks=["X-A", "X-B"])],
    "5.2.2.4: no-cache is validated each time": [
        first("Cache-Control: max-age=3600, no-cache", 'ETag: "a"'), confirmed(asked=['If-None-Match: "a"'])],
    "5.2.2.4: no-cache without validator is asked for again": [
        first("Cache-Control: max-age=3600, No-CaChE", f"Expires: {at(3600)}", f"Date: {at(0)}"), miss()],
    "5.2.2.4: no-cache with a name holds for this field": [
        first('Cache-Control: no-cache="a"', *FRESH, "a: 1", "b: 2", has=["a: 1"]), hit(has=["b: 2"], lacks=["a"])],
    "5.2.2.4: no-cache with names holds for these fields": [
        first('Cache-Control: no-cache="a, b"', *FRESH, "a: 1", "b: 2", "c: 3"), hit(has=["c: 3"], lacks=["a", "b"])],
    "5.2.2.4: a field that no-cache names is shown after a validation": [
        first('Cache-Control: no-cache="a", max-age=3600', 'ETag: "1"', "Age: 7200", "a: 1"),
        confirmed('Cache-Control: no-cache="a", max-age=3600', "a: 2", has=["a: 2"]), hit(lacks=["a"])],
    "5.2.2.4: an empty list of names is no-cache": [first('Cache-Control: no-cache="", max-age=3600'), miss()],
    "5.2.2.2: must-revalidate is reused while fresh": [first("Cache-Control: max-age=3600, must-revalidate"), hit()],
    "5.2.2.2: must-revalidate is validated when stale": [
        first("Cache-Control: max-age=3600, must-revalidate", "Age: 7200", 'ETag: "a"'),
        confirmed(asked=['If-None-Match: "a"'])],
    "5.2.2.9: public is no lifetime": [first("Cache-Control: public"), miss()],
    "5.2.3: a directive that is not known changes nothing": [first("Cache-Control: max-age=3600, community=UCI"), hit()],
    "5.4: Pragma in an answer means nothing": [first(*FRESH, "Pragma: no-cache"), hit(has=["Pragma: no-cache"])],
    "3: an older fresh answer stays when a newer one may not be stored": [
        first(*FRESH, body=b"old"), first("Cache-Control: no-store", sends=["Cache-Control: no-cache"]),
        hit(body=b"old")],
}


WHO = ["Authorization: Basic YTpi"]
AUTHORIZATION = {
    "3.5: an answer to Authorization is not for others": [first(*FRESH, sends=WHO), miss()],
    "3.5: nor for another identity": [first(*FRESH, sends=WHO), miss("Authorization: Basic eDp5")],
    "3.5: it is for the same identity": [first(*FRESH, sends=WHO), hit(*WHO)],
    "3.5: what belongs to nobody is not for an identity": [first(*FRESH), miss(*WHO)],
    "3.5: s-maxage and proxy-revalidate are not for the private cache of an identity": [
        first("Cache-Control: max-age=3600, s-maxage=0, proxy-revalidate", sends=WHO), hit(*WHO)],
    "3.5: public does not open the partition of an identity": [
        first("Cache-Control: public, max-age=3600", sends=WHO), miss(), hit(*WHO, body=b"body 1")],
}

ANY = ["Test-Header: v", "X-Test-Header: v", "Content-Foo: v", "X-Content-Foo: v", "Content-Type: text/plain",
       "Content-MD5: rL0Y20zC+Fzt72VPzMSk2A==", "Content-Security-Policy: default-src 'self'", "X-Frame-Options: deny",
       "X-XSS-Protection: 1", "Clear-Site-Data: cookies", "Public-Key-Pins: v", "Strict-Transport-Security: v",
       "WWW-Authenticate: Basic realm=v", "Content-Language: de", "Link: <https://else.test/>; rel=next", "Server: v",
       "Content-Disposition: attachment", 'ETag: "v"', "Vary: X-None", "Warning: 110 - v", "Set-Header: v"]
FIELDS = {f"3.1: {line.split(':')[0]} is kept": [first(line, *FRESH), hit(has=[line])] for line in ANY}
FIELDS |= {f"3.1: {line.split(':')[0]} is not kept": [first(line, *FRESH), hit(lacks=[line.split(":")[0]])] for line in (
    "Keep-Alive: timeout=5", "Proxy-Connection: v", "Upgrade: v", "TE: v", "Proxy-Authenticate: Basic realm=v",
    "Proxy-Authentication-Info: v", "Proxy-Authorization: v", "Trailer: v", "Set-Cookie: a=b", "Set-Cookie2: a=b")}
FIELDS |= {
    "3.1: fields that Connection names are not kept": [
        first("Connection: a, b", "a: 1", "b: 2", "c: 3", *FRESH, lacks=["a", "b"]), hit(has=["c: 3"], lacks=["a", "b"])],
    "3.1: nor those that a second line of it names": [
        first("Connection: A", "connection: b", "a: 1", "b: 2", *FRESH), hit(lacks=["a", "b"])],
    "3.1: Transfer-Encoding is not kept": [
        first(*FRESH, trailers=["x-trailer: 1"]), hit(lacks=["Transfer-Encoding", "x-trailer"], has=["Content-Length"])],
    "3.1: lines of one name stay apart and in order": [first("X-A: 1", "X-A: 2", *FRESH), hit(has=["X-A: 1, 2"])],
    "3.1: a field that nobody knows may be long": [first("X-Long: " + "v" * 60000, *FRESH), hit(has=["X-Long: " + "v" * 60000])],
    "3.1: bytes beyond ASCII stay": [first("X-Text: grün", *FRESH), hit(has=["X-Text"])],
    "7.3: Set-Cookie goes to the one who asked, and not to others": [
        first("Set-Cookie: a=b", *FRESH, has=["Set-Cookie: a=b"]), hit(lacks=["Set-Cookie"])],
    "7.3: Set-Cookie of a confirmation goes to the one who asked": [
        first(*STALE, 'ETag: "1"'), confirmed(*FRESH, "Set-Cookie: a=b", has=["Set-Cookie: a=b"]), hit(lacks=["Set-Cookie"])],
    "2: a field that Vary does not name does not divide the cache": [first(*FRESH), hit("X-Any: a")],
}

CASES = {**STATUS, **DIRECTIVES, **AUTHORIZATION, **FIELDS}


@pytest.mark.parametrize("name", CASES)
def test_storing(shared_cache, name):
    shared_cache.run(CASES[name])
