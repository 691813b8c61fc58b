"""The policies of the sync SDK: what is fetched, kept, refreshed, evicted, pinned and discarded."""

import pytest

from service import eventually, receipt, stays

# Online fresh, expired, missing; the same offline. `+` begins a refresh in the background.
TABLE = {
    "FETCH_FROM_CACHE": ("cache", "cache", 404, "cache", "cache", 404),
    "FETCH_FROM_SERVICE": ("origin", "origin", "origin", 503, 503, 503),
    "FETCH_FROM_SERVICE_IF_ONLINE": ("origin", "origin", "origin", "cache", "cache", 503),
    "FETCH_FROM_SERVICE_ON_CACHE_MISS_OR_EXPIRY": ("cache", "origin", "origin", "cache", 503, 503),
    "FETCH_FROM_SERVICE_ON_CACHE_MISS": ("cache", "cache", "origin", "cache", "cache", 503),
    "FETCH_FROM_CACHE_SCHEDULE_REFRESH": ("cache+", "cache+", "404+", "cache", "cache", 404),
    "FETCH_WITH_REFRESH": ("cache+", "origin", "origin", "cache", 503, 503),
    "HTTP_CACHE": ("cache", "origin", "origin", "cache", "cache", 504),
}
CELLS = ["fresh", "expired", "missing", "fresh", "expired", "missing"]


def cached(holdfast, target):
    """What is kept of a target, whether it has expired or not; None for nothing."""
    answer = holdfast.get(target, sync_policy="fetch-policy=FETCH_FROM_CACHE")
    return answer.json() if answer.status == 200 else None


def entry(holdfast, target):
    return holdfast.call("GET", f"/cache/entry?target={target}").json()


def pin(holdfast, target, priority="normal"):
    assert holdfast.call("PUT", f"/cache/entry/pin?target={target}", {"priority": priority}).status == 200


@pytest.mark.parametrize("policy", TABLE)
def test_each_fetch_policy_keeps_its_row_of_the_table(origin, holdfast, policy):
    for number, (state, expected) in enumerate(zip(CELLS, TABLE[policy])):
        target = f"/{state}/{number}"
        holdfast.go(offline=False)
        origin.put(target, {"v": 1})
        if state != "missing":
            lifetime = "NEVER_EXPIRE" if state == "fresh" else "EXPIRE_AFTER, expire-after=0"
            kept = holdfast.get(target, sync_policy=f"fetch-policy=FETCH_FROM_SERVICE, expiration-policy={lifetime}")
            assert kept.json() == {"v": 1}
        origin.put(target, {"v": 2})
        holdfast.go(offline=number > 2)
        asked = len(origin.seen(path=target))
        answer = holdfast.get(target, sync_policy=f"fetch-policy={policy}")
        kind = str(expected)
        if kind.startswith("cache"):
            assert answer.json() == {"v": 1}, (state, number)
        elif kind == "origin":
            assert answer.json() == {"v": 2}, (state, number)
        else:
            assert answer.status == int(kind[:3]), (state, number)
        if kind.endswith("+"):
            eventually(lambda: cached(holdfast, target) == {"v": 2})
        elif kind != "origin":
            assert len(origin.seen(path=target)) == asked, (state, number)


def test_a_copy_expires_by_time_at_a_restart_or_never(origin, holdfast_with):
    holdfast = holdfast_with(
        defaultPolicy={"fetchPolicy": "FETCH_FROM_SERVICE_ON_CACHE_MISS_OR_EXPIRY"},
        policies=[{"path": "/timed/*", "expirationPolicy": "EXPIRE_AFTER", "expireAfter": "1"},
                  {"path": "/run/*", "expirationPolicy": "EXPIRE_ON_RESTART"},
                  {"path": "/ever/*", "expirationPolicy": "NEVER_EXPIRE"}])
    for target in ("/timed/1", "/run/1", "/ever/1"):
        origin.put(target, {"v": 1})
        for _ in range(2):
            holdfast.get(target)
        assert len(origin.seen(path=target)) == 1
        assert not entry(holdfast, target)["serverCopy"]["expired"]
    eventually(lambda: holdfast.get("/timed/1") and len(origin.seen(path="/timed/1")) == 2)
    assert len(origin.seen(path="/run/1")) == 1
    holdfast.restart()
    assert entry(holdfast, "/run/1")["serverCopy"]["expired"]
    for target, asked in (("/run/1", 2), ("/ever/1", 1)):
        assert holdfast.get(target).json() == {"v": 1}
        assert len(origin.seen(path=target)) == asked


