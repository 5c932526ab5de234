"""Bounds on errors hold for every order of a sum, also where its terms cancel, and a missing term is beyond them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.fuzz.comparing import Difference, compare
from tests.fuzz.references import prepared
from tests.fuzz.rounding import Bounded, UndecidedError
from tests.fuzz.samples import Sample

UNIT = 2.0**-53
CANCELLING = Sample(
    "def kernel(n, A, B):\n    for i in range(n):\n        B[0] += A[i] * 0.1\n",
    (("n", "30"), ("A", "np.random.default_rng(3).uniform(-1, 1, 30) * 1e5"), ("B", "np.zeros(2)")),
    "n, A, B",
    False,
)


def test_every_order_of_a_sum_is_within_the_bound() -> None:
    sample, reference = prepared(CANCELLING)
    assert reference is not None and reference.bounds is not None and not sample.strict
    choose = np.random.default_rng(0)
    for _ in range(50):
        arguments = sample.arguments(sample.function())
        _, terms, total = arguments.values
        for term in choose.permutation(terms * 0.1):
            total[0] += term
        compare(reference, arguments, None, sample)


def test_what_is_returned_has_a_bound_and_what_is_read_only_none_above_zero() -> None:
    frozen = "np.frombuffer(np.random.default_rng(3).uniform(-1, 1, 30).tobytes())"
    source = CANCELLING.source.replace("B[0] += A[i] * 0.1\n", "B[0] += A[i] * 0.1\n    s = B[0] / 3.0\n    return s\n")
    sample, reference = prepared(
        dataclasses.replace(CANCELLING, source=source, setup=(CANCELLING.setup[0], ("A", frozen), CANCELLING.setup[2]))
    )
    assert reference is not None and reference.bounds is not None and not sample.strict
    arguments = sample.arguments(sample.function())
    result = sample.function()(*arguments.values)
    compare(reference, arguments, result * (1 + 1e-15), sample)
    assert not reference.bounds["A"].any()
    with pytest.raises(Difference):
        compare(reference, arguments, result + 1e-3, sample)


@pytest.mark.parametrize(("place", "by"), [(0, 1e-3), (1, 1e-9)])
def test_what_rounding_does_not_explain_is_found(place: int, by: float) -> None:
    sample, reference = prepared(CANCELLING)
    assert reference is not None
    arguments = sample.arguments(sample.function())
    sample.function()(*arguments.values)
    arguments.values[2][place] += by
    with pytest.raises(Difference):
        compare(reference, arguments, None, sample)


def test_what_rounding_may_decide_has_no_bound() -> None:
    third = Bounded(np.longdouble(1) / 3, 1 / 3, 2.0, UNIT)
    assert third * 3 > 0.5 and abs(-third) < 1
    for decides in (
        lambda: third * 3 > 1.0,
        lambda: 1.0 / (third * 3 - 1),
        lambda: (third * 3 - 1).sqrt(),
        lambda: int(third),
    ):
        with pytest.raises(UndecidedError):
            decides()


def test_what_is_exact_in_the_programs_own_order_alone_has_a_bound() -> None:
    """A sum whose first two terms cancel rounds nothing, and does in other orders."""
    source = "def kernel(A, B):\n    for i in range(3):\n        B[0] += A[i]\n"
    few = Sample(source, (("A", "np.array([0.5, -0.25, 3.0])"), ("B", "np.zeros(1)")), "A, B", False)
    many = dataclasses.replace(few, setup=(("A", "np.array([2.0**-54, -(2.0**-54), 1.0])"), ("B", "np.zeros(1)")))
    for sample, is_exact in ((few, True), (many, False)):
        reference = prepared(sample)[1]
        assert reference is not None and reference.bounds is not None
        assert bool(reference.bounds["B"].any()) is not is_exact


def test_exact_numbers_may_be_compared() -> None:
    half = Bounded(0.5, 0.5, 2.0, UNIT, -1)
    assert half + half == 1.0 and not half * half > 0.25 and half <= 0.5 and (half * 0).error == 0
    with pytest.raises(UndecidedError):
        assert half * 0.1 + 0.3 == 0.35


def test_infinities_of_the_program_itself_are_equal() -> None:
    """They are no numbers with bounds, and their difference is none."""
    source = "def kernel(A):\n    A[0] = np.inf\n    A[1] = np.nan\n    A[2] += 0.1\n"
    sample, reference = prepared(Sample(source, (("A", "np.ones(3)"),), "A", False))
    assert reference is not None and reference.bounds is not None
    arguments = sample.arguments(sample.function())
    sample.function()(*arguments.values)
    compare(reference, arguments, None, sample)
    arguments.values[0][0] = -np.inf
    with pytest.raises(Difference):
        compare(reference, arguments, None, sample)
