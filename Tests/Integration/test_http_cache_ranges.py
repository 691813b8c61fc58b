"""RFC 9110 13.1.5, 14 and 15.3.7, RFC 9111 3.3: parts of what is stored."""

import pytest

from cache_lab import FRESH, Reply, Step, at, first, hit, miss

OLD = "Sun, 06 Nov 1994 08:49:37 GMT"
BODY = b"0123456789"


def whole(*fields, **more):
    return first(*FRESH, *fields, body=BODY, **more)


def part(text, body, *more, **has):
    return hit(f"Range: {text}", *more, status=206, body=body, **has)


def ranged(text, body, content_range):
    return [whole(), part(text, body, has=[f"Content-Range: {content_range}", f"Content-Length: {len(body)}"])]


def conditional(fields, condition, applies):
    """Whether a range is given under a condition; else all of it."""
    status, body = (206, b"01") if applies else (200, BODY)
    return [whole(*fields), hit("Range: bytes=0-1", f"If-Range: {condition}", status=status, body=body)]


RANGES = {
    "14.1.2: from one byte to another": ranged("bytes=2-4", b"234", "bytes 2-4/10"),
    "14.1.2: to the end": ranged("bytes=7-", b"789", "bytes 7-9/10"),
    "14.1.2: the last bytes": ranged("bytes=-3", b"789", "bytes 7-9/10"),
    "14.1.2: more of the last bytes than there are": ranged("bytes=-99", BODY, "bytes 0-9/10"),
    "14.1.2: an end beyond the last byte": ranged("bytes=8-99", b"89", "bytes 8-9/10"),
    "14.1: the unit has no case": ranged("BYTES=0-1", b"01", "bytes 0-1/10"),
    "15.3.7: of several ranges one is there": ranged("bytes=0-1,50-60", b"01", "bytes 0-1/10"),
    "15.3.7: a part has the fields of the whole": [
        whole('ETag: "a"', "Vary: A", "Content-Location: {base}", f"Date: {at(0)}"),
        part("bytes=0-1", b"01", has=["ETag", "Vary", "Content-Location", "Date", "Cache-Control", "Content-Range"])],
    "15.5.17: a range beyond the end": [
        whole(), hit("Range: bytes=10-", status=416, has=["Content-Range: bytes */10"])],
    "14.2: another unit is passed over": [whole(), hit("Range: lines=0-1", status=200, body=BODY)],
    "14.2: a range that can't be read is passed over": [whole(), hit("Range: bytes=4-2", status=200, body=BODY)],
    "14.2: HEAD has no ranges": [whole(), hit("Range: bytes=0-1", method="HEAD", status=200, has=["Content-Length: 10"])],
    "13.2.1: nor has what is stored of an error": [
        whole(status=404), hit("Range: bytes=0-1", status=404, body=BODY)],
    "13.2.2: If-None-Match goes before Range": [
        whole('ETag: "a"'), hit("Range: bytes=0-1", 'If-None-Match: "a"', status=304)],
}
MOMENT = at(-500)
IF_RANGE = {
    "a strong tag": (['ETag: "a"'], '"a"', True),
    "another tag": (['ETag: "a"'], '"b"', False),
    "a weak tag": (['ETag: W/"a"'], 'W/"a"', False),
    "a list of tags": (['ETag: "a"'], '"a", "b"', False),
    "what is neither tag nor date": (['ETag: "a"'], "a", False),
    "a date": ([f"Last-Modified: {OLD}", f"Date: {at(0)}"], OLD, True),
    "a later date": ([f"Last-Modified: {OLD}", f"Date: {at(0)}"], at(0), False),
    "an earlier date": ([f"Last-Modified: {at(-1000)}", f"Date: {at(0)}"], OLD, False),
    "a date where there is none": ([], OLD, False),
    "a date of the second in which it was current": (
        [f"Last-Modified: {MOMENT}", f"Date: {MOMENT}"], MOMENT, False)}
RANGES |= {f"13.1.5: If-Range, {name}": conditional(*case) for name, case in IF_RANGE.items()}
RANGES |= {
    "13.1.5: If-Range without Range means nothing": [
        whole('ETag: "a"'), hit('If-Range: "b"', status=200, body=BODY)],
    "15.3.7: a part that nobody asked for is not stored": [
        Step(reply=Reply([*FRESH, 'ETag: "a"', "Content-Range: bytes 0-3/10"], 206, b"0123"), status=206), miss()],
    "14.4: a Content-Range that can't be is passed on, and nothing stored": [
        Step(sends=["Range: bytes=2-3"], reply=Reply([*FRESH, 'ETag: "a"', "Content-Range: bytes 9-2/10"], 206, b"abcd"),
             status=206), miss()],
    "14.4: so is a part in another unit": [
        Step(sends=["Range: lines=0-1"], reply=Reply([*FRESH, 'ETag: "a"', "Content-Range: lines 0-1/9"], 206, b"abcd"),
             status=206), miss()],
    "14.4: Content-Range of a whole answer means nothing and is not kept": [
        whole("Content-Range: bytes 0-3/100"), hit(lacks=["Content-Range"], body=BODY),
        part("bytes=8-", b"89", has=["Content-Range: bytes 8-9/10"])],
    "15.5.17: 416 is not given again to who asks for another range": [
        Step(sends=["Range: bytes=50-"], reply=Reply([*FRESH, "Content-Range: bytes */10"], 416, b"no"), status=416),
        Step(reply=Reply(FRESH, body=BODY))],
}
CASES = RANGES


@pytest.mark.parametrize("name", CASES)
def test_ranges(shared_cache, name):
    shared_cache.run(CASES[name])