def test_a_start_evicts_what_has_expired_but_nothing_kept_by_hand_pinned_or_edited(origin, holdfast_with):
    holdfast = holdfast_with(policies=[
        {"path": "/news/**", "expirationPolicy": "EXPIRE_ON_RESTART", "evictionPolicy": "EVICT_ON_EXPIRY_AT_STARTUP"},
        {"path": "/ever/**", "expirationPolicy": "NEVER_EXPIRE", "evictionPolicy": "EVICT_ON_EXPIRY_AT_STARTUP"},
        {"path": "/maps/**", "expirationPolicy": "EXPIRE_ON_RESTART", "evictionPolicy": "MANUAL_EVICTION"}])
    kept = ["/news/pinned", "/news/edited", "/ever/1", "/maps/1"]
    for target in ["/news/1", *kept]:
        origin.put(target, {"v": 1})
        assert holdfast.get(target).status == 200
    pin(holdfast, "/news/pinned")
    origin.stop()
    assert holdfast.get("/news/1").status == 200
    receipt(holdfast.put("/news/edited", {"v": 2}))
    holdfast.restart()
    eventually(lambda: cached(holdfast, "/news/1") is None)
    assert [cached(holdfast, target) for target in kept] == [{"v": 1}, {"v": 2}, {"v": 1}, {"v": 1}]
    assert holdfast.get("/news/edited?persistentState=true").json() == {"v": 1}
    assert holdfast.call("DELETE", "/cache/entry?target=/maps/1").status == 204
    assert cached(holdfast, "/maps/1") is None


def test_a_full_store_gives_up_what_was_used_least_recently_and_nothing_that_is_to_stay(origin, holdfast_with):
    holdfast = holdfast_with(
        maxStoreSize="1MB", policies=[{"path": "/maps/*", "evictionPolicy": "MANUAL_EVICTION"}])
    origin.headers["Cache-Control"] = "max-age=3600"
    targets = ["/maps/1", "/pinned", "/read", *(f"/filler/{n}" for n in range(30))]
    for number, target in enumerate(targets):
        origin.put(target, {"v": f"{number:060000}"})
    pin(holdfast, "/pinned")
    for target in targets:
        assert holdfast.get(target).status == 200
        assert holdfast.get("/read").status == 200
    assert len(origin.seen(path="/read")) == 1
    for target in ("/maps/1", "/pinned", "/read", "/filler/29"):
        assert cached(holdfast, target), target
    assert not cached(holdfast, "/filler/0")


@pytest.mark.parametrize("policy", ["REFRESH_NONE", "REFRESH_EXPIRED_ITEM_ON_STARTUP",
                                    "PERIODICALLY_REFRESH_EXPIRED_ITEMS"])
def test_what_has_expired_is_refreshed_as_the_periodic_policy_says(origin, holdfast_with, policy):
    holdfast = holdfast_with(synchronization={
        "periodicRefreshPolicy": "PERIODIC_REFRESH_POLICY_" + policy, "periodicRefreshInterval": "1",
        "policies": [{"path": "/ever/*", "expirationPolicy": "NEVER_EXPIRE"}],
        "defaultPolicy": {"expirationPolicy": "EXPIRE_ON_RESTART", "evictionPolicy": "EVICT_ON_EXPIRY_AT_STARTUP"}})
    for target in ("/items/1", "/ever/1"):
        origin.put(target, {"v": 1})
        holdfast.get(target)
        origin.put(target, {"v": 2})
    holdfast.restart()
    if policy == "REFRESH_NONE":
        eventually(lambda: cached(holdfast, "/items/1") is None)
        assert len(origin.seen(path="/items/1")) == 1
        return
    eventually(lambda: cached(holdfast, "/items/1") == {"v": 2})
    assert cached(holdfast, "/ever/1") == {"v": 1}
    # A write that the origin does not answer with a tag leaves what was written, expired.
    origin.order(method="PUT", path="/items/1", status=204)
    holdfast.put("/items/1", {"v": 3})
    origin.put("/items/1", {"v": 4})
    if policy.startswith("PERIODICALLY"):
        eventually(lambda: cached(holdfast, "/items/1") == {"v": 4})
    else:
        stays(lambda: cached(holdfast, "/items/1") == {"v": 3}, 1.5)


