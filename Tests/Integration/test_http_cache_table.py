"""The table of README on HTTP caching says what is tested."""

import pathlib

from cache_cases import CATEGORIES, compared

README = pathlib.Path(__file__).parents[2] / "README.md"


def cells():
    lines = README.read_text().split("\n## HTTP caching\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows}


def test_the_table_has_every_category_with_the_count_of_its_cases():
    table = cells()
    expected = {category: [str(len(cases)), str(len(compared(category)) or "–")] for category, cases in CATEGORIES.items()}
    assert {category: table[category][:2] for category in CATEGORIES if category in table} == expected
    sums = [sum(map(len, CATEGORIES.values())), sum(len(compared(category)) for category in CATEGORIES)]
    assert table["**all**"][:2] == list(map(str, sums))


def test_no_case_is_left_out_of_the_table():
    modules = pathlib.Path(__file__).parent.glob("test_http_cache_*.py")
    run = {id(steps) for module in modules for steps in getattr(__import__(module.stem), "CASES", {}).values()}
    assert run <= {id(steps) for cases in CATEGORIES.values() for steps in cases.values()}
