"""Processes pinned to cores, their CPU time, and the load that is put on them."""

import dataclasses
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import time

SERVER_CORE, LOAD_CORE = 0, 1
ALONE, BOTH = (SERVER_CORE,), (SERVER_CORE, LOAD_CORE)
HERE = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinned(*cores):
    """For Popen's preexec_fn: the child runs on these cores only, and may hold many connections."""
    def set_up():
        import resource
        os.sched_setaffinity(0, cores)
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return set_up


class Server:
    """A running contestant; its whole process tree counts."""

    def __init__(self, name, command, port, folder, cores=ALONE, ready=None):
        self.name, self.port, self.folder = name, port, folder
        self.log = open(folder / f"{name.replace(' ', '-')}.log", "ab")
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=self.log, stderr=self.log, cwd=folder, preexec_fn=pinned(*cores))
        end = time.monotonic() + 20
        while not (ready or self.is_listening)():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{name} did not start; see {self.log.name}")
            time.sleep(0.02)

    def is_listening(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def tree(self):
        found, at = [self.process.pid], 0
        while at < len(found):
            for task in pathlib.Path(f"/proc/{found[at]}/task").glob("*/children"):
                found += [int(pid) for pid in task.read_text().split()]
            at += 1
        return found

    def cpu_seconds(self):
        """Time on a core of all threads so far (the first figure of /proc/PID/task/*/schedstat, in ns)."""
        total = 0
        for pid in self.tree():
            for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
                try:
                    total += int(stat.read_text().split()[0])
                except OSError:
                    pass  # a thread that has just ended
        return total / 1e9

    def resident_bytes(self):
        total = 0
        for pid in self.tree():
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            total += int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024
        return total

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


def ask(port, method, path, body=None, headers=None, timeout=60):
    """One request; its status, fields and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def ask_json(port, path):
    status, _, body = ask(port, "GET", path)
    if status != 200:
        raise RuntimeError(f"{path}: {status} {body[:200]}")
    return json.loads(body)


@dataclasses.dataclass
class Load:
    """What one run of the load generator saw, and what the server spent on it."""
    rate: float  # requests a second
    cpu: float  # seconds of the server's CPU a request
    median: float  # latency in seconds
    count: float = 0  # requests


UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


def wrk(server, path, connections=32, seconds=2.0, headers=(), script=None, arguments=(), cores=(LOAD_CORE,)):
    """Loads a server with wrk from the other core, with a thread for each of `cores`. Any answer that is not 2xx or 3xx
    fails the run."""
    command = ["wrk", f"-t{len(cores)}", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "30s"]
    for field in headers:
        command += ["-H", field]
    if script:
        command += ["-s", str(script)]
    before = server.cpu_seconds()
    command += [f"http://127.0.0.1:{server.port}{path}", "--", *map(str, arguments)]
    run = subprocess.run(
        command, capture_output=True, text=True,
        preexec_fn=pinned(*cores), timeout=seconds + 60)
    spent = server.cpu_seconds() - before
    text = run.stdout
    if run.returncode != 0 or "Non-2xx" in text or "Socket errors" in text:
        raise RuntimeError(f"{server.name}{path}: {text}{run.stderr}")
    count = int(re.search(r"(\d+) requests in", text)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    figure, unit = re.search(r"50%\s+([\d.]+)(us|ms|s|m)", text).groups()
    return Load(rate, spent / max(count, 1), float(figure) * UNITS[unit], count)


def latencies(space, server, path, connections, seconds, rate=None):
    """How long each request took, in seconds, sorted; h2load over HTTP/1.1. At a steady `rate`, or else one after the other."""
    log = space.folder / f"latency-{time.monotonic_ns()}"
    pace = [f"--rps={rate / connections}"] if rate else []
    subprocess.run(
        ["h2load", "--h1", f"-c{connections}", "-t1", f"--duration={seconds}", *pace, f"--log-file={log}",
         f"http://127.0.0.1:{server.port}{path}"],
        check=True, capture_output=True, preexec_fn=pinned(LOAD_CORE), timeout=seconds + 60)
    lines = [line.split() for line in log.read_text().splitlines()]
    if not lines or any(status != "200" for _, status, _ in lines):
        raise RuntimeError(f"{server.name}{path}: not all answers are 200")
    return sorted(int(taken) / 1e6 for _, _, taken in lines)


def medians(loads):
    return Load(*(statistics.median(getattr(load, field) for load in loads) for field in ("rate", "cpu", "median", "count")))


def interleave(rounds, contestants):
    """Runs each contestant (name: function that returns a Load) once a round, in turn; medians by name."""
    runs = {name: [] for name in contestants}
    for number in range(rounds):
        names = list(contestants)
        for name in names if number % 2 == 0 else reversed(names):
            runs[name].append(contestants[name]())
    return {name: medians(loads) for name, loads in runs.items()}


@dataclasses.dataclass
class Figure:
    """One line of the table: a ratio (or a size) against its target."""
    row: str
    work: str
    ours: str
    peer: str
    theirs: str
    value: float
    target: float | None
    at_most: bool = False  # the target is a ceiling (memory, seconds), not a floor
    unit: str = "×"

    @property
    def met(self):
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target

    def as_json(self):
        return {**dataclasses.asdict(self), "met": self.met}


def ratio_figures(row, work, ours, peer_name, peer, rate_target=None, cpu_target=None):
    """Rate and CPU of Holdfast against one peer; a ratio above 1 says that Holdfast is ahead."""
    yield Figure(row, f"{work}, rate", f"{ours.rate:,.0f}/s", peer_name, f"{peer.rate:,.0f}/s",
                 ours.rate / peer.rate, rate_target)
    yield Figure(row, f"{work}, CPU", f"{ours.cpu * 1e6:.2f} µs", peer_name, f"{peer.cpu * 1e6:.2f} µs",
                 peer.cpu / ours.cpu, cpu_target)


class Workspace:
    """A folder for one row, on the disk that the project is on, and the servers started in it."""

    def __init__(self, base, rounds, seconds, binary, peers):
        self.folder = base
        self.peers = peers
        shutil.rmtree(base, ignore_errors=True)
        base.mkdir(parents=True)
        self.rounds, self.seconds, self.binary = rounds, seconds, binary
        self.servers = []

    def start(self, *arguments, **more):
        server = Server(*arguments, folder=self.folder, **more)
        self.servers.append(server)
        return server

    def end(self, server, how=signal.SIGTERM):
        server.stop(how)
        self.servers.remove(server)

    def close(self):
        for server in reversed(self.servers):
            server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
