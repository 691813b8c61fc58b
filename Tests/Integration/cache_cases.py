"""The cases of test_http_cache_*.py by what they are about, and a run of them against one cache."""

import concurrent.futures
import http.client
from dataclasses import dataclass, field

import test_http_cache_freshness as freshness
import test_http_cache_invalidation as invalidation
import test_http_cache_messages as messages
import test_http_cache_ranges as ranges
import test_http_cache_requests as requests
import test_http_cache_stale as stale
import test_http_cache_storing as storing
import test_http_cache_validation as validation
import test_http_cache_vary as vary
from cache_lab import Lab, Missed

CATEGORIES = {
    "which answers are stored (RFC 9111 3)": storing.STATUS,
    "directives of answers (5.2.2, RFC 8246)": storing.DIRECTIVES,
    "stored header fields (3.1, 7.3)": storing.FIELDS,
    "credentials (3.5)": storing.AUTHORIZATION,
    "variants (4.1)": vary.CASES,
    "lifetime (4.2.1)": freshness.MAX_AGE,
    "heuristic lifetime (4.2.2)": freshness.HEURISTIC,
    "age (4.2.3, 5.1)": freshness.AGE,
    "Expires and dates (5.3, RFC 9110 5.6.7)": freshness.EXPIRES,
    "stale answers (4.2.4, RFC 5861)": stale.STALE_USES,
    "requests to the origin for validation (4.3.1, 4.3.3)": validation.ASKED,
    "the client's conditions (4.3.2, RFC 9110 13)": {**validation.TAGS, **validation.DATES},
    "what 304 changes (3.2, 4.3.4)": validation.UPDATED,
    "ranges (RFC 9110 13.1.5, 14, 15.3.7)": ranges.RANGES,
    "HEAD (4.3.5)": validation.HEAD,
    "unsafe methods (4.4, RFC 9110 9.3.3)": invalidation.CASES,
    "directives of requests (5.2.1, 5.4)": requests.DIRECTIVES,
    "messages (RFC 9110, 9112)": messages.MESSAGES,
    "Cache-Status (RFC 9211)": messages.STATUS,
    "targeted directives (RFC 9213)": requests.TARGETED,
}

# Of something that other caches don't claim to have: not compared. Neither is what depends on directives of requests, which are
# advisory (RFC 9111 5.2.1), nor HEAD, for which others ask with GET.
OWN_CATEGORIES = {"credentials (3.5)", "HEAD (4.3.5)", "Cache-Status (RFC 9211)", "targeted directives (RFC 9213)"}
OWN_WORDS = ("Set-Cookie", "cookie", "is of one moment", "identity", "under both routes", "Server is kept", "Via names us")
# What the RFCs leave open is not compared either: another answer than ours is as good.
OPEN_WORDS = (
    # Heuristics are each cache's own (RFC 9111 4.2.2).
    "without freshness or validator nothing", "immutable is no lifetime", "public is no lifetime", "4.2.2: not longer",
    "4.2.2: a day at most", "a Last-Modified of the future", "an unreadable Last-Modified",
    # The first of several values may count (RFC 9111 4.2.1).
    "of two lifetimes the shorter", "an unreadable lifetime beside",
    # A cache may ask for the whole where a client has a condition (RFC 9111 4.3.1), and pass over If-Match (RFC 9110 13.1.1).
    "the client's own conditions go", "4.3.1: unquoted too", "whose condition was sent on", "13.1.1", "13.1.4", "15.5.13",
    # A gateway is the origin to its clients (RFC 9110 3.7).
    "Max-Forwards",
    # It may be refused (RFC 9110 14.2).
    "a range that can't be read",
    # What becomes of an answer that no origin may give.
    "a part that nobody asked for", "a Content-Range that can't be", "a part in another unit",
    # Nothing forbids to keep these.
    "Content-Range of a whole answer", "15.5.17: 416 is not given again",
)
ABOUT_AGE = {"lifetime (4.2.1)", "heuristic lifetime (4.2.2)", "age (4.2.3, 5.1)", "Expires and dates (5.3, RFC 9110 5.6.7)"}


def compared(category):
    """The cases of a category that every cache can be judged by."""
    if category in OWN_CATEGORIES:
        return {}
    return {name: steps for name, steps in CATEGORIES[category].items()
            if not any(word in name for word in OWN_WORDS + OPEN_WORDS) and not any(map(is_directed, steps))}


def is_directed(step):
    return any(line.startswith(("Cache-Control:", "Pragma:")) for line in step.sends)


@dataclass
class Score:
    passed: int = 0
    missed: list = field(default_factory=list)
    otherwise: list = field(default_factory=list)

    def __str__(self):
        notes = [f"{len(self.missed)} not reused"] * bool(self.missed) + [
            f"{len(self.otherwise)} otherwise"] * bool(self.otherwise)
        return str(self.passed) + (f" ({', '.join(notes)})" if notes else "")

    def __add__(self, other):
        return Score(self.passed + other.passed, self.missed + other.missed, self.otherwise + other.otherwise)


def score(lab: Lab, cases):
    """Runs cases one by one, or, where they wait for answers to grow old, side by side."""
    result = Score()

    def run(case):
        try:
            lab.run(case[1])
            return None
        except (AssertionError, OSError, http.client.HTTPException) as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(16 if lab.is_peer else 1) as pool:
        for name, error in zip(cases, pool.map(run, cases.items())):
            if error is None:
                result.passed += 1
            else:
                (result.missed if isinstance(error, Missed) else result.otherwise).append((name, error))
    return result


def rows(columns):
    """The lines of a table: `columns` has by title a cell for each category, and one for the sum."""
    yield "| " + " | ".join(["about", "cases", *columns]) + " |"
    yield "|---" * (len(columns) + 2) + "|"
    for category, cases in CATEGORIES.items():
        yield "| " + " | ".join([category, str(len(cases)), *(column[category] for column in columns.values())]) + " |"
