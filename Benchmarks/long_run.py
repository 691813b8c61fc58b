"""What memory and soak share: the service as a process, a scripted origin as another, and what /proc says of a process."""

import hashlib
import http.client
import http.server
import json
import multiprocessing
import os
import pathlib
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time

from harness import ask, free_port

PROJECT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("HOLDFAST_BINARY", str(PROJECT / ".build/release/holdfast"))
MIB = 1 << 20
BASE = bytes(range(256)) * (MIB // 256)


def block(number):
    """One MiB that is like no other, so that a piece in the wrong place shows."""
    return number.to_bytes(8, "big") + BASE[8:]


def blocks(mebibytes):
    return (block(number) for number in range(mebibytes))


def digest(pieces):
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()


class Service:
    """Holdfast with a data folder of its own."""

    def __init__(self, origin, **config):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-bench-", dir=os.environ.get("BENCH_FOLDER")))
        self.data = self.folder / "data"
        self.port = free_port()
        file = self.folder / "config.json"
        file.write_text(json.dumps({"origin": origin, **config}))
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(
            [BINARY, "--config", str(file), "--listen", f"127.0.0.1:{self.port}", "--data", str(self.data)],
            stdout=self.log, stderr=self.log)
        end = time.monotonic() + 10
        while True:
            try:
                if self.call("GET", "/health/ready")[0] == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"holdfast did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.02)

    def connect(self, timeout=120):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def call(self, method, path, body=None, headers=None):
        return ask(self.port, method, path, body, headers, timeout=120)

    def json(self, method, path, value=None):
        body = None if value is None else json.dumps(value)
        return json.loads(self.call(method, path, body, {"Content-Type": "application/json"})[2])

    def offline(self, offline):
        self.json("PUT", "/cache/network", {"offline": offline})

    def resident(self):
        """Resident memory in bytes."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def disk(self):
        """Bytes that the data folder takes, as du counts them."""
        return sum(os.lstat(os.path.join(at, name)).st_blocks * 512
                   for at, _, names in os.walk(self.data) for name in names)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Peak:
    """The highest resident memory while it runs."""

    def __init__(self, service):
        self.service = service
        self.bytes = service.resident()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        while not self.over.wait(0.02):
            self.bytes = max(self.bytes, self.service.resident())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class ThreadingServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 512
    allow_reuse_address = True

    def handle_error(self, request, address):
        pass  # peers that go away are part of it


def serve(handler, port):
    """Runs an origin in a process of its own; ends with `terminate()`."""

    def work():
        # The clients' connections are not this process's to hold open.
        os.closerange(3, 65536)
        ThreadingServer(("127.0.0.1", port), handler).serve_forever()

    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    process.start()
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the origin did not start")
