"""When a strategy's answer comes, what the view shows, and what kill -9 leaves."""

import sqlite3

import pytest

from service import eventually, receipt
from test_modes import filled, kept

STRATEGIES = ["direct", "directIndependent", "indirectNested", "mixed"]


def after_kill(holdfast):
    """Whether the copy that was just read is there after kill -9."""
    holdfast.restart()
    return kept(holdfast)


@pytest.mark.parametrize("strategy", ["direct", "directIndependent"])
def test_a_direct_answer_is_on_disk_when_it_comes(origin, holdfast_with, strategy):
    holdfast = holdfast_with(strategy=strategy)
    for round in range(3):
        filled(origin, holdfast, f"round {round}")
        assert after_kill(holdfast) == f"round {round}"


def test_an_indirect_answer_is_lost_by_a_crash_until_it_is_written_behind(origin, holdfast_with):
    holdfast = holdfast_with(strategy="indirectNested")
    left = []
    for round in range(3):
        filled(origin, holdfast, f"round {round}")
        assert kept(holdfast) == f"round {round}"
        left.append(after_kill(holdfast) == f"round {round}")
    assert not all(left)
    filled(origin, holdfast, "written")

    def is_written():
        with sqlite3.connect(holdfast.data / "holdfast.sqlite") as database:
            return any(b"written" in row[0] for row in database.execute("SELECT record FROM entries"))

    eventually(is_written)
    assert after_kill(holdfast) == "written"


def test_mixed_keeps_what_was_refreshed_in_the_background(origin, holdfast_with):
    holdfast = holdfast_with(strategy="mixed")
    filled(origin, holdfast)
    origin.put("/items/1", {"v": "refreshed"})
    assert holdfast.call("POST", "/cache/entry/refresh?target=/items/1").status == 200
    assert after_kill(holdfast) == "refreshed"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_only_the_independent_view_is_not_kept_up_to_date(origin, holdfast_with, strategy):
    holdfast = holdfast_with(strategy=strategy)
    origin.headers = {"Cache-Control": "max-age=3600"}
    origin.put("/items/1", {"v": "old"})
    for _ in range(3):
        assert holdfast.get("/items/1").json()["v"] == "old"
    origin.put("/items/1", {"v": "new"})
    assert holdfast.call("POST", "/cache/entry/refresh?target=/items/1").status == 200
    assert holdfast.get("/items/1").json()["v"] == ("old" if strategy == "directIndependent" else "new")
    # A write shows in every view, and so does what a restart loads.
    assert holdfast.put("/items/1", {"v": "mine"}).status == 200
    assert holdfast.get("/items/1").json()["v"] == "mine"
    holdfast.stop()
    holdfast.start()
    assert holdfast.get("/items/1").json()["v"] == "mine"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_accepted_write_is_on_disk_under_every_strategy(origin, holdfast_with, strategy):
    holdfast = holdfast_with(stores=[{"name": "own", "paths": ["/items/**"], "strategy": strategy}])
    assert holdfast.call("GET", "/cache/stores/own").json()["strategy"] == strategy
    origin.stop()
    identifier = receipt(holdfast.put("/items/1", {"v": "mine"}))
    holdfast.restart()
    assert holdfast.get("/items/1").json()["v"] == "mine"
    origin.start()
    holdfast.await_state(identifier, "delivered")
    assert origin.json("/items/1")["v"] == "mine"
