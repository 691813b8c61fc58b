"""Pending edits show to their own identity, and stay, whatever is done around them."""

import gzip
import json
import threading

import pytest

from service import eventually, receipt

KEPT = {"n": 2, "text": "mine"}


class Edits:
    """Three unfinished writes: an edit, a deletion, a create."""

    def __init__(self, origin, holdfast):
        self.origin, self.holdfast = origin, holdfast
        self.answers = None  # what the origin waits for with its answers
        origin.headers["Cache-Control"] = "max-age=600"
        origin.collections.add("/items")
        for n in (1, 2, 3):
            origin.put(f"/items/{n}", {"n": n, "text": "theirs"})
        assert [holdfast.get(f"/items{name}").status for name in ("", "/1", "/2", "/3")] == [200] * 4
        origin.stop()
        receipt(holdfast.put("/items/1", KEPT))
        receipt(holdfast.delete("/items/2"))
        created = holdfast.post("/items", KEPT)
        receipt(created)
        self.created = created.headers["Location"].removeprefix("/resources")

    def check(self):
        ask = self.holdfast.call
        assert len(self.holdfast.open_operations()) == 3
        for name in ("/items/1", self.created):
            for route in ("/resources", "/files"):
                for headers in ({}, {"Cache-Control": "no-cache"}, {"Cache-Control": "no-store"},
                                {"Sync-Policy": "fetch-policy=FETCH_FROM_SERVICE"},
                                {"Sync-Policy": "fetch-policy=FETCH_FROM_CACHE"}):
                    answer = ask("GET", route + name, headers=headers)
                    assert answer.status == 200 and KEPT.items() <= answer.json().items(), (name, route, headers, answer)
            whole = ask("GET", "/files" + name).body
            assert ask("GET", "/files" + name, headers={"Range": "bytes=2-5"}).body == whole[2:6]
            assert ask("HEAD", "/files" + name).headers["Content-Length"] == str(len(whole))
        assert self.holdfast.get("/items/2").status in (404, 410)

    def restart(self, **config):
        self.holdfast.config.update(config)
        self.holdfast.restart()


def away_with_copies(edits):
    assert edits.holdfast.call("DELETE", "/cache/entries").status == 200


def evict_each(edits):
    for name in ("/items/1", "/items/2", edits.created):
        edits.holdfast.call("DELETE", f"/cache/entry?target={name}")


def expire_at_restart(edits):
    edits.restart(defaultPolicy={"expirationPolicy": "EXPIRE_ON_RESTART",
                                 "evictionPolicy": "EVICT_ON_EXPIRY_AT_STARTUP", "expireAfter": 0})


def other_modes(edits):
    for mode in ("initialized", "manualSaving", "automatic"):
        edits.holdfast.stop()
        edits.holdfast.config["cacheMode"] = mode
        edits.holdfast.start()


def ten_years(edits):
    edits.holdfast.config.update(receiptRetention=1)
    edits.holdfast.kill()
    edits.holdfast.start(under=["faketime", "-f", "+10y"])


def invalidate(edits):
    edits.holdfast.call("PUT", "/cache/network", {"offline": True})
    edits.holdfast.call("PUT", "/cache/network", {"offline": False})
    edits.holdfast.call("POST", "/cache/sync?wait=1")


def deliver(edits, state, **order):
    """Lets them go out to an origin that does with each write what the order says, until all are in a state."""
    for method in ("PUT", "DELETE", "POST"):
        edits.origin.order(method=method, times=100, **order)
    edits.origin.start()
    eventually(lambda: {operation["state"] for operation in edits.holdfast.open_operations()} == {state}, 20)


def keep_them_waiting(edits):
    edits.answers = threading.Event()
    deliver(edits, "sending", gate=edits.answers)


def lose_the_answers(edits):
    edits.restart(settle=600)
    deliver(edits, "unknown", cut="before")


def stop_them(status):
    def stop(edits):
        deliver(edits, "failed", status=status)
        for name in ("/items/1", "/items/2"):  # the copies that the origin has are read meanwhile
            edits.holdfast.get(name + "?persistentState=true", cache_control="no-cache")
    return stop


@pytest.mark.parametrize("done", [
    away_with_copies, evict_each, expire_at_restart, other_modes, ten_years, invalidate, keep_them_waiting,
    lose_the_answers, stop_them(400), stop_them(403)],
    ids=["purge", "evict each", "expire at restart", "cache modes", "ten years", "sync in vain", "sending", "unknown",
         "400", "403"])
def test_pending_edits_show_whatever_is_done(origin, holdfast, done):
    edits = Edits(origin, holdfast)
    edits.check()
    done(edits)
    edits.check()
    if edits.answers:
        edits.answers.set()


def test_an_edit_shows_in_the_coding_that_it_was_sent_in(origin, holdfast):
    origin.put("/items/1", {"n": 1})
    holdfast.get("/items/1")
    origin.stop()
    body = gzip.compress(json.dumps(KEPT).encode())
    answer = holdfast.put("/items/1", body, content_encoding="gzip", prefer="return=representation")
    for shown in answer, holdfast.get("/items/1"):
        assert (shown.headers["content-encoding"], shown.body) == ("gzip", body)
    receipt(holdfast.put("/items/1", KEPT))
    assert "content-encoding" not in holdfast.get("/items/1").headers
    assert holdfast.patch("/items/1", {"n": 3}, content_encoding="identity").status == 202
    assert "content-encoding" not in holdfast.get("/items/1").headers
