"""What the process does on signals."""

import json
import signal
import socket
import threading

import pytest
from service import eventually, free_port, receipt, stays


def test_SIGTERM_ends_it_in_order_and_loses_nothing(origin, holdfast):
    origin.put("/items/1", {"n": 1})
    holdfast.get("/items/1")
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"n": 2}))
    holdfast.process.send_signal(signal.SIGTERM)
    assert holdfast.process.wait(10) == 0
    holdfast.start()
    assert holdfast.get("/items/1").json() == {"n": 2}
    origin.start()
    holdfast.await_state(identifier, "delivered")


def test_SIGTERM_lets_a_running_request_end(origin, holdfast):
    origin.put("/items/1", {"n": 1})
    answers = []
    order = origin.order(method="GET", path="/items/1", gate=threading.Event())
    reader = threading.Thread(target=lambda: answers.append(holdfast.get("/items/1")))
    reader.start()
    eventually(lambda: origin.seen("GET"))
    holdfast.process.send_signal(signal.SIGTERM)
    stays(lambda: holdfast.process.poll() is None, 0.3)
    order.gate.set()
    reader.join(10)
    assert answers[0].json() == {"n": 1}
    assert holdfast.process.wait(10) == 0


def reload(holdfast):
    (holdfast.folder / "config.json").write_text(json.dumps(holdfast.config))
    holdfast.process.send_signal(signal.SIGHUP)


def test_SIGHUP_takes_changed_policies_over(holdfast):
    holdfast.config["defaultPolicy"] = {"fetchPolicy": "FETCH_FROM_CACHE"}
    reload(holdfast)
    eventually(lambda: holdfast.call("GET", "/cache/policies").json().get("defaultPolicy") == {
        "fetchPolicy": "FETCH_FROM_CACHE"})


def test_SIGHUP_with_a_bad_file_changes_nothing_and_says_why(holdfast):
    before = holdfast.call("GET", "/cache/policies").json()
    holdfast.config["defaultPolicy"] = {"fetchPolicy": "SOMETIMES"}
    reload(holdfast)
    eventually(lambda: "not reloaded" in holdfast.log_text())
    told = json.loads(holdfast.log_text().splitlines()[-1])
    assert told["level"] == "error" and "config.json: defaultPolicy: fetchPolicy" in told["error"]
    assert holdfast.call("GET", "/cache/policies").json() == before


def test_SIGHUP_takes_limits_over(holdfast_with):
    holdfast = holdfast_with(maxBodySize=1_000)
    assert holdfast.put("/items/1", {"n": "x" * 2_000}).status == 413
    holdfast.config.update(maxBodySize=10_000, limits={"idle": 0.2})
    reload(holdfast)
    eventually(lambda: holdfast.put("/items/1", {"n": "x" * 2_000}).status == 201)
    with socket.create_connection(("127.0.0.1", holdfast.port), timeout=10) as connection:
        assert connection.recv(1) == b""  # closed for it was idle
    assert holdfast.put("/items/1", {"n": "x" * 12_000}).status == 413


@pytest.mark.parametrize("before, after", [(False, True), (True, False)])
def test_SIGHUP_leaves_the_management_where_it_is(holdfast_with, before, after):
    address = f"127.0.0.1:{free_port()}"
    holdfast = holdfast_with(**{"manageListen": address} if before else {})
    # What an operation that nobody knows gets from the management, and any from where it is not.
    told = "This is served on the management address alone." if before else "There is no such operation."
    assert holdfast.operation("x")["detail"] == told
    holdfast.config["manageListen"] = address if after else None
    reload(holdfast)
    eventually(lambda: '"reloaded"' in holdfast.log_text())
    assert holdfast.operation("x")["detail"] == told


def test_SIGUSR1_saves_and_goes_on(origin, holdfast):
    origin.put("/items/1", {"n": 1})
    holdfast.get("/items/1")
    holdfast.process.send_signal(signal.SIGUSR1)
    stays(lambda: holdfast.is_ready(), 0.5)
    origin.stop()
    holdfast.restart()
    assert holdfast.get("/items/1").json() == {"n": 1}
