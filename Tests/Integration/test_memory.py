"""Memory does not depend on the size of bodies."""

import http.client

import pytest

from service import receipt, stays

SIZE = 128 << 20
BOUND = 32 << 20
KIND = {"Content-Type": "application/octet-stream", "Content-Length": str(SIZE)}


def pieces():
    return (bytes([number]) * (1 << 20) for number in range(SIZE >> 20))


def upload(holdfast, target):
    return holdfast.call("PUT", target, pieces(), KIND, timeout=60)


def test_a_large_upload_is_passed_on_piece_by_piece(origin, holdfast):
    holdfast.get("/nothing")
    before = holdfast.memory()
    assert upload(holdfast, "/files/big").status == 201
    assert holdfast.memory() - before < BOUND
    assert len(origin.documents["/big"].body) == SIZE


def test_a_large_queued_upload_goes_to_disk_and_from_there_to_the_origin(origin, holdfast):
    origin.stop()
    receipt(holdfast.put("/items/1", {"n": 1}))
    before = holdfast.memory()
    identifier = receipt(upload(holdfast, "/files/big"))
    assert holdfast.memory() - before < BOUND
    origin.start()
    holdfast.await_state(identifier, "delivered", 30)
    assert holdfast.memory() - before < BOUND
    assert origin.documents["/big"].body == b"".join(pieces())


def test_a_large_download_is_stored_and_served_piece_by_piece(origin, holdfast):
    origin.put("/big", b"".join(pieces()), content_type="application/octet-stream")
    origin.headers["Cache-Control"] = "max-age=600"
    holdfast.get("/nothing")
    before = holdfast.memory()
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", holdfast.port, timeout=30)
        connection.request("GET", "/files/big")
        answer = connection.getresponse()
        assert all(answer.read(len(piece)) == piece for piece in pieces())
        assert not answer.read(1)
        connection.close()
        assert holdfast.memory() - before < BOUND
    assert len(origin.seen("GET", "/big")) == 1


@pytest.mark.parametrize("control", ["max-age=600", "no-store"])
def test_a_download_waits_for_a_client_that_reads_nothing_yet(origin, holdfast, control):
    origin.put("/big", b"".join(pieces()), content_type="application/octet-stream")
    origin.headers["Cache-Control"] = control
    holdfast.get("/nothing")
    before = holdfast.memory()
    connection = http.client.HTTPConnection("127.0.0.1", holdfast.port, timeout=30)
    connection.request("GET", "/files/big")
    stays(lambda: holdfast.memory() - before < BOUND, 2)
    answer = connection.getresponse()
    assert all(answer.read(len(piece)) == piece for piece in pieces())
    connection.close()
