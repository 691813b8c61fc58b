"""A user's day with an app and its extension: two processes, one mirror between them (seeds/002)."""

import shutil

import pytest

from service import eventually, receipt


@pytest.fixture
def day(origin, holdfast_with, tmp_path):
    """An app and an extension (a share sheet, say) that have one store of notes."""
    app = holdfast_with(storeRoots=[str(tmp_path)])
    extension = holdfast_with(storeRoots=[str(tmp_path)])
    mirror = str(tmp_path / "group")
    share(app, location={"primary": str(tmp_path / "app"), "mirror": mirror})
    share(extension, location={"mirror": mirror}, role="extension")
    return app, extension, tmp_path


def share(holdfast, **more):
    answer = holdfast.call("POST", "/cache/stores", {"name": "notes", "paths": ["/notes/**"], **more})
    assert answer.status == 201, answer
    return answer.json()


def mirror_of(holdfast):
    return holdfast.call("GET", "/cache/stores/notes").json()["mirror"]


def test_a_day_with_an_app_and_its_extension(origin, day):
    app, extension, _ = day
    # In the morning the app reads its notes; the extension has them too, without asking the origin.
    origin.put("/notes/1", {"id": "1", "text": "milk"})
    assert app.get("/notes/1").json()["text"] == "milk"
    eventually(lambda: extension.call("GET", "/cache/stores/notes").json()["entries"] == 1, 2)
    seen = len(origin.seen("GET", "/notes/1"))
    offline = "fetch-policy=FETCH_FROM_CACHE"
    assert extension.get("/notes/1", sync_policy=offline).json()["text"] == "milk"
    assert len(origin.seen("GET", "/notes/1")) == seen

    # In the train both write, and each sees what the other has written within a second.
    origin.stop()
    mine = receipt(app.put("/notes/1", {"id": "1", "text": "milk, bread"}))
    eventually(lambda: extension.get("/notes/1").json()["text"] == "milk, bread", 2)
    theirs = receipt(extension.put("/notes/2", {"id": "2", "text": "shared"}))
    eventually(lambda: app.get("/notes/2").status == 200, 2)
    assert app.get("/notes/2").json()["text"] == "shared"
    assert mirror_of(app)["delivers"] and not mirror_of(extension)["delivers"]

    # At work the network is back: the app delivers both, once each, and both know.
    origin.start()
    for process in (app, extension):
        process.await_state(mine, "delivered")
        process.await_state(theirs, "delivered")
    assert origin.json("/notes/1")["text"] == "milk, bread"
    assert origin.json("/notes/2")["text"] == "shared"
    assert len(origin.writes()) == 2

    # The app is killed in the evening; what the extension takes then goes out when the app is back.
    app.kill()
    origin.stop()
    late = receipt(extension.put("/notes/3", {"id": "3", "text": "late"}))
    origin.start()
    app.start()
    app.await_state(late, "delivered")
    assert origin.json("/notes/3")["text"] == "late"
    assert len(origin.seen("PUT", "/notes/3")) == 1


def test_a_mirror_that_is_removed_is_told_of_and_filled_again(origin, day):
    app, extension, folder = day
    extension.stop()
    origin.put("/notes/1", {"id": "1", "text": "milk"})
    assert app.get("/notes/1").status == 200
    origin.stop()
    shutil.rmtree(folder / "group")
    (folder / "group").write_text("in the way")
    answer = app.put("/notes/1", {"id": "1", "text": "bread"})
    assert (answer.status, answer.json()["type"]) == (500, "/problems/mirror-failed")
    assert (answer.json()["location"], answer.json()["accepted"]) == ("mirror", True)
    assert app.get("/notes/1").json()["text"] == "bread"
    assert app.call("GET", "/health/ready").json()["status"] == "degraded"
    (folder / "group").unlink()
    eventually(lambda: app.call("GET", "/health/ready").json()["status"] == "ready", 15)
    assert mirror_of(app)["out"] == []
    extension.start()
    assert extension.get("/notes/1").json()["text"] == "bread"
    origin.start()
    app.await_state(answer.headers["Sync-Operation"], "delivered")
    assert origin.json("/notes/1")["text"] == "bread"
