"""HTTP caching correctness: faults that users met in systems of this kind."""

import pytest


@pytest.mark.parametrize("status", [200, 201, 204])
def test_H15_a_post_ends_the_freshness_of_its_target_whatever_2xx_it_got(origin, holdfast, status):
    origin.headers["Cache-Control"] = "max-age=600"
    origin.put("/items/1", {"n": 1})
    assert holdfast.get("/items/1").json()["n"] == 1
    origin.put("/items/1", {"n": 2})
    assert holdfast.get("/items/1").json()["n"] == 1
    origin.order(method="POST", status=status)
    assert holdfast.post("/items/1", {"n": 2}).status == status
    assert holdfast.get("/items/1").json()["n"] == 2
