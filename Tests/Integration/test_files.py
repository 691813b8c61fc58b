"""Large bodies: uploads in parts, digests, damaged files, disk use, paths on disk."""

import base64
import contextlib
import hashlib
import http.client
import os
import pathlib
import random
import socket
import stat
import subprocess

import pytest

from cache_lab import Reply
from service import eventually, receipt

BINARY_TYPE = {"Content-Type": "application/octet-stream"}


def noise(length, seed=1):
    return random.Random(seed).randbytes(length)


def digest(body, algorithm="sha256"):
    return f"{algorithm[:3]}-{algorithm[3:]}=:{base64.b64encode(hashlib.new(algorithm, body).digest()).decode()}:"


def put_file(holdfast, target, body, **headers):
    return holdfast.call("PUT", "/files" + target, body, {**BINARY_TYPE, **headers})


def file(holdfast, target, **headers):
    return holdfast.call("GET", "/files" + target, headers={n.replace("_", "-"): v for n, v in headers.items()})


def body_file(holdfast, body):
    name = hashlib.sha256(body).hexdigest()
    return holdfast.data / "bodies" / name[:2] / name


def damage(path):
    """Other bytes, with size and times as before."""
    before = path.stat()
    path.chmod(0o600)
    with open(path, "r+b") as opened:
        opened.seek(before.st_size // 2)
        opened.write(b"damaged!")
    path.chmod(0o400)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def disk(folder):
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def body_bytes(holdfast):
    return sum(p.stat().st_size for p in (holdfast.data / "bodies").rglob("*") if p.is_file())


def temporary(holdfast):
    return list((holdfast.data / "bodies/tmp").iterdir())


# uploads


def test_an_upload_goes_on_after_a_broken_connection_and_kill_9(origin, holdfast):
    body = noise(3_000_000)
    location = holdfast.call("POST", "/cache/uploads", headers={
        "Content-Type": "image/png", "Upload-Length": str(len(body))}).headers["Location"]
    with socket.create_connection(("127.0.0.1", holdfast.port)) as broken:
        broken.sendall(f"PATCH {location} HTTP/1.1\r\nHost: localhost\r\nUpload-Offset: 0\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:1_500_000])
        eventually(lambda: offset(holdfast, location) == 1_500_000)
    holdfast.restart()
    assert offset(holdfast, location) == 1_500_000
    early = put_file(holdfast, "/a.png", None, Upload=location.rsplit("/", 1)[1])
    assert (early.status, early.json()["type"]) == (409, "/problems/upload-incomplete")
    rest = holdfast.call("PATCH", location, body[1_500_000:], {"Upload-Offset": "1500000"})
    assert (rest.status, rest.headers["Upload-Offset"]) == (204, str(len(body)))
    used = holdfast.call("PUT", "/files/a.png", headers={"Upload": location.rsplit("/", 1)[1]})
    assert used.status == 201
    assert origin.seen("PUT")[0].body == body
    assert origin.seen("PUT")[0].headers["content-type"] == "image/png"
    assert "upload" not in origin.seen("PUT")[0].headers
    assert holdfast.call("HEAD", location).status == 404
    assert not list((holdfast.data / "uploads").iterdir())


def offset(holdfast, location):
    return int(holdfast.call("HEAD", location).headers["Upload-Offset"])


def test_a_used_upload_survives_kill_9_in_the_queue(origin, holdfast):
    body = noise(1_000_000)
    origin.stop()
    location = holdfast.call("POST", "/cache/uploads", body, BINARY_TYPE).headers["Location"]
    identifier = receipt(holdfast.call("PUT", "/files/a", headers={"Upload": location.rsplit("/", 1)[1]}))
    holdfast.restart()
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.seen("PUT")[-1].body == body


# digests


ALGORITHMS = pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
FIELDS = pytest.mark.parametrize("field", ["Repr-Digest", "Content-Digest"])


def test_a_body_for_which_there_is_no_room_is_refused_before_it_is_sent(holdfast_with):
    holdfast = holdfast_with(maxStoreSize="1MiB")
    holdfast.go(True)

    def expect(length):
        with socket.create_connection(("127.0.0.1", holdfast.port), timeout=10) as connection:
            connection.sendall(b"PUT /files/new HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\n"
                               b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % length)
            return int(connection.recv(65536).split()[1])

    assert expect(2_000_000) == 413
    assert expect(500_000) == 100
    receipt(put_file(holdfast, "/held", noise(600_000)))
    assert expect(500_000) == 507
    assert expect(300_000) == 100


def chunks(body):
    """The body without a length, which http.client sends in chunks."""
    return (body[start:start + 1_000_000] for start in range(0, len(body), 1_000_000))


@ALGORITHMS
@FIELDS
@pytest.mark.parametrize("length, has_length", [(500_000, True), (20_000_000, True), (2_000_000, False)])
def test_a_streamed_body_with_a_wrong_digest_never_arrives_whole(
        origin, holdfast, algorithm, field, length, has_length):
    body = noise(length)
    sent = (lambda: body) if has_length else (lambda: chunks(body))
    answer = put_file(holdfast, "/a", sent(), **{field: digest(body[:-1] + b"x", algorithm)})
    assert (answer.status, answer.json()["type"]) == (400, "/problems/bad-request")
    assert "/a" not in origin.documents
    assert put_file(holdfast, "/a", sent(), **{field: digest(body, algorithm)}).status == 201
    assert origin.documents["/a"].body == body
    assert origin.seen("PUT")[-1].headers[field.lower()] == digest(body, algorithm)


@ALGORITHMS
@FIELDS
def test_a_wrong_digest_offline_leaves_nothing(origin, holdfast, algorithm, field):
    origin.stop()
    body = noise(500_000)
    assert put_file(holdfast, "/a", body, **{field: digest(b"x", algorithm)}).status == 400
    assert not holdfast.operations()
    eventually(lambda: body_bytes(holdfast) == 0)
    assert not temporary(holdfast)


@ALGORITHMS
@FIELDS
def test_what_was_accepted_with_a_digest_is_delivered_with_one(origin, holdfast, algorithm, field):
    origin.stop()
    body = noise(500_000)
    identifier = receipt(put_file(holdfast, "/a", body, **{field: digest(body, algorithm)}))
    holdfast.restart()
    origin.start()
    holdfast.await_state(identifier, "delivered")
    # The SHA-256 that the body is kept under stands in for another one.
    assert (origin.seen("PUT")[-1].headers[field.lower()], origin.documents["/a"].body) == (digest(body), body)


@ALGORITHMS
def test_an_upload_in_parts_is_held_against_its_digests(origin, holdfast, algorithm):
    body = noise(900_000)
    location = holdfast.call("POST", "/cache/uploads", headers={"Content-Type": "image/png"}).headers["Location"]

    def part(start, end, stated):
        return holdfast.call("PATCH", location, body[start:end], {
            "Upload-Offset": str(start), "Content-Digest": digest(stated, algorithm)}).status

    assert part(0, 500_000, body) == 400
    assert offset(holdfast, location) == 0
    assert (part(0, 500_000, body[:500_000]), part(500_000, 900_000, body[500_000:])) == (204, 204)
    uses = {"Upload": location.rsplit("/", 1)[1]}
    assert holdfast.call("PUT", "/files/a", headers={**uses, "Repr-Digest": digest(b"x", algorithm)}).status == 400
    assert "/a" not in origin.documents
    assert holdfast.call("PUT", "/files/a", headers={**uses, "Repr-Digest": digest(body, algorithm)}).status == 201
    assert origin.documents["/a"].body == body


@ALGORITHMS
def test_a_large_answer_of_other_bytes_than_its_digest_says_is_never_whole_nor_kept(file_origin, holdfast_with, algorithm):
    origin = file_origin(20_000_000)
    holdfast = holdfast_with(origin=origin.url)
    origin.headers["Repr-Digest"] = digest(b"x", algorithm)
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        file(holdfast, "/a")
    eventually(lambda: not temporary(holdfast) and not body_bytes(holdfast))
    origin.headers["Repr-Digest"] = digest(origin.body, algorithm)
    assert file(holdfast, "/a").body == origin.body


@ALGORITHMS
def test_parts_of_other_bytes_than_the_digest_of_the_whole_are_given_up(file_origin, holdfast_with, algorithm):
    origin = file_origin(3_000_000)
    holdfast = holdfast_with(origin=origin.url)
    origin.headers["Repr-Digest"] = digest(b"x", algorithm)
    for text in ("bytes=0-999999", "bytes=1000000-1999999", "bytes=2000000-2999999"):
        assert file(holdfast, "/a", Range=text).status == 206
    eventually(lambda: not body_bytes(holdfast))
    origin.headers["Repr-Digest"] = digest(origin.body, algorithm)
    for text in ("bytes=0-999999", "bytes=1000000-1999999", "bytes=2000000-2999999"):
        assert file(holdfast, "/a", Range=text).status == 206
    eventually(lambda: "hit" in file(holdfast, "/a", Range="bytes=0-0").headers["Cache-Status"])
    assert file(holdfast, "/a").body == origin.body


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_an_answer_of_other_bytes_than_its_digest_says_is_never_whole_nor_kept(origin, holdfast, algorithm):
    body = noise(400_000)
    origin.headers["Repr-Digest"] = digest(body, algorithm)
    origin.put("/a", body[:-1] + b"x", content_type="image/png")
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        file(holdfast, "/a")
    eventually(lambda: not temporary(holdfast) and not body_bytes(holdfast))
    origin.put("/a", body, content_type="image/png")
    assert file(holdfast, "/a").body == body
    origin.stop()
    assert file(holdfast, "/a").body == body


def test_the_digest_of_what_is_kept_is_sent_to_who_wants_it(origin, holdfast):
    body = noise(400_000)
    origin.put("/a", body, content_type="image/png")
    file(holdfast, "/a")
    origin.stop()
    read = file(holdfast, "/a", Range="bytes=5-9", Want_Repr_Digest="sha-256=1")
    assert (read.status, read.headers["Repr-Digest"]) == (206, digest(body))


# damage


@pytest.mark.parametrize("freshness", ["max-age=3600", "no-cache"])
def test_M07_a_damaged_copy_is_set_aside_and_fetched_again(origin, holdfast, freshness):
    body = noise(400_000)
    origin.put("/a", body, content_type="image/png")
    origin.headers["Cache-Control"] = freshness
    file(holdfast, "/a")
    holdfast.kill()
    damage(body_file(holdfast, body))
    origin.stop()
    holdfast.start()
    refused = file(holdfast, "/a")
    assert (refused.status, refused.json()["type"]) == (500, "/problems/store-failed")
    assert holdfast.call("GET", "/health/ready").json()["status"] == "degraded"
    assert holdfast.call("GET", "/cache").json()["sizes"]["damagedBodies"] == 1
    origin.start()
    assert eventually(lambda: (answer := file(holdfast, "/a")).status == 200 and answer).body == body
    origin.stop()
    assert eventually(lambda: (answer := file(holdfast, "/a")).status == 200 and answer).body == body
    eventually(lambda: holdfast.call("GET", "/health/ready").json()["status"] == "ready")


def test_M07_a_damaged_body_that_waits_is_never_sent(origin, holdfast):
    body = noise(400_000)
    origin.stop()
    identifier = receipt(put_file(holdfast, "/a", body))
    holdfast.kill()
    damage(body_file(holdfast, body))
    origin.start()
    holdfast.start()
    assert holdfast.await_state(identifier, "failed")["reason"] == "body"
    assert not origin.seen("PUT")
    assert holdfast.call("GET", "/health/ready").json()["store"] == "damaged"
    # The one who has the bytes still can mend it.
    assert put_file(holdfast, "/a", body).status in (200, 201, 202)
    eventually(lambda: "/a" in origin.documents and origin.documents["/a"].body == body)
    eventually(lambda: holdfast.call("GET", "/health/ready").json()["store"] == "ok")


# disk


@pytest.mark.parametrize("kind", ["copy", "edit"])
def test_a_body_that_is_shortened_on_disk_while_the_service_runs_is_never_whole(origin, holdfast, kind):
    body = noise(1_000_000)
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/a", body, content_type="application/octet-stream")
    if kind == "edit":
        origin.stop()
        receipt(put_file(holdfast, "/a", body))
    assert file(holdfast, "/a").body == body  # compared with its digest by now
    os.truncate(body_file(holdfast, body), 600_000)
    for first in (0, 500_000, 700_000):
        with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
            answer = file(holdfast, "/a", range=f"bytes={first}-")
            assert answer.status >= 500 or (answer.status, answer.body) == (206, body[first:])
    if kind == "copy":
        eventually(lambda: (answer := holdfast.attempt("GET", "/files/a")) and answer.body == body)


def test_bytes_that_many_refer_to_are_stored_and_counted_once(origin, holdfast):
    body = noise(2_000_000)
    for name in ("/a", "/b", "/c"):
        origin.put(name, body, content_type="image/png")
        file(holdfast, name)
    origin.stop()
    for name in ("/d", "/e"):
        receipt(put_file(holdfast, name, body))
    assert body_bytes(holdfast) == len(body)
    sizes = holdfast.call("GET", "/cache").json()["sizes"]
    assert len(body) <= sizes["copies"] + sizes["operations"] < len(body) + 50_000


def test_sizes_agree_with_what_the_disk_says(origin, holdfast):
    empty = disk(holdfast.data)
    for number in range(20):
        origin.put(f"/f{number}", noise(300_000 + number, number), content_type="image/png")
        file(holdfast, f"/f{number}")
    origin.stop()
    for number in range(20, 40):
        receipt(put_file(holdfast, f"/f{number}", noise(200_000 + number, number)))
    sizes = holdfast.call("GET", "/cache").json()["sizes"]
    counted, used = sizes["copies"] + sizes["operations"], disk(holdfast.data) - empty
    assert abs(used - counted) < 0.05 * counted + 4_500_000, (used, counted)  # blocks, and the write-ahead log
    holdfast.call("DELETE", "/cache/entries")
    for operation in holdfast.operations():
        holdfast.call("DELETE", f"/cache/operations/{operation['id']}")
    eventually(lambda: body_bytes(holdfast) == 0)
    sizes = holdfast.call("GET", "/cache").json()["sizes"]
    assert sizes["copies"] == 0 and sizes["operations"] < 100_000


def test_M15_changes_of_a_record_do_not_store_its_file_again(origin, holdfast):
    put_file(holdfast, "/file", noise(10_000_000))
    origin.put("/record", {"file": "/file", "n": 0})
    holdfast.get("/record")
    origin.stop()
    before = disk(holdfast.data / "bodies")
    for number in range(50):
        receipt(holdfast.patch("/record", {"n": number}))
    assert disk(holdfast.data / "bodies") - before < 1_000_000
    origin.start()
    holdfast.await_drained(30)
    assert disk(holdfast.data / "bodies") - before < 1_000_000
    assert origin.json("/record")["n"] == 49


def test_R13_a_cut_download_without_a_strong_tag_leaves_no_file(origin, holdfast):
    origin.script("/a", Reply(['ETag: W/"1"'], body=noise(2_000_000), cut="within"))
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        file(holdfast, "/a")
    eventually(lambda: not temporary(holdfast) and not body_bytes(holdfast))


def test_files_of_unfinished_work_are_removed_at_start(origin, holdfast):
    body = noise(2_000_000)
    with socket.create_connection(("127.0.0.1", holdfast.port)) as stalled:
        stalled.sendall(f"PUT /files/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:1_500_000])
        eventually(lambda: temporary(holdfast))
        holdfast.restart()
        eventually(lambda: not temporary(holdfast))


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    if os.getuid() != 0 or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """Takes the last byte of a disk; the file that has it."""
    path = folder / "filler"
    with open(path, "wb", buffering=0) as opened:
        try:
            while opened.write(bytes(4096)):
                pass
        except OSError:
            pass
    return path


@pytest.mark.parametrize("length", [1_000, 100_000])
def test_copies_can_be_removed_from_a_full_disk(origin, small_disk, holdfast_with, length):
    holdfast = holdfast_with(data=small_disk / "data")
    for number in range(40):
        origin.put(f"/f{number}", noise(length, number), content_type="image/png")
        file(holdfast, f"/f{number}")
    filler = fill(small_disk)
    origin.stop()
    refused = put_file(holdfast, "/new", noise(2_000_000))
    assert (refused.status, refused.json()["type"]) in ((507, "/problems/store-full"), (507, "/problems/store-failed"))
    assert file(holdfast, "/f1").body == noise(length, 1)
    removed = holdfast.call("DELETE", "/cache/entries")
    assert (removed.status, removed.json()) == (200, {"evicted": 40})
    assert holdfast.call("GET", "/cache").json()["entries"] == 0
    filler.unlink()
    receipt(put_file(holdfast, "/new", noise(2_000_000)))


def test_E13_a_start_on_a_full_disk_serves_what_is_kept(origin, small_disk, holdfast_with):
    holdfast = holdfast_with(data=small_disk / "data")
    origin.put("/a", noise(100_000), content_type="image/png")
    file(holdfast, "/a")
    holdfast.kill()
    filler = fill(small_disk)
    origin.stop()
    holdfast.start()
    assert file(holdfast, "/a").body == noise(100_000)
    refused = put_file(holdfast, "/b", noise(6_000_000))
    assert refused.status == 507
    filler.unlink()
    receipt(put_file(holdfast, "/b", noise(6_000_000)))
    eventually(lambda: holdfast.call("GET", "/health/ready").json()["status"] == "ready")


# paths


@pytest.mark.parametrize("length", [100, 300_000])
def test_paths_lead_to_the_effective_and_the_servers_bytes(origin, holdfast, length):
    theirs, mine = noise(length, 1), noise(length, 2)
    origin.put("/a", theirs, content_type="image/png")
    file(holdfast, "/a")
    origin.stop()
    receipt(put_file(holdfast, "/a", mine))
    entry = holdfast.call("GET", "/cache/entry?target=/a").json()
    for version, body in (("serverCopy", theirs), ("localEdit", mine)):
        path = pathlib.Path(entry[version]["path"])
        assert path.is_absolute() and path.read_bytes() == body
        assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert "path" not in holdfast.call("GET", "/cache/entries").json()["items"][0]["serverCopy"]


def test_paths_need_a_full_token(origin, holdfast_with):
    holdfast = holdfast_with(accessTokens=["full-token-1", {"token": "read-token-1", "readOnly": True}])
    origin.put("/a", noise(300_000), content_type="image/png")
    holdfast.call("GET", "/files/a", headers={"Holdfast-Token": "full-token-1"})
    for token, shown in (("full-token-1", True), ("read-token-1", False)):
        entry = holdfast.call("GET", "/cache/entry?target=/a", headers={"Holdfast-Token": token}).json()
        assert ("path" in entry["serverCopy"]) == shown
