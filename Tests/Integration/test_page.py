"""The page of /cache/ui in Debian's Chromium: what people see and do. `scripts/check-ui` installs what it needs."""

import json
import os
import pathlib
import re
import shutil

import pytest

from service import eventually, receipt

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
if not CHROMIUM:
    pytest.skip("needs Debian's chromium", allow_module_level=True)
PICTURES = pathlib.Path(os.environ["PICTURES"]) if "PICTURES" in os.environ else None
EVIL = "<img src=x onerror=window.harmed=1><script>window.harmed=1</script>"


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda line: line.type == "error" and "401" not in line.text and page.faults.append(line.text))
    yield page
    assert page.faults == []
    context.close()


def picture(page, name):
    if PICTURES:
        page.screenshot(path=PICTURES / f"{name}.png")


def opened(page, service):
    page.goto(f"http://127.0.0.1:{service.port}/cache/ui")
    playwright.expect(page.locator("#network")).to_have_text("online")
    return page


def conflict(origin, service, target, base, mine, theirs):
    """A queued edit of `target` that meets another one at the origin."""
    origin.put(target, base)
    service.get(target)
    service.call("PUT", "/cache/network", {"offline": True})
    body = mine if isinstance(mine, bytes) else json.dumps(mine).encode()
    receipt(service.put(target, body, content_type="application/json"))
    origin.put(target, theirs)
    service.call("PUT", "/cache/network", {"offline": False})
    return service.await_conflict()


@pytest.mark.parametrize("side, kept", [("client", "Mallet"), ("server", "Hammer")])
def test_a_conflict_is_seen_live_side_by_side_and_resolved_by_clicking(origin, holdfast, page, side, kept):
    opened(page, holdfast)
    conflict(origin, holdfast, "/items/1", {"name": "Hammer", "price": 20, "tags": ["a"]},
             {"name": "Mallet", "price": 20, "tags": ["a"]}, {"name": "Hammer", "price": 30, "tags": ["a"]})
    page.get_by_role("button", name="Look at the conflict of PUT /items/1").click()
    playwright.expect(page.locator("#client mark")).to_have_count(2)
    marked = [mark.strip().rstrip(",") for mark in page.locator("#client mark").all_inner_texts()]
    assert marked == ['"name": "Mallet"', '"price": 20']
    playwright.expect(page.locator("#server mark")).to_have_count(2)
    picture(page, "conflict")
    page.get_by_role("button", name=f"Keep {side}").click()
    playwright.expect(page.locator("#conflict")).not_to_be_visible()
    playwright.expect(page.locator("#conflicts li")).to_have_count(0)
    assert origin.json("/items/1")["name"] == holdfast.get("/items/1").json()["name"] == kept


def test_a_merge_keeps_the_text_of_numbers_and_works_by_keyboard(origin, holdfast, page):
    conflict(origin, holdfast, "/items/1", b'{"a":1}', b'{"a":12345678901234567890.10}', b'{"a":3}')
    opened(page, holdfast)
    page.get_by_role("button", name="Look at the conflict").focus()
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#conflict")).to_be_visible()
    page.get_by_role("button", name="Edit a merge").focus()
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#merged")).to_have_value(re.compile(r"12345678901234567890\.10"))
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#conflict")).not_to_be_visible()
    assert b"12345678901234567890.10" in origin.documents["/items/1"].body


def test_what_is_no_json_is_not_sent(origin, holdfast, page):
    conflict(origin, holdfast, "/items/1", {"a": 1}, {"a": 2}, {"a": 3})
    opened(page, holdfast)
    page.get_by_role("button", name="Look at the conflict").click()
    page.get_by_role("button", name="Edit a merge").click()
    page.locator("#merged").fill('{"a":')
    page.get_by_role("button", name="Keep merged").click()
    playwright.expect(page.locator("#conflict-message")).to_contain_text("no JSON")
    assert len(holdfast.conflicts()) == 1


def test_markup_in_targets_and_bodies_is_shown_as_text(origin, holdfast, page):
    target = "/items/<img%20src=x%20onerror=window.harmed=1>"
    conflict(origin, holdfast, target, {"a": "1"}, {"a": EVIL}, {"a": EVIL + "2"})
    origin.order(method="PUT", path="/items/2", status=400, body=EVIL.encode())
    holdfast.call("PUT", "/cache/network", {"offline": True})
    identifier = receipt(holdfast.put("/items/2", {"a": 1}))
    holdfast.call("PUT", "/cache/network", {"offline": False})
    holdfast.await_state(identifier, "failed")
    opened(page, holdfast)
    page.get_by_role("button", name="Look at the conflict").click()
    playwright.expect(page.locator("#client")).to_contain_text("<script>window.harmed=1</script>")
    playwright.expect(page.locator("#conflict-title")).to_contain_text("<img")
    playwright.expect(page.locator("#failed")).to_contain_text("<img src=x")
    assert page.locator("main img, main script, dialog img, dialog script").count() == 0
    assert page.evaluate("window.harmed") is None
    picture(page, "markup")


def test_switches_retry_and_discard(origin, holdfast, page):
    opened(page, holdfast)
    page.get_by_role("button", name="Go offline").click()
    playwright.expect(page.locator("#network")).to_have_text("offline-forced")
    receipt(holdfast.put("/items/1", {"a": 1}))
    playwright.expect(page.locator("#queue li")).to_have_count(1)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Discard PUT /items/1").click()
    playwright.expect(page.locator("#queue li")).to_have_count(0)
    origin.order(method="PUT", path="/items/2", status=400)
    identifier = receipt(holdfast.put("/items/2", {"a": 2}))
    page.get_by_role("button", name="Suspend").click()
    playwright.expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.get_by_role("button", name="Go online").click()
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Retry PUT /items/2").click()
    holdfast.await_state(identifier, "delivered")
    playwright.expect(page.locator("#failed li")).to_have_count(0)
    page.get_by_role("button", name="Sync now").click()
    picture(page, "page")


def test_it_asks_for_the_token_and_sends_it(origin, holdfast_with, page):
    service = holdfast_with(accessTokens=["a secret"])
    page.goto(f"http://127.0.0.1:{service.port}/cache/ui")
    page.locator("#token").fill("wrong")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#token")).to_have_value("")
    page.locator("#token").fill("a secret")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#network")).to_have_text("online")
    assert page.evaluate("[sessionStorage.length, localStorage.length]") == [1, 0]
    page.get_by_role("button", name="Go offline").click()
    playwright.expect(page.locator("#events")).to_contain_text("offline-forced")


def test_it_fits_a_phone(origin, holdfast, chromium):
    conflict(origin, holdfast, "/items/" + "x" * 300, {"a": 1}, {"a": "y" * 300}, {"a": 3})
    context = chromium.new_context(viewport={"width": 360, "height": 740}, device_scale_factor=2, is_mobile=True)
    page = opened(context.new_page(), holdfast)
    picture(page, "phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Look at the conflict").click()
    assert page.evaluate("document.querySelector('#conflict').scrollWidth") <= 360
    picture(page, "phone-conflict")
    context.close()
