"""RFC 9111 4.2, 5.1, 5.3 and RFC 9110 5.6.7: how long a stored answer is fresh."""

import pytest

from cache_lab import FRESH, STALE, at, confirmed, first, hit, miss

FUTURE = "Thu, 18 Aug 2050 02:01:18 GMT"


def fresh(*fields, **more):
    return [first(*fields, **more), hit()]


def stale(*fields, **more):
    return [first(*fields, **more), miss()]


MAX_AGE = {
    "4.2.1: max-age is a lifetime": fresh("Cache-Control: max-age=3600"),
    "4.2.1: without freshness or validator nothing is reused": stale(),
    "4.2.1: max-age=0 is stale": stale("Cache-Control: max-age=0"),
    "1.2.2: a max-age of 2^31": fresh("Cache-Control: max-age=2147483648"),
    "1.2.2: a max-age beyond 2^31": fresh("Cache-Control: max-age=99999999999"),
    "5.2: a directive that nobody knows is passed over": fresh("Cache-Control: foobar, max-age=3600, x=y"),
    "5.2: names have no case": fresh("Cache-Control: MaX-aGe=3600"),
    "5.2: a quoted lifetime": fresh('Cache-Control: max-age="3600"'),
    "5.2: leading zeros": fresh("Cache-Control: max-age=003600"),
    "5.2: space and empty members in the list": fresh("Cache-Control:  ,\tpublic ,, max-age=3600\t,"),
    "5.2: several lines are one list": fresh("Cache-Control: public", "Cache-Control: max-age=3600"),
    "5.2: single quotes are none": stale("Cache-Control: max-age='3600'"),
    "5.2: space before = makes it unreadable": stale("Cache-Control: max-age =3600"),
    "5.2: space after = makes it unreadable": stale("Cache-Control: max-age= 3600"),
    "4.2.1: negative": stale("Cache-Control: max-age=-3600"),
    "4.2.1: decimal": stale("Cache-Control: max-age=3600.0"),
    "4.2.1: letters in front": stale("Cache-Control: max-age=a3600"),
    "4.2.1: letters behind": stale("Cache-Control: max-age=3600a"),
    "4.2.1: no value": stale("Cache-Control: max-age="),
    "4.2.1: what stands in a quoted string is no directive, in front": stale(
        'Cache-Control: extension="max-age=3600", max-age=0'),
    "4.2.1: what stands in a quoted string is no directive, behind": stale(
        'Cache-Control: max-age=0, extension="a, max-age=3600"'),
    "4.2.1: of two lifetimes the shorter counts, one line": stale("Cache-Control: max-age=3600, max-age=0"),
    "4.2.1: of two lifetimes the shorter counts, two lines": stale(
        "Cache-Control: max-age=0", "Cache-Control: max-age=3600"),
    "4.2.1: an unreadable lifetime beside a readable one": stale("Cache-Control: max-age=3600, max-age=x"),
    "4.2.1: max-age goes before a past Expires": fresh(
        "Cache-Control: max-age=3600", f"Expires: {at(-7200)}", f"Date: {at(0)}"),
    "4.2.1: max-age goes before an invalid Expires": fresh(
        "Cache-Control: max-age=3600", "Expires: 0", f"Date: {at(0)}"),
    "4.2.1: max-age=0 goes before a future Expires": stale(
        "Cache-Control: max-age=0", f"Expires: {at(7200)}", f"Date: {at(0)}"),
    "4.2.3: an Age beyond the lifetime": stale("Cache-Control: max-age=3600", "Age: 7200"),
    "4.2.3: a Date in the past counts as age": stale("Cache-Control: max-age=3600", f"Date: {at(-7200)}"),
    "4.2.3: a Date in the future doesn't lengthen it": fresh("Cache-Control: max-age=3600", f"Date: {at(7200)}"),
    "5.2.2.10: s-maxage is a lifetime for all": fresh("Cache-Control: s-maxage=3600"),
    "4.2.1: s-maxage wins over max-age, shorter": stale("Cache-Control: s-maxage=0, max-age=3600"),
    "4.2.1: s-maxage wins over max-age, longer": fresh("Cache-Control: max-age=0, s-maxage=3600"),
    "4.2.1: s-maxage wins over Expires": fresh(
        "Cache-Control: s-maxage=3600", f"Expires: {at(-7200)}", f"Date: {at(0)}"),
    "4.2.1: a negative s-maxage": stale("Cache-Control: max-age=3600, s-maxage=-1"),
    "8246 2: immutable is no lifetime": stale("Cache-Control: immutable"),
    "8246 2: immutable beside a lifetime": fresh("Cache-Control: max-age=3600, immutable"),
}

