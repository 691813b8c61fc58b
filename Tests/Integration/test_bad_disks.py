"""Disk, descriptors, memory, clock, folder: a clear error, everything else goes on, and it heals without a restart."""

import hashlib
import os
import pathlib
import resource
import select
import shutil
import socket
import subprocess
import time

import pytest

from service import BINARY, Holdfast, eventually, receipt


@pytest.fixture
def holdfast(origin, faults, holdfast_with):
    """Offline, with a copy of /items/1, a pinned one of /items/2 and a queued write to it."""
    for n in (1, 2):
        origin.put(f"/items/{n}", {"n": n})
    holdfast = holdfast_with(environment=faults.environment)
    assert [holdfast.get(f"/items/{n}").status for n in (1, 2)] == [200, 200]
    origin.stop()
    receipt(holdfast.put("/items/2", {"n": 22}))
    return holdfast


def store(holdfast):
    return holdfast.call("GET", "/health/ready").json()["store"]


def check_reads(holdfast):
    assert [holdfast.get(f"/items/{n}").json()["n"] for n in (1, 2)] == [1, 22]


def check_healed(origin, holdfast):
    receipt(holdfast.put("/items/3", {"n": 3}))
    assert store(holdfast) == "ok"
    origin.start()
    holdfast.await_drained(20)
    assert (origin.json("/items/2"), origin.json("/items/3")) == ({"n": 22}, {"n": 3})


def test_a_full_disk_refuses_writes_and_heals(origin, faults, holdfast):
    faults.fill_disk()
    for body in ({"n": 3}, b"x" * 100_000):
        refused = holdfast.put("/items/3", body)
        assert (refused.status, refused.json()["type"]) == (507, "/problems/store-full")
    assert store(holdfast) == "not-writable"
    check_reads(holdfast)
    faults.set()
    check_healed(origin, holdfast)


def test_what_is_queued_can_be_discarded_on_a_full_disk(origin, faults, holdfast):
    """The room that is kept for it makes the second attempt succeed."""
    identifier = holdfast.open_operations()[0]["id"]
    faults.set("write -wal ENOSPC 0 1", "create /data/ ENOSPC")
    assert holdfast.call("DELETE", f"/cache/operations/{identifier}").status < 300
    assert holdfast.open_operations() == []
    assert holdfast.get("/items/2").json() == {"n": 2}


@pytest.mark.parametrize("fail", [
    lambda faults: faults.protect(),
    lambda faults: faults.set("sync /data/ EIO"),
    lambda faults: faults.set("write /data/ EIO"),
], ids=["read-only", "sync", "write"])
def test_a_disk_that_does_not_take_writes_is_told_and_heals(origin, faults, holdfast, fail):
    fail(faults)
    refused = holdfast.put("/items/3", {"n": 3})
    assert (refused.status, refused.json()["type"]) == (507, "/problems/store-failed")
    assert store(holdfast) == "not-writable"
    check_reads(holdfast)
    faults.set()
    check_healed(origin, holdfast)


def test_a_data_folder_that_can_not_be_written_is_told_at_start(origin, faults):
    faults.set("create /data/ EROFS", "change /data/ EROFS")
    service = Holdfast(origin.url, environment=faults.environment).start(wait=False)
    assert service.process.wait(10) != 0
    assert "Read-only file system" in service.log_text()
    service.close()


def test_nothing_is_accepted_once_the_data_folder_is_deleted_and_a_restart_begins_anew(origin, holdfast):
    shutil.rmtree(holdfast.data)
    refused = holdfast.put("/items/3", {"n": 3})
    assert (refused.status, refused.json()["type"]) == (507, "/problems/store-failed")
    assert store(holdfast) == "not-writable"
    check_reads(holdfast)
    holdfast.restart()
    origin.start()
    assert holdfast.get("/items/1").json() == {"n": 1}
    assert holdfast.put("/items/3", {"n": 3}).status == 201


def test_nothing_is_accepted_while_the_data_folder_is_elsewhere_and_it_heals_when_it_is_back(origin, holdfast):
    elsewhere = holdfast.folder / "elsewhere"
    holdfast.data.rename(elsewhere)
    refused = holdfast.put("/items/3", {"n": 3})
    assert (refused.status, refused.json()["type"]) == (507, "/problems/store-failed")
    assert store(holdfast) == "not-writable"
    check_reads(holdfast)
    elsewhere.rename(holdfast.data)
    check_healed(origin, holdfast)


