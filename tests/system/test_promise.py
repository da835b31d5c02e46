"""A few seeds of the promise, for single scans and for the service; `scripts/torture` runs as many as one likes."""

import pytest

import ordeal
import promise


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_catalogue_says_exactly_what_the_disk_says(seed, tmp_path):
    life = promise.Life(seed, tmp_path)
    life.live(steps=14)
    life.assert_promise()


@pytest.mark.parametrize("seed", [2, 3, 4, 6])
def test_the_service_comes_to_say_exactly_what_the_disk_says(seed, tmp_path):
    ordeal.undergo(seed, tmp_path)
