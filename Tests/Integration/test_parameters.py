"""Query parameters under /cache: those of the contract, no others; and lists that can be followed as they are."""

import json
import subprocess

import pytest

import contract

PAGES = [(method.upper(), path, {p["name"] for p in map(contract.resolved, operation.get("parameters", []))
                                 if p["in"] == "query"})
         for path, item in contract.document()["paths"].items() if path.startswith("/cache") and "/ui" not in path
         for method, operation in item.items() if "responses" in operation]


@pytest.mark.parametrize("method, path, names", PAGES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_page_takes_the_parameters_of_the_contract_and_no_other(holdfast, method, path, names):
    place = path.replace("{id}", "x").replace("{name}", "x")
    refused = holdfast.call(method, f"{place}?nonsense=1")
    assert refused.status == 400 and "“nonsense” is no parameter here" in refused.json()["detail"]
    for name in names - {"partition"} if path == "/cache/events" else names:
        answer = holdfast.call(method, f"{place}?{name}=x")
        assert b"is no parameter here" not in answer.body, answer


def test_next_of_the_entries_goes_into_a_query_as_it_stands(origin, holdfast):
    targets = [f"/items/{name}" for name in ("1", "a%20b", "a%23b", "a%26b=1", "a+b", "a?x=%25&y=1", "~")]
    for target in targets:
        assert holdfast.get(target).status == 404
    seen, after = [], ""
    while True:
        url = f"http://127.0.0.1:{holdfast.port}/cache/entries?limit=2{after}"
        page = json.loads(subprocess.run(["curl", "-sgf", url], capture_output=True, check=True).stdout)
        seen += [item["target"] for item in page["items"]]
        if "next" not in page:
            break
        after = "&after=" + page["next"]
    assert seen == sorted(targets)