def limit(holdfast, kind, number):
    resource.prlimit(holdfast.process.pid, kind, (number, resource.prlimit(holdfast.process.pid, kind)[1]))


def test_at_the_start_as_many_descriptors_are_asked_for_as_may_be_had(holdfast_with):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard // 2, hard))
    try:
        holdfast = holdfast_with()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resource.prlimit(holdfast.process.pid, resource.RLIMIT_NOFILE) == (hard, hard)


def test_without_free_descriptors_nothing_is_lost_and_it_heals(origin, holdfast):
    before = resource.prlimit(holdfast.process.pid, resource.RLIMIT_NOFILE)[0]
    held = [socket.create_connection(("127.0.0.1", holdfast.port), 10) for _ in range(2)]
    for connection in held:
        assert b" 200 " in ask(connection, b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    used = len(os.listdir(f"/proc/{holdfast.process.pid}/fd"))
    limit(holdfast, resource.RLIMIT_NOFILE, used)
    waiting = socket.create_connection(("127.0.0.1", holdfast.port), 10)
    waiting.sendall(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    # It does not spin at the connection that it can't take.
    before_time = cpu_seconds(holdfast)
    time.sleep(1)
    assert cpu_seconds(holdfast) - before_time < 0.5
    assert b" 200 " in ask(held[0], b"GET /resources/items/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head = b"PUT /resources/items/4 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n"
    assert b" 507 " in ask(held[1], head + b"x" * 50_000)
    limit(holdfast, resource.RLIMIT_NOFILE, before)
    assert b" 200 " in waiting.recv(4096)
    for connection in [*held, waiting]:
        connection.close()
    check_reads(holdfast)
    check_healed(origin, holdfast)


def test_an_accepted_write_whose_bytes_can_not_be_shown_is_answered_by_its_receipt(origin, faults, holdfast):
    body = os.urandom(300_000)
    faults.set(f"open {hashlib.sha256(body).hexdigest()} EMFILE")
    identifier = receipt(holdfast.call("PUT", "/files/large", body, {
        "Content-Type": "application/octet-stream", "Prefer": "return=representation"}))
    faults.set()
    assert holdfast.operation(identifier)["state"] == "pending"
    check_healed(origin, holdfast)
    assert holdfast.call("GET", "/files/large", headers={"Cache-Control": "no-cache"}).body == body


def test_a_store_that_no_descriptor_is_left_for_is_refused_and_can_be_attached_later(origin, holdfast):
    before = resource.prlimit(holdfast.process.pid, resource.RLIMIT_NOFILE)[0]
    body = b'{"name":"n","paths":["/n/**"],"location":{"primary":"n"}}'
    attach = (b"POST /cache/stores HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    with socket.create_connection(("127.0.0.1", holdfast.port), 10) as connection:
        assert b" 200 " in ask(connection, b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        used = len(os.listdir(f"/proc/{holdfast.process.pid}/fd"))
        for free in range(6):  # each time it gets further
            limit(holdfast, resource.RLIMIT_NOFILE, used + free)
            assert b"/problems/store-unusable" in ask(connection, attach)
        limit(holdfast, resource.RLIMIT_NOFILE, before)
        assert b" 201 " in ask(connection, attach)
    check_reads(holdfast)
    check_healed(origin, holdfast)


def test_more_unfinished_uploads_than_free_descriptors_are_taken_and_go_on(holdfast):
    begin = (b"POST /cache/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
             b"Content-Length: 5\r\n\r\nbegun")
    before = resource.prlimit(holdfast.process.pid, resource.RLIMIT_NOFILE)[0]
    with socket.create_connection(("127.0.0.1", holdfast.port), 10) as connection:
        assert b" 200 " in ask(connection, b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        limit(holdfast, resource.RLIMIT_NOFILE, len(os.listdir(f"/proc/{holdfast.process.pid}/fd")) + 50)
        assert all(b" 201 " in ask(connection, begin) for _ in range(100))
        limit(holdfast, resource.RLIMIT_NOFILE, before)
    for upload in holdfast.call("GET", "/cache/uploads?limit=100").json()["items"]:
        more = holdfast.call("PATCH", f"/cache/uploads/{upload['id']}", b"+", {
            "Upload-Offset": "5", "Content-Type": "application/partial-upload", "Upload-Complete": "?0"})
        assert (more.status, more.headers["Upload-Offset"]) == (204, "6")


def ask(connection, request):
    """The first bytes of the answer on an open connection."""
    connection.sendall(request)
    return connection.recv(4096)


def cpu_seconds(holdfast):
    fields = pathlib.Path(f"/proc/{holdfast.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_large_bodies_pass_under_a_memory_limit(origin, holdfast):
    size = int(pathlib.Path(f"/proc/{holdfast.process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
    limit(holdfast, resource.RLIMIT_AS, size + (96 << 20))
    body = os.urandom(1 << 20) * 128
    receipt(holdfast.put("/items/large", body))
    assert holdfast.get("/items/large").body == body
    limit(holdfast, resource.RLIMIT_AS, resource.RLIM_INFINITY)
    check_healed(origin, holdfast)


def test_a_second_process_is_refused_clearly_and_changes_nothing(origin, holdfast):
    second = subprocess.run(
        [BINARY, "--origin", origin.url, "--listen", "127.0.0.1:0", "--data", str(holdfast.data)],
        capture_output=True, timeout=10)
    assert second.returncode != 0
    assert b"in use" in second.stderr
    check_reads(holdfast)
    check_healed(origin, holdfast)


@pytest.mark.parametrize("years", ["+10y", "-10y"])
def test_a_clock_that_jumps_by_years_loses_and_delays_nothing(origin, holdfast, years):
    holdfast.kill()
    holdfast.environment = dict(os.environ)
    holdfast.start(under=["faketime", "-f", years])
    check_reads(holdfast)
    receipt(holdfast.put("/items/5", {"n": 5}))
    holdfast.kill()
    holdfast.start()
    check_reads(holdfast)
    check_healed(origin, holdfast)
    assert origin.json("/items/5") == {"n": 5}


@pytest.mark.parametrize("jump", ["+10y", "-10y"])
def test_a_clock_that_is_set_while_it_runs_and_set_back_loses_and_delays_nothing(origin, holdfast, jump):
    clock = holdfast.folder / "clock"

    def set_clock(offset):
        (holdfast.folder / "clock.new").write_text(offset)
        (holdfast.folder / "clock.new").rename(clock)

    set_clock("+0")
    holdfast.kill()
    holdfast.environment = {
        **os.environ, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1"}
    # The file counts where there is no variable of the same purpose.
    holdfast.start(under=["faketime", "-m", "-f", "+0", "env", "-u", "FAKETIME"])
    idle = socket.create_connection(("127.0.0.1", holdfast.port))
    for number, offset in ((5, jump), (6, "+0")):
        set_clock(offset)
        check_reads(holdfast)
        identifier = receipt(holdfast.put(f"/items/{number}", {"n": number}))
        accepted = holdfast.operation(identifier)["createdAt"]
        assert (abs(int(accepted[:4]) - time.gmtime().tm_year) > 8) == (offset == jump)
        assert select.select([idle], [], [], 0.6)[0] == []  # nor is a client cut whose time has not come
    check_healed(origin, holdfast)
    assert [origin.json(f"/items/{number}") for number in (5, 6)] == [{"n": 5}, {"n": 6}]
    origin.put("/items/1", {"n": 11})
    assert holdfast.get("/items/1", cache_control="no-cache").json() == {"n": 11}


def test_names_that_resolve_slowly_and_in_vain_keep_nobody_waiting(origin, faults, holdfast_with):
    origin.put("/items/1", {"n": 1})
    holdfast = holdfast_with(
        origin=f"http://origin.test:{origin.port}", environment=faults.environment, timeouts={"stale": 0.5})
    assert holdfast.get("/items/1").status == 200
    faults.set("resolve origin.test EIO")
    holdfast.restart()
    began = time.monotonic()
    assert holdfast.get("/items/1", cache_control="max-age=0").json() == {"n": 1}
    assert time.monotonic() - began < 2.5
    eventually(lambda: holdfast.network() == "offline")
    began = time.monotonic()
    receipt(holdfast.put("/items/1", {"n": 2}))
    assert holdfast.call("GET", "/health/ready").status == 200
    assert time.monotonic() - began < 1
    faults.set()
    holdfast.await_drained(20)
    assert origin.json("/items/1") == {"n": 2}
