"""Holdfast in front of Kinto, a real service with accounts, tags and 412 of its own.

Kinto answers `Cache-Control: no-cache, no-store`, and keeps members in `/data`."""

import base64
import os
import pathlib
import subprocess
import sys
import time

import pytest

from road import Road
from service import Holdfast, eventually, free_port, receipt, request

BASIC = "Basic " + base64.b64encode(b"ann:secret").decode()
RECORDS = "/v1/buckets/tests/collections/notes/records"
JSON = {"Authorization": BASIC, "Content-Type": "application/json"}


class Kinto:
    def __init__(self, folder):
        self.port = free_port()
        self.process = None
        self.file = folder / "kinto.ini"
        self.folder = folder

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """Its state is in memory: a stopped Kinto is one whose process stands still and whose port is closed."""
        self.file.write_text(f"""
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = {self.port}
[app:main]
use = egg:kinto
kinto.userid_hmac_secret = for-tests
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
kinto.includes = kinto.plugins.accounts
kinto.account_create_principals = system.Everyone
kinto.bucket_create_principals = system.Authenticated
multiauth.policies = account
multiauth.policy.account.use = kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy
""")
        kinto = pathlib.Path(sys.executable).parent / "kinto"
        self.process = subprocess.Popen(
            [str(kinto), "start", "--ini", str(self.file)], stdout=open(self.folder / "kinto.log", "wb"),
            stderr=subprocess.STDOUT, env={**os.environ, "PYTHONWARNINGS": "ignore"})
        eventually(self.answers, 30)

    def answers(self):
        assert self.process.poll() is None, (self.folder / "kinto.log").read_text()[-2000:]
        try:
            return request(self.port, "GET", "/v1/", timeout=2).status == 200
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(10)
            self.process = None

    def call(self, method, path, body=None, **headers):
        return request(self.port, method, path, body, {**JSON, **headers})


@pytest.fixture(scope="module")
def kinto(tmp_path_factory):
    kinto = Kinto(tmp_path_factory.mktemp("kinto"))
    kinto.start()
    assert kinto.call("PUT", "/v1/accounts/ann", {"data": {"password": "secret"}}).status == 201
    assert kinto.call("PUT", "/v1/buckets/tests").status == 201
    assert kinto.call("PUT", "/v1/buckets/tests/collections/notes").status == 201
    yield kinto
    kinto.stop()


@pytest.fixture
def road(kinto):
    """The way to Kinto, which tests close and open: Kinto itself goes on, for its state is in memory."""
    road = Road(kinto.port).open()
    yield road
    road.close()


@pytest.fixture
def holdfast(road):
    service = Holdfast(
        road.url, defaultPolicy={"respectNoStore": False},
        collections=[{"path": "/v1/buckets/*/collections/*/records", "items": "/data", "item": "/data", "id": "/id"}])
    service.start()
    yield service
    service.close()


def name(answer):
    return answer.json()["data"]["name"]


def read(holdfast, record):
    return holdfast.get(f"{RECORDS}/{record}", authorization=BASIC)


def state(holdfast, record):
    return read(holdfast, record).headers["Sync-State"]


def online_copy(kinto, holdfast, record):
    kinto.call("PUT", f"{RECORDS}/{record}", {"data": {"name": "base"}})
    eventually(lambda: read(holdfast, record).status == 200)
    assert name(read(holdfast, record)) == "base"


def test_a_record_is_read_offline_written_offline_and_delivered_after_a_restart(kinto, road, holdfast):
    online_copy(kinto, holdfast, "first")
    road.close()
    assert name(read(holdfast, "first")) == "base"
    receipt(holdfast.put(f"{RECORDS}/first", {"data": {"name": "edited"}}, authorization=BASIC))
    assert name(read(holdfast, "first")) == "edited"
    holdfast.restart()
    road.open()
    eventually(lambda: state(holdfast, "first") == "synced", 15)
    assert name(kinto.call("GET", f"{RECORDS}/first")) == "edited"


def test_a_record_created_offline_gets_the_id_that_kinto_gave(kinto, road, holdfast):
    online_copy(kinto, holdfast, "first")
    road.close()
    created = holdfast.post(RECORDS, {"data": {"name": "created"}}, authorization=BASIC)
    receipt(created)
    temporary = created.headers["Location"]
    road.open()
    moved = eventually(
        lambda: (a := holdfast.call("GET", temporary, headers={"Authorization": BASIC})).status == 308 and a, 15)
    assert name(kinto.call("GET", moved.headers["Location"].removeprefix("/resources"))) == "created"


@pytest.mark.parametrize("keep, result", [("client", "mine"), ("server", "theirs"), ("merged", "both")])
def test_kintos_412_is_a_conflict_that_each_resolution_ends(kinto, road, holdfast, keep, result):
    record = f"conflict-{keep}"
    online_copy(kinto, holdfast, record)
    road.close()
    receipt(holdfast.put(f"{RECORDS}/{record}", {"data": {"name": "mine"}}, authorization=BASIC))
    time.sleep(0.01)
    kinto.call("PUT", f"{RECORDS}/{record}", {"data": {"name": "theirs"}})
    road.open()
    eventually(lambda: state(holdfast, record) == "conflict", 15)
    auth = {"Authorization": BASIC}
    found = holdfast.call("GET", "/cache/conflicts", headers=auth).json()["items"][0]
    whole = holdfast.call("GET", f"/cache/conflicts/{found['id']}", headers=auth).json()
    assert {"base", "client", "server"} <= set(whole)
    resolution = {"keep": keep, **({"body": {"data": {"name": "both"}}} if keep == "merged" else {})}
    answer = holdfast.call("POST", f"/cache/conflicts/{found['id']}/resolution", resolution, auth)
    assert answer.status == 200, answer
    assert name(kinto.call("GET", f"{RECORDS}/{record}")) == result
    assert name(read(holdfast, record)) == result
    assert state(holdfast, record) == "synced"


def test_a_list_makes_its_records_known_offline_and_shows_what_is_pending(kinto, road, holdfast):
    for record in ["listed-1", "listed-2"]:
        kinto.call("PUT", f"{RECORDS}/{record}", {"data": {"name": record}})
    eventually(lambda: holdfast.get(RECORDS, authorization=BASIC).status == 200)
    road.close()
    assert eventually(lambda: (a := read(holdfast, "listed-1")).status == 200 and name(a)) == "listed-1"
    receipt(holdfast.delete(f"{RECORDS}/listed-2", authorization=BASIC))
    receipt(holdfast.post(RECORDS, {"data": {"name": "created here"}}, authorization=BASIC))
    shown = [record["name"] for record in holdfast.get(RECORDS, authorization=BASIC).json()["data"]]
    assert shown[-1] == "created here"
    assert "listed-1" in shown and "listed-2" not in shown
    chosen = holdfast.get(RECORDS, authorization=BASIC, sync_filter='name = "listed-1"').json()["data"]
    assert [record["name"] for record in chosen] == ["listed-1"]
