"""A few seeds of the promise; `scripts/torture` runs as many as one likes."""

import pytest

import promise


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_catalogue_says_exactly_what_the_disk_says(seed, tmp_path):
    life = promise.Life(seed, tmp_path)
    life.live(steps=14)
    life.assert_promise()
