"""Starts and stops the real binary, and talks plain HTTP to it."""

import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

BINARY = os.environ.get("HOLDFAST_BINARY", ".build/release/holdfast")
FINAL = {"delivered", "cancelled", "superseded"}


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


class Holdfast:
    """One service with a data folder of its own; `config` has the keys of the configuration file."""

    def __init__(self, origin_url, data=None, **config):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-test-"))
        self.data = pathlib.Path(data) if data else self.folder / "data"
        self.port = free_port()
        self.config = {"origin": origin_url, "settle": 0.3, **config}
        self.process = None

    def start(self, wait=True):
        file = self.folder / "config.json"
        file.write_text(json.dumps(self.config))
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [BINARY, "--config", str(file), "--listen", f"127.0.0.1:{self.port}", "--data", str(self.data)],
            stderr=self.log, stdout=self.log)
        if wait:
            eventually(self.is_ready, 10)
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

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def restart(self):
        self.kill()
        return self.start()

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # requests

    def call(self, method, path, body=None, headers=None, **more):
        return request(self.port, method, path, body, headers, **more)

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

    def operations(self):
        items, after = [], ""
        while True:
            page = self.call("GET", f"/cache/operations?limit=1000{after}").json()
            items += page["items"]
            if not page.get("next"):
                return items
            after = f"&after={items[-1]['id']}"

    def operation(self, identifier):
        return self.call("GET", f"/cache/operations/{identifier}").json()

    def open_operations(self):
        return [o for o in self.operations() if o["state"] not in FINAL]

    def await_state(self, identifier, state, seconds=10.0):
        return eventually(lambda: (o := self.operation(identifier)).get("state") == state and o, seconds)

    def await_drained(self, seconds=10.0):
        eventually(lambda: not self.open_operations(), seconds)

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
