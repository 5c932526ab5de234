"""The functions of designed experiments as people call them."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from polytune.tuner import designs


def test_the_example_holds():
    result = doctest.testmod(designs)
    assert result.attempted >= 10 and result.failed == 0


@pytest.mark.parametrize("power", [-1.5, 0.0, 0.5, 1.0])
def test_the_transform_is_that_of_box_and_cox(power):
    import scipy.stats  # takes a second, which collecting the tests need not wait for

    costs = np.array([0.1, 1.0, 2.5, 40.0])
    assert designs.box_cox(costs, power) == pytest.approx(scipy.stats.boxcox(costs, lmbda=power))


def test_every_name_is_documented():
    assert all((getattr(designs, name).__doc__ or "").strip() for name in designs.__all__)