def test_a_pinned_entry_is_downloaded_ahead_and_again_when_the_origin_is_back(origin, holdfast):
    origin.put("/manual", {"v": 1})
    pin(holdfast, "/manual")
    eventually(lambda: cached(holdfast, "/manual") == {"v": 1})
    holdfast.go(offline=True)
    origin.put("/manual", {"v": 2})
    holdfast.go(offline=False)
    eventually(lambda: cached(holdfast, "/manual") == {"v": 2})
    assert entry(holdfast, "/manual")["pin"] == "normal"
    assert holdfast.call("DELETE", "/cache/entries").json() == {"evicted": 0}


def test_pins_are_counted_also_after_a_restart(origin, holdfast):
    for target in ("/a", "/b"):
        origin.put(target, {"v": 1})
        pin(holdfast, target)

    def pinned():
        return holdfast.call("GET", "/cache").json()["pinned"]

    assert pinned() == 2
    assert holdfast.call("DELETE", "/cache/entry/pin?target=/a").status == 204
    assert pinned() == 1
    holdfast.restart()
    eventually(lambda: pinned() == 1)


def test_writes_to_pins_of_high_priority_are_delivered_first(origin, holdfast_with):
    holdfast = holdfast_with(replayConcurrency=1)
    for target in ("/a", "/b", "/urgent"):
        origin.put(target, {"v": 1})
        holdfast.get(target)
    holdfast.go(offline=True)
    for target in ("/a", "/b", "/urgent"):
        receipt(holdfast.put(target, {"v": 2}))
    pin(holdfast, "/urgent", "high")
    holdfast.go(offline=False)
    holdfast.await_drained()
    assert [r.path for r in origin.writes()] == ["/urgent", "/a", "/b"]


def test_noCache_keeps_nothing_and_queues_nothing(origin, holdfast_with):
    holdfast = holdfast_with(policies=[{"path": "/secret/**", "noCache": "true"}])
    origin.put("/secret/1", {"v": 1})
    for _ in range(2):
        assert holdfast.get("/secret/1").json() == {"v": 1}
    assert len(origin.seen("GET", "/secret/1")) == 2
    assert cached(holdfast, "/secret/1") is None
    holdfast.go(offline=True)
    assert holdfast.get("/secret/1").status in (503, 504)
    assert holdfast.put("/secret/1", {"v": 2}).status == 503
    assert not holdfast.operations()


def test_the_first_matching_path_has_the_policy_and_the_default_fills_it_up(origin, holdfast_with):
    holdfast = holdfast_with(
        policies=[{"path": "/a/*/nested", "fetchPolicy": "fetch-from-cache"},
                  {"path": "/a/**", "updatePolicy": "UPDATE_IF_ONLINE"}],
        defaultPolicy={"updatePolicy": "QUEUE_IF_OFFLINE", "fetchPolicy": "FETCH_FROM_SERVICE_IF_ONLINE"})
    for target in ("/a/x/nested", "/a/x/y/nested", "/A/x/nested"):
        origin.put(target, {"v": 1})
    assert [holdfast.get(t).status for t in ("/a/x/nested", "/a/x/y/nested", "/A/x/nested")] == [404, 200, 200]
    holdfast.go(offline=True)
    assert [holdfast.put(t, {}).status for t in ("/a/x/nested", "/a/x/y/nested", "/b")] == [202, 503, 202]
    assert holdfast.put("/a/x/y/nested?saveIfOffline=true", {}).status == 202
    assert holdfast.put("/b?saveIfOffline=false", {}).status == 503


@pytest.mark.parametrize("flag", ["", "?saveIfOffline=true", "?saveIfOffline=false"])
@pytest.mark.parametrize("policy", ["UPDATE_IF_ONLINE", "QUEUE_IF_OFFLINE"])
def test_an_online_save_gets_the_origins_own_answer_whatever_policy_and_flag(origin, holdfast_with, policy, flag):
    holdfast = holdfast_with(defaultPolicy={"updatePolicy": policy})
    assert holdfast.put("/items/1" + flag, {"v": 1}).status == 201
    assert origin.json("/items/1") == {"v": 1}
    origin.order(method="PUT", status=422, body=b"no")
    refused = holdfast.put("/items/1" + flag, {"v": 2})
    assert (refused.status, refused.body) == (422, b"no")
    assert not holdfast.operations()
    assert [r.path for r in origin.writes()] == ["/items/1"] * 2


