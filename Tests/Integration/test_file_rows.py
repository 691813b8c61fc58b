"""Files, ranges and partial content: faults that users met in systems of this kind."""

import concurrent.futures
import gzip
import hashlib
import http.client
import random
import re
import socket
import threading
import time

import pytest

from service import eventually, receipt


def get(holdfast, range=None, target="/a", **headers):
    if range:
        headers["Range"] = range
    return holdfast.call("GET", "/files" + target, headers=headers)


def sha(body):
    return hashlib.sha256(body).hexdigest()


def body_files(holdfast):
    return [p for p in (holdfast.data / "bodies").rglob("*") if p.is_file()]


def test_R01_a_part_is_not_the_whole(file_origin, holdfast_with):
    origin = file_origin(3_000_000)
    holdfast = holdfast_with(origin=origin.url)
    part = get(holdfast, "bytes=0-499")
    assert (part.status, part.body) == (206, origin.body[:500])
    eventually(lambda: holdfast.call("GET", "/cache/entry?target=/a").status == 200)
    whole = get(holdfast)
    assert (whole.status, sha(whole.body)) == (200, origin.digest)
    eventually(lambda: "hit" in get(holdfast).headers["Cache-Status"])
    assert origin.sent == 3_000_000  # each byte once
    assert origin.asked[1] == "bytes=262144-" and origin.conditions[1] == '"1"'


def test_R03_any_range_has_the_bytes_that_it_names(file_origin, holdfast_with):
    origin = file_origin(1_500_000)
    holdfast = holdfast_with(origin=origin.url)
    chance = random.Random(3)
    for number in range(200):
        first = chance.randrange(1_500_000)
        last = min(first + chance.choice([0, 1, 9, 5_000, 400_000]), 1_499_999)
        answer = get(holdfast, f"bytes={first}-{last}")
        assert answer.status == 206
        assert answer.headers["Content-Range"] == f"bytes {first}-{last}/1500000"
        assert answer.body == origin.body[first:last + 1]
    # Nothing that was here is asked for again, but for what lies between two missing bytes of one range.
    assert origin.sent < 2 * 1_500_000
    assert sha(get(holdfast).body) == origin.digest


def test_R05_no_range_of_what_is_gone(file_origin, holdfast_with):
    origin = file_origin(1_000, **{"Cache-Control": "max-age=0"})
    holdfast = holdfast_with(origin=origin.url)
    assert get(holdfast).status == 200
    origin.is_gone = True
    assert get(holdfast, "bytes=0-9").status == 404


@pytest.mark.parametrize("text, status", [
    ("bytes=", 200), ("bytes=9-1", 200), ("bytes=a-b", 200), ("bytes=" + ",".join(["0-0"] * 2_000), 200),
    ("bytes=0-5,2-9,4-7", 206), ("bytes=5000-", 416), ("bytes=-0", 416), ("pages=1-2", 200)])
def test_R07_malformed_ranges(file_origin, holdfast_with, text, status):
    origin = file_origin(1_000)
    holdfast = holdfast_with(origin=origin.url)
    get(holdfast)
    answer = get(holdfast, text)
    assert answer.status == status
    if status == 416:
        assert answer.headers["Content-Range"] == "bytes */1000"
    if status == 206:
        assert answer.body == origin.body[:10]
    assert get(holdfast, "bytes=0-0").body == origin.body[:1]


def test_R09_an_origin_that_ignores_ranges(file_origin, holdfast_with):
    origin = file_origin(1_000_000)
    origin.knows_ranges = False
    holdfast = holdfast_with(origin=origin.url)
    answer = get(holdfast, "bytes=5-9")
    assert (answer.status, answer.body) == (206, origin.body[5:10])
    assert answer.headers["Content-Length"] == "5"
    eventually(lambda: "hit" in get(holdfast, "bytes=5-9").headers["Cache-Status"])
    assert origin.sent <= 2_000_000


def test_R11_a_part_in_answer_to_a_plain_read(origin, holdfast):
    origin.put("/a", b"0123456789", content_type="text/plain")
    origin.order(method="GET", path="/a", status=206, body=b"01234",
                 headers={"Content-Range": "bytes 0-4/10", "ETag": '"x"', "Cache-Control": "max-age=60"})
    assert get(holdfast).status == 206
    answer = get(holdfast)
    assert (answer.status, answer.body) == (200, b"0123456789")


@pytest.mark.parametrize("tag", ['"1"', None])
def test_R13_a_body_that_was_cut(file_origin, holdfast_with, tag):
    origin = file_origin(1_000_000, tag=tag)
    origin.cut_after = 900_000
    holdfast = holdfast_with(origin=origin.url)
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        get(holdfast)
    eventually(lambda: len(body_files(holdfast)) == (1 if tag else 0))
    origin.cut_after = None
    sent = origin.sent
    answer = get(holdfast)
    assert (answer.status, sha(answer.body)) == (200, origin.digest)
    assert origin.sent - sent == (100_000 if tag else 1_000_000)
    eventually(lambda: "hit" in get(holdfast).headers["Cache-Status"])
    eventually(lambda: len(body_files(holdfast)) == 1)


