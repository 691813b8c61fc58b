"""The HTTP caching cases side by side; see Benchmarks/http-cache."""

import argparse
import contextlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "Tests/Integration"))

import cache_peers
from cache_cases import ABOUT_AGE, CATEGORIES, Score, compared, rows, score
from cache_lab import TO_THE_LETTER, Lab
from origin import Origin
from service import Holdfast


@contextlib.contextmanager
def holdfast(origin):
    service = Holdfast(origin.url, **TO_THE_LETTER).start()
    try:
        yield cache_peers.Peer(service.port, "Holdfast")
    finally:
        service.close()


TARGETS = {"holdfast": holdfast, "nginx": cache_peers.nginx, "varnish": cache_peers.varnish}


def cases_for(category, lab):
    cases = compared(category)
    if not lab.is_peer or category in ABOUT_AGE:
        return cases
    return {name: cache_peers.really_aged(steps) for name, steps in cases.items()}


def measure(target, shows_failures):
    """The title of a target and its score by category."""
    origin = Origin().start()
    try:
        with TARGETS[target](origin) as cache:
            lab = Lab(origin, cache, is_peer=target != "holdfast")
            scores = {category: score(lab, cases_for(category, lab)) for category in CATEGORIES}
    finally:
        origin.stop()
    if shows_failures:
        for category, result in scores.items():
            for kind, failures in (("not reused", result.missed), ("otherwise", result.otherwise)):
                for name, error in failures:
                    print(f"{cache.title}: {category}: {kind}: {name}\n    {error}", file=sys.stderr)
    return cache.title, scores


def main():
    parser = argparse.ArgumentParser(prog="Benchmarks/http-cache")
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--failures", action="store_true", help="tell of each case that was not as it should be")
    options = parser.parse_args()
    measured = dict(measure(target, options.failures) for target in options.target or TARGETS)
    columns = {"compared": {category: str(len(compared(category)) or "–") for category in CATEGORIES}}
    for title, scores in measured.items():
        columns[title] = {category: str(result) if compared(category) else "–" for category, result in scores.items()}
    for row in rows(columns):
        print(row)
    sums = [str(sum(scores.values(), Score())) for scores in measured.values()]
    counts = [sum(map(len, CATEGORIES.values())), sum(len(compared(category)) for category in CATEGORIES)]
    print("| " + " | ".join(["**all**", *map(str, counts), *sums]) + " |")


if __name__ == "__main__":
    main()