def test_the_property_list_of_the_SDK_is_taken_as_it_is(origin, holdfast_with):
    holdfast = holdfast_with(synchronization={
        "maxStoreSize": "100", "periodicRefreshPolicy": "PERIODIC_REFRESH_POLICY_REFRESH_NONE",
        "periodicRefreshInterval": "120",
        "policies": [{"path": "/mobile/custom/API/endpoint/*", "expireAfter": "60", "expirationPolicy": "EXPIRE_AFTER",
                      "fetchPolicy": "FETCH_FROM_SERVICE_ON_CACHE_MISS_OR_EXPIRY",
                      "conflictResolutionPolicy": "SERVER_WINS", "noCache": "NO"}],
        "defaultPolicy": {"fetchPolicy": "FETCH_FROM_SERVICE_IF_ONLINE", "expirationPolicy": "EXPIRE_AFTER",
                          "expireAfter": "150", "evictionPolicy": "EVICT_ON_EXPIRY_AT_STARTUP"}})
    assert holdfast.call("GET", "/cache").json()["limits"]["store"] == 100_000_000
    table = holdfast.call("GET", "/cache/policies").json()
    assert table["policies"][0]["expireAfter"] == 60 and table["policies"][0]["noCache"] is False
    assert table["defaultPolicy"]["expireAfter"] == 150
    origin.put("/mobile/custom/API/endpoint/1", {"v": 1})
    for _ in range(2):
        assert holdfast.get("/mobile/custom/API/endpoint/1").status == 200
    assert len(origin.seen(path="/mobile/custom/API/endpoint/1")) == 1


def test_the_policy_of_a_request_stays_with_the_entry_over_a_restart(origin, holdfast):
    for target in ("/strict", "/plain"):
        origin.put(target, {"v": 1})
    holdfast.get("/strict", sync_policy="update-policy=UPDATE_IF_ONLINE, fetch-policy=FETCH_FROM_SERVICE")
    holdfast.get("/plain")
    holdfast.restart()
    assert entry(holdfast, "/strict")["policy"] == {"updatePolicy": "UPDATE_IF_ONLINE"}
    holdfast.go(offline=True)
    assert holdfast.put("/strict", {"v": 2}).status == 503
    assert holdfast.put("/plain", {"v": 2}).status == 202
    assert holdfast.put("/strict", {"v": 2}, sync_policy="update-policy=QUEUE_IF_OFFLINE").status == 202


def test_an_entry_shows_its_two_copies_and_its_flags(origin, holdfast):
    origin.headers["X-Served-By"] = "node-7"
    origin.put("/items/1", {"v": 1})
    holdfast.get("/items/1")
    synced = entry(holdfast, "/items/1")
    assert synced["serverCopy"]["headers"]["X-Served-By"] == "node-7"
    assert [synced[flag] for flag in ("hasOfflineUpdates", "hasConflicts", "hasOfflineCommitError")] == [False] * 3
    holdfast.go(offline=True)
    identifier = receipt(holdfast.put("/items/1", {"v": 2}))
    assert holdfast.get("/items/1").json() == {"v": 2}
    assert holdfast.get("/items/1?persistentState=true").json() == {"v": 1}
    assert entry(holdfast, "/items/1")["hasOfflineUpdates"]
    assert entry(holdfast, "/items/1")["lastSync"] == synced["lastSync"]
    receipt(holdfast.post("/items", {"v": 9}))
    new = next(e for e in holdfast.call("GET", "/cache/entries?state=pending-create").json()["items"])
    assert "lastSync" not in new and new["hasOfflineUpdates"]
    origin.order(method="PUT", status=422)
    holdfast.go(offline=False)
    holdfast.await_state(identifier, "failed")
    refused = entry(holdfast, "/items/1")
    assert [refused[flag] for flag in ("hasOfflineUpdates", "hasConflicts", "hasOfflineCommitError")] == [
        True, False, True]
    origin.put("/items/1", {"v": 5})
    holdfast.call("POST", f"/cache/operations/{identifier}/retry")
    holdfast.await_state(identifier, "conflict")
    assert [entry(holdfast, "/items/1")[f] for f in ("hasConflicts", "hasOfflineCommitError")] == [True, False]