EXPIRES = {
    "5.3: in the future": fresh(f"Expires: {at(3600)}", f"Date: {at(0)}"),
    "5.3: in the past": stale(f"Expires: {at(-3600)}", f"Date: {at(0)}"),
    "5.3: now": stale(f"Expires: {at(0)}", f"Date: {at(0)}"),
    "5.3: without Date": fresh(f"Expires: {at(3600)}"),
    "5.3: 0 is in the past": stale("Expires: 0", f"Date: {at(0)}", f"Last-Modified: {at(-1e6)}"),
    "5.3: -1 is in the past": stale("Expires: -1", f"Date: {at(0)}"),
    "5.3: an empty one is in the past": stale("Expires: ", f"Last-Modified: {at(-1e6)}"),
    "5.3: far ahead": fresh("Expires: Sun, 21 Nov 2286 04:46:39 GMT", f"Date: {at(0)}"),
    "5.3: counted from a slow Date": fresh(f"Expires: {at(3600)}", f"Date: {at(-100)}"),
    "5.3: before a fast Date": stale(f"Expires: {at(3600)}", f"Date: {at(7200)}"),
    "5.3: Age counts": stale(f"Expires: {at(3600)}", f"Date: {at(0)}", "Age: 7200"),
    "5.3: both in the past": stale(f"Expires: {at(-3600)}", f"Date: {at(-7200)}"),
    "5.6.7: RFC 850 form": fresh("Expires: Thursday, 18-Aug-50 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: asctime form": fresh("Expires: Thu Aug 18 02:01:18 2050", f"Date: {at(0)}"),
    "5.6.7: a two-digit year more than 50 years ahead is past": stale(
        "Expires: Thursday, 18-Aug-94 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: week day in capitals": fresh("Expires: THU, 18 Aug 2050 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: month in capitals": fresh("Expires: Thu, 18 AUG 2050 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: zone in another case": fresh("Expires: Thu, 18 Aug 2050 02:01:18 gMT", f"Date: {at(0)}"),
    "5.6.7: UTC": fresh("Expires: Thu, 18 Aug 2050 02:01:18 UTC", f"Date: {at(0)}"),
    "5.6.7: two digits in the new form": fresh("Expires: Thu, 18 Aug 50 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: no comma": fresh("Expires: Thu 18 Aug 2050 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: more spaces": fresh("Expires: Thu, 18  Aug  2050 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: dashes": fresh("Expires: Thu, 18-Aug-2050 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: one digit of an hour": fresh("Expires: Thu, 18 Aug 2050 2:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: points in the time": stale("Expires: Thu, 18 Aug 2050 02.01.18 GMT", f"Date: {at(0)}"),
    "5.6.7: another zone": stale("Expires: Thu, 18 Aug 2050 02:01:18 CET", f"Date: {at(0)}"),
    "5.6.7: a day that is none": stale("Expires: Thu, 32 Aug 2050 02:01:18 GMT", f"Date: {at(0)}"),
    "5.6.7: a number": stale("Expires: 2544314478", f"Date: {at(0)}"),
    "4.2.1: the first of two counts, or it is stale": stale("Expires: 0", f"Expires: {FUTURE}", f"Date: {at(0)}"),
}

AGE = {
    "5.1: no number is passed over": [first(*FRESH, "Age: abc"), hit(age=range(0, 60))],
    "5.1: negative is passed over": [first(*FRESH, "Age: -7200"), hit(age=range(0, 60))],
    "5.1: decimal is passed over": [first(*FRESH, "Age: 7200.0"), hit(age=range(0, 60))],
    "5.1: empty is passed over": [first(*FRESH, "Age: "), hit(age=range(0, 60))],
    "5.1: the first member counts, old": stale(*FRESH, "Age: 7200,0"),
    "5.1: the first member counts, new": [first(*FRESH, "Age: 0, 7200"), hit(age=range(0, 60))],
    "5.1: the first line counts, old": stale(*FRESH, "Age: 7200", "Age: 0"),
    "5.1: the first line counts, new": [first(*FRESH, "Age: 0", "Age: 7200"), hit(age=range(0, 60))],
    "5.1: twice the same, new": [first(*FRESH, "Age: 0, 0"), hit(age=range(0, 60))],
    "5.1: twice the same, old": stale(*FRESH, "Age: 7200", "Age: 7200"),
    "1.2.2: huge": stale(*FRESH, "Age: 99999999999999999999999"),
    "4: a stored answer has an Age": [first(*FRESH), hit(has=["Age"], age=range(0, 60))],
    "4.2.3: the Age received counts on": [first(*FRESH, "Age: 30"), hit(age=range(30, 90))],
    "4.2.3: a Date of the past counts": [first(*FRESH, f"Date: {at(-1000)}"), hit(age=range(1000, 1060))],
    "4.2.3: the larger of both": [first(*FRESH, f"Date: {at(-1000)}", "Age: 2000"), hit(age=range(2000, 2060))],
    "4.2.3: a fast Date is no negative age": [first(*FRESH, f"Date: {at(500)}"), hit(age=range(0, 60))],
    "6.6.1: Date is not rewritten": [
        first(f"Date: {(moment := at(-100))}", *FRESH), hit(has=[f"Date: {moment}"])],
    "4.3.4: the Age after a validation is new": [
        first(*STALE, 'ETag: "a"'), confirmed(*FRESH, f"Date: {at(0)}", has=["Age"], age=range(0, 60)),
        hit(age=range(0, 60))],
    "5.1: an answer that was just fetched keeps the Age it came with": [first(*FRESH, "Age: 30", has=["Age: 30"])],
}

HEURISTIC = {f"4.2.2: {status} may be fresh by Last-Modified": [
    first(f"Last-Modified: {at(-1e6)}", f"Date: {at(0)}", status=status, **({"body": b""} if status == 204 else {})),
    hit(status=status)] for status in (200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501)}
HEURISTIC |= {f"4.2.2: {status} may not": [
    first(f"Last-Modified: {at(-1e6)}", f"Date: {at(0)}", status=status), miss()]
    for status in (201, 202, 302, 303, 307, 400, 403, 500, 502, 503, 504, 599)}
HEURISTIC |= {
    "4.2.2: public allows it for any status": fresh(
        f"Last-Modified: {at(-1e6)}", "Cache-Control: public", status=599),
    "4.2.2: a tenth of the time since the change": [
        first(f"Last-Modified: {at(-1000)}", f"Date: {at(0)}", "Age: 50"), hit()],
    "4.2.2: not longer": stale(f"Last-Modified: {at(-1000)}", f"Date: {at(0)}", "Age: 150"),
    "4.2.2: a day at most": stale(f"Last-Modified: {at(-1e8)}", f"Date: {at(0)}", "Age: 90000"),
    "4.2.2: with a query": [
        first(f"Last-Modified: {at(-1e6)}", f"Date: {at(0)}", target="?a=1"), hit(target="?a=1")],
    "4.2.2: an attachment": fresh(
        f"Last-Modified: {at(-1e6)}", "Content-Disposition: attachment; filename=example.txt"),
    "4.2.2: a Last-Modified of the future": stale(f"Last-Modified: {at(3600)}", f"Date: {at(0)}"),
    "4.2.2: an unreadable Last-Modified": stale("Last-Modified: yesterday", f"Date: {at(0)}"),
    "4.2.2: not where there is explicit freshness": stale(
        f"Last-Modified: {at(-1e6)}", f"Date: {at(0)}", "Cache-Control: max-age=0"),
}

CASES = {**MAX_AGE, **EXPIRES, **AGE, **HEURISTIC}


@pytest.mark.parametrize("name", CASES)
def test_freshness(shared_cache, name):
    shared_cache.run(CASES[name])
