"""Starts and stops the real binary, and talks plain HTTP to it."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from urllib.parse import urlencode

import leaks

BINARY = os.environ.get("HOLDFAST_BINARY", ".build/release/holdfast")
RUNNING = {"pending", "sending", "unknown"}
STOPPED = {"conflict", "failed"}
RETRY = 0.5  # seconds; the shortest time after which a delivery is tried again


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # an email.message.Message: names in any case
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {dict(self.headers)} {self.body[:400]!r}>"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def request(port, method, path, body=None, headers=None, timeout=30):
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def eventually(check, seconds=10.0, every=0.02):
    """The first true value of check(), or a failure after some seconds."""
    end = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s; last value: {value!r}")
        time.sleep(every)


def stays(check, seconds):
    """Fails as soon as check() is false within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert check()
        time.sleep(0.05)


class Holdfast:
    """One service with a data folder of its own; `config` has the keys of the configuration file."""

    def __init__(self, origin_url, data=None, environment=None, **config):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-test-"))
        self.data = pathlib.Path(data) if data else self.folder / "data"
        self.port = free_port()
        self.config = {"origin": origin_url, "settle": 0.3, **config}
        self.environment = {**os.environ, **(environment or {})}
        self.process = None

    def start(self, wait=True, under=()):
        """Starts the process; `under` is a command that runs it, such as faketime."""
        file = self.folder / "config.json"
        file.write_text(json.dumps(self.config))
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [*under, BINARY, "--config", str(file), "--listen", f"127.0.0.1:{self.port}", "--data", str(self.data)],
            stderr=self.log, stdout=self.log, env=self.environment, start_new_session=True)
        if wait:
            eventually(self.is_ready, 10)
            self.began_with = leaks.descriptors(self), self.memory()
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"holdfast ended with {self.process.returncode}: {self.log_text()[-2000:]}")
        try:
            return request(self.port, "GET", "/health/ready", timeout=2).status == 200
        except OSError:
            return False

    def log_text(self):
        return (self.folder / "log").read_text(errors="replace")

    def memory(self):
        """Resident memory in bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) << 10

    def stop(self):
        self.process.terminate()
        assert self.process.wait(10) == 0, self.log_text()[-2000:]

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # with what runs it
        self.process.wait(10)
        eventually(self.has_ended)

    def has_ended(self):
        """Whether the last process of its group is gone, and with it the lock on the data."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def restart(self):
        self.kill()
        return self.start()

    def check_left(self):
        """Fails where the service keeps more than at its start although its clients have gone."""
        if self.process.poll() is not None:
            return
        descriptors, memory = self.began_with
        end = time.monotonic() + 6
        while left := leaks.more(leaks.descriptors(self), descriptors):
            assert time.monotonic() < end, f"still open: {dict(left)}"
            time.sleep(0.02)
        grown = self.memory() - memory
        assert grown < leaks.MEMORY, f"{grown >> 20} MiB more than at the start"

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # requests

    def call(self, method, path, body=None, headers=None, **more):
        return request(self.port, method, path, body, headers, **more)

    def attempt(self, *arguments, **more):
        """The answer; None where the service ended meanwhile."""
        try:
            return self.call(*arguments, **more)
        except (OSError, http.client.HTTPException):
            return None

    def get(self, target, **headers):
        return self.call("GET", "/resources" + target, headers=named(headers))

    def put(self, target, body, **headers):
        return self.call("PUT", "/resources" + target, body, named(headers))

    def post(self, target, body, **headers):
        return self.call("POST", "/resources" + target, body, named(headers))

    def patch(self, target, body, **headers):
        return self.call("PATCH", "/resources" + target, json.dumps(body).encode(),
                         {"Content-Type": "application/merge-patch+json", **named(headers)})

    def delete(self, target, **headers):
        return self.call("DELETE", "/resources" + target, headers=named(headers))

    # management

    def page_of_operations(self, states, after=None):
        query = [("state", state) for state in states] + [("limit", 1000)] + ([("after", after)] if after else [])
        return self.call("GET", "/cache/operations?" + urlencode(query)).json()

    def operations(self, states=()):
        page = self.page_of_operations(states)
        items = page["items"]
        while page.get("next"):
            page = self.page_of_operations(states, page["next"])
            items += page["items"]
        return items

    def operation(self, identifier):
        return self.call("GET", f"/cache/operations/{identifier}").json()

    def open_operations(self):
        return self.operations(RUNNING | STOPPED)

    def await_state(self, identifier, state, seconds=10.0):
        return eventually(lambda: (o := self.operation(identifier)).get("state") == state and o, seconds)

    def count_of_open(self):
        """How many operations are not finished; cheap, however long the list is."""
        text = self.call("GET", "/metrics").body.decode()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("holdfast_operations{"))

    def await_drained(self, seconds=10.0):
        eventually(lambda: self.count_of_open() == 0, seconds)

    def network(self):
        return self.call("GET", "/cache/network").json()["state"]

    def go(self, offline):
        """Forces it offline, or lets it judge for itself again."""
        assert self.call("PUT", "/cache/network", {"offline": offline}).status == 200

    def conflicts(self):
        return self.call("GET", "/cache/conflicts").json()["items"]

    def await_conflict(self, seconds=10.0):
        found = eventually(self.conflicts, seconds)
        return self.call("GET", f"/cache/conflicts/{found[0]['id']}").json()

    def resolve(self, identifier, resolution):
        return self.call("POST", f"/cache/conflicts/{identifier}/resolution", resolution)


def named(headers):
    """Keyword arguments as field names: if_match becomes If-Match."""
    return {name.replace("_", "-").title(): value for name, value in headers.items()}


def receipt(answer):
    """The id of the operation of a 202."""
    assert answer.status == 202, answer
    return answer.json()["id"]