def test_hits_and_misses_are_counted_since_the_start(origin, holdfast):
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/items/1", {"v": 1})
    for _ in range(4):
        holdfast.get("/items/1")
    holdfast.get("/items/2")

    def counts(path):
        found = holdfast.call("GET", path).json()
        return found["hits"], found["misses"]

    assert counts("/cache") == (3, 2)
    assert counts("/cache/entry?target=/items/1") == (3, 1)
    assert counts("/cache/entry?target=/items/2") == (0, 1)
    holdfast.restart()
    assert counts("/cache") == (0, 0)
    assert counts("/cache/entry?target=/items/1") == (0, 0)


def test_one_offline_edit_or_all_are_discarded_and_the_server_copies_stay(origin, holdfast):
    for target in ("/items/1", "/items/2", "/items/3"):
        origin.put(target, {"v": 1})
        holdfast.get(target)
    holdfast.go(offline=True)
    first = receipt(holdfast.put("/items/1", {"v": 2}))
    receipt(holdfast.put("/items/2", {"v": 2}))
    receipt(holdfast.delete("/items/3"))
    receipt(holdfast.post("/items", {"v": 4}))
    assert holdfast.call("DELETE", f"/cache/operations/{first}").status == 200
    assert holdfast.get("/items/1").json() == {"v": 1}
    assert holdfast.get("/items/2").json() == {"v": 2}
    assert holdfast.call("DELETE", "/cache/operations").json() == {"discarded": 3, "left": 0}
    assert [holdfast.get(f"/items/{n}").json() for n in (1, 2, 3)] == [{"v": 1}] * 3
    holdfast.go(offline=False)
    assert holdfast.call("POST", "/cache/sync?wait=5").status == 200
    assert not origin.writes()


@pytest.mark.parametrize("is_on", [True, False])
def test_the_agent_header_is_sent_where_oracleSync_asks_for_it(origin, holdfast_with, is_on):
    holdfast = holdfast_with(oracleSync=is_on)
    origin.put("/items/1", {"v": 1})
    holdfast.get("/items/1")
    holdfast.put("/items/1", {"v": 2})
    holdfast.go(offline=True)
    identifier = receipt(holdfast.put("/items/1", {"v": 3}))
    holdfast.go(offline=False)
    holdfast.await_state(identifier, "delivered")
    sent = {r.headers.get("oracle-mobile-sync-agent") for r in origin.seen(path="/items/1")}
    assert sent == ({"true"} if is_on else {None})


@pytest.mark.parametrize("respects", [True, False])
def test_no_store_of_the_origin_is_obeyed_unless_its_owner_says_otherwise(origin, holdfast_with, respects):
    holdfast = holdfast_with(defaultPolicy={
        "respectNoStore": respects, "fetchPolicy": "FETCH_FROM_SERVICE_IF_ONLINE"})
    origin.headers["Cache-Control"] = "no-store"
    origin.put("/items/1", {"v": 1})
    assert holdfast.get("/items/1").json() == {"v": 1}
    assert cached(holdfast, "/items/1") == (None if respects else {"v": 1})


def test_a_policy_sent_with_a_read_is_added_to_what_is_kept(origin, holdfast):
    origin.put("/items/1", {"v": 1})
    kept = {"conflictResolutionPolicy": "CLIENT_WINS", "evictionPolicy": "MANUAL_EVICTION"}
    assert holdfast.call("PUT", "/cache/entry/policy?target=/items/1", kept).status < 300
    holdfast.get("/items/1", sync_policy="offline-reads=HONOUR_ORIGIN")
    assert entry(holdfast, "/items/1")["policy"] == {**kept, "offlineReads": "HONOUR_ORIGIN"}


def test_no_cache_on_a_read_of_what_is_missing_forbids_no_later_write(origin, holdfast):
    assert holdfast.get("/items/1", sync_policy="no-cache").status == 404
    holdfast.go(offline=True)
    assert holdfast.put("/items/1", {"v": 1}).status == 202


def test_the_location_of_a_create_is_not_said_again_by_reads(origin, holdfast):
    origin.collections.add("/items")
    holdfast.go(offline=True)
    identifier = receipt(holdfast.post("/items", {"name": "new"}))
    holdfast.go(offline=False)
    target = holdfast.await_state(identifier, "delivered")["newTarget"]
    holdfast.go(offline=True)
    answer = holdfast.get(target)
    assert (answer.status, answer.headers["Location"]) == (200, None)
