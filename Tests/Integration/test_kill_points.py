"""Killed on purpose at some of the points of all that kill_points.py knows; scripts/kill-points takes every one."""

import pytest

from kill_points import WORKS, run

# The first format has every step of a migration before it.
SOME = [name for name in WORKS if not name.startswith("migration") or name.endswith("schema-1")]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("work", SOME)
def test_what_was_acknowledged_outlives_a_kill_at_any_point(work):
    assert run(work, stride=6) > 0
