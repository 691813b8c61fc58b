"""Names that somebody chose so that tables would search long for each: the work grows with their number, not with its square."""

import pathlib

import pytest

from service import receipt

# Under h * 31 + c, "Aa" and "BB" have one hash; under h * 33 + c, "EZ" and "F9".
PAIRS = [("Aa", "BB"), ("EZ", "F9")]
FEW, MANY = 1 << 13, 1 << 15
LINEAR = MANY // FEW


def names(count, pair):
    """So many names with one hash."""
    bits = count.bit_length() - 1
    return ["".join(pair[number >> bit & 1] for bit in range(bits)) for number in range(count)]


def work(holdfast):
    """Nanoseconds that the service's threads have run."""
    tasks = pathlib.Path(f"/proc/{holdfast.process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


@pytest.mark.parametrize("pair", PAIRS, ids="".join)
def test_member_names_that_collide_elsewhere_cost_no_more_each(origin, holdfast, pair):
    costs = []
    for count in (FEW, MANY):
        target = f"/items/{count}"
        origin.put(target, {name: 0 for name in names(count, pair)})
        assert holdfast.get(target).status == 200
    origin.stop()
    for count in (FEW, MANY):
        changed = {name: 1 for name in names(count, pair)}
        before = work(holdfast)
        receipt(holdfast.patch(f"/items/{count}", changed))
        assert holdfast.get(f"/items/{count}").json() == changed
        costs.append(work(holdfast) - before)
    assert costs[1] < costs[0] * LINEAR * 2.5
