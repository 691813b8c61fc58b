"""No thread to be had: told at the start, a clear answer later, and it heals."""

import os
import subprocess

import pytest
from service import BINARY, free_port, receipt, request

ASKED = 10 + os.cpu_count()  # so many it asks for at first, to see whether they can be had


@pytest.mark.parametrize("had", [0, 5, ASKED, ASKED + 4, ASKED + 7, ASKED + 8])
def test_without_the_threads_that_it_needs_it_does_not_start(faults, tmp_path, had):
    faults.set(f"thread plain EAGAIN {had}")
    port = free_port()
    ended = subprocess.run(
        [BINARY, "--origin", "http://127.0.0.1:9", "--listen", f"127.0.0.1:{port}", "--data", tmp_path / "d"],
        env=faults.environment, capture_output=True, text=True, timeout=20)
    assert ended.returncode == 1
    assert "thread" in ended.stderr and "Resource temporarily unavailable" in ended.stderr
    with pytest.raises(OSError):
        request(port, "GET", "/health/live")


def test_a_store_without_its_threads_is_not_attached_and_all_else_goes_on(origin, faults, holdfast_with):
    holdfast = holdfast_with(environment=faults.environment)
    origin.put("/items/1", {"n": 1})
    assert holdfast.get("/items/1").status == 200
    store = {"name": "ann", "paths": ["/ann/**"], "location": {"primary": "ann"}}
    faults.set("thread plain EAGAIN")
    refused = holdfast.call("POST", "/cache/stores", store)
    assert refused.status == 409 and "no thread could be started" in refused.json()["detail"], refused
    assert holdfast.put("/items/1", {"n": 2}).status == 200
    assert holdfast.get("/items/1").json() == {"n": 2}
    faults.set()
    assert holdfast.call("POST", "/cache/stores", store).status == 201


def test_what_waits_for_a_worker_of_the_runtime_is_done_when_there_is_one(origin, faults, holdfast_with):
    """The Swift runtime tries again every second."""
    holdfast = holdfast_with(environment=faults.environment)
    origin.stop()
    faults.set("thread attributed EAGAIN 0 3")
    identifier = receipt(holdfast.put("/items/1", {"n": 1}))
    origin.start()
    holdfast.await_state(identifier, "delivered", 20)
    assert origin.json("/items/1") == {"n": 1}