def test_R13_those_who_share_a_download_see_no_break_where_the_origin_knows_ranges(file_origin, holdfast_with):
    origin = file_origin(8_000_000, **{"Accept-Ranges": "bytes"})
    origin.gate = threading.Event()
    origin.cut_after = 3_000_000
    holdfast = holdfast_with(origin=origin.url)
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        clients = [pool.submit(lambda: sha(get(holdfast).body)) for _ in range(10)]
        eventually(lambda: holdfast.call("GET", "/cache").json()["misses"] == 10)
        origin.gate.set()
        assert {client.result(30) for client in clients} == {origin.digest}
    assert origin.asked == [None, "bytes=3000000-", "bytes=6000000-"]
    assert origin.conditions == [None, '"1"', '"1"']
    assert origin.sent == 8_000_000


def test_an_entry_tells_which_parts_are_here(file_origin, holdfast_with):
    origin = file_origin(3_000_000)
    holdfast = holdfast_with(origin=origin.url)
    for text in ("bytes=0-9", "bytes=1000000-1000009"):
        assert get(holdfast, text).status == 206
    ahead = 262_144
    eventually(lambda: holdfast.call("GET", "/cache/entry?target=/a").json().get("parts") == [{
        "validator": '"1"', "size": 3_000_000, "held": 2 * ahead,
        "ranges": [f"0-{ahead - 1}", f"1000000-{1_000_000 + ahead - 1}"]}])
    assert sha(get(holdfast).body) == origin.digest
    eventually(lambda: "parts" not in holdfast.call("GET", "/cache/entry?target=/a").json())


@pytest.mark.parametrize("length", [10_000, 100_000, 5_000_000, 50_000_000])
def test_R15_hits_are_as_whole_as_misses(file_origin, holdfast_with, length):
    origin = file_origin(length)
    holdfast = holdfast_with(origin=origin.url)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: sha(get(holdfast).body), range(4)))
    answers.append(sha(get(holdfast).body))
    holdfast.restart()
    answers.append(sha(get(holdfast).body))
    assert set(answers) == {origin.digest}


def test_R19_a_slice_of_an_encoded_body_is_not_decoded(file_origin, holdfast_with):
    origin = file_origin(1, **{"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})
    origin.body = gzip.compress(bytes(range(256)) * 100)
    holdfast = holdfast_with(origin=origin.url)
    for text in ("bytes=3-9", "bytes=0-20", "bytes=-5"):
        first, last = re.fullmatch(r"bytes=(\d*)-(\d*)", text).groups()
        expected = origin.body[int(first):int(last) + 1] if first else origin.body[-int(last):]
        answer = get(holdfast, text, **{"Accept-Encoding": "gzip"})
        assert (answer.status, answer.body) == (206, expected)
        assert answer.headers["Content-Encoding"] == "gzip"
    assert get(holdfast, **{"Accept-Encoding": "gzip"}).body == origin.body


def test_R23_a_file_is_sent_before_the_record_that_names_it(origin, holdfast):
    origin.stop()
    file = holdfast.call("POST", "/files/attachments", b"\x00\xff a picture", {"Content-Type": "image/png"})
    receipt(file)
    target = file.headers["Location"].removeprefix("/files")
    receipt(holdfast.post("/records", {"picture": target}))
    origin.start()
    holdfast.await_drained()
    assert [w.path for w in origin.writes()] == ["/attachments", "/records"]
    assert origin.json("/records/2")["picture"] == "/attachments/1"


def test_H05_ranges_and_whole_reads_around_the_expiry(file_origin, holdfast_with):
    origin = file_origin(600_000, **{"Cache-Control": "max-age=1"})
    holdfast = holdfast_with(origin=origin.url)
    for version in ('"1"', '"2"', '"3"'):
        origin.tag, origin.body = version, bytes(byte ^ 1 for byte in origin.body)
        eventually(lambda: get(holdfast, "bytes=0-9").headers["ETag"] == version, every=0.1)
        assert get(holdfast, "bytes=0-9").body == origin.body[:10]
        assert sha(get(holdfast).body) == origin.digest
        assert get(holdfast, "bytes=599990-").body == origin.body[-10:]


def test_H31_a_slow_first_client_slows_nobody(file_origin, holdfast_with):
    origin = file_origin(16_000_000)
    origin.gate = threading.Event()
    holdfast = holdfast_with(origin=origin.url)
    with socket.create_connection(("127.0.0.1", holdfast.port)) as slow:
        slow.sendall(b"GET /files/a HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n")
        eventually(lambda: origin.asked)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            others = [pool.submit(lambda: sha(get(holdfast).body)) for _ in range(20)]
            eventually(lambda: holdfast.call("GET", "/cache").json()["misses"] == 21)
            origin.gate.set()
            slow.recv(1)
            started = time.monotonic()
            assert {other.result(30) for other in others} == {origin.digest}
            assert time.monotonic() - started < 30
    assert len(origin.asked) == 1
