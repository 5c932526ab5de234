"""How a result is judged."""

import numpy as np
import pytest

from polybench.benchmark import copy_arguments, norm_wise_error
from polybench.registry import benchmark


def test_small_values_are_judged_absolutely_and_large_ones_relatively():
    assert norm_wise_error(np.array([0.0, 0.1]), np.array([1e-3, 0.1])) == pytest.approx(1e-3)
    assert norm_wise_error(np.array([0.0, 100.0]), np.array([1e-3, 100.0])) == pytest.approx(1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_wrong(bad):
    assert norm_wise_error(np.array([1.0, 2.0]), np.array([1.0, bad])) == np.inf


def test_integers_that_wrap_round_do_not_hide_an_error():
    largest, smallest = np.array([2**31 - 1], np.int32), np.array([-(2**31)], np.int32)
    assert norm_wise_error(largest, smallest) == pytest.approx(2.0, rel=1e-6)


def test_empty_arrays_are_right():
    assert norm_wise_error(np.zeros((0, 3)), np.zeros((0, 3))) == 0.0


def test_an_input_that_changed_is_an_error(make_benchmark):
    found = make_benchmark()
    initial = found.initialise(tsteps=2, n=5)
    expected, actual = copy_arguments(initial), copy_arguments(initial)
    found.reference(*expected)
    found.reference(*actual)
    assert found.error_of(initial, expected, actual) == 0.0
    actual[0][3] += 1e-14
    assert found.error_of(initial, expected, actual) == np.inf


def test_copied_arguments_share_no_memory():
    array = np.zeros(3)
    number, copy = copy_arguments((1.5, array))
    copy[0] = 1
    assert number == 1.5
    assert array[0] == 0


class TestGramSchmidt:
    """Its result is determined in part only."""

    @pytest.fixture
    def solved(self):
        found = benchmark("gramschmidt")
        generator = np.random.default_rng(0)
        initial = generator.uniform(1, 2, (5, 7)), np.zeros((7, 7)), np.zeros((5, 7))
        expected = copy_arguments(initial)
        found.reference(*expected)
        return found, initial, expected

    def test_columns_of_rounding_errors_may_differ(self, solved):
        found, initial, expected = solved
        A, R, Q = copy_arguments(expected)
        # Another unit vector for a column that depends on the five before it, with a residual to match.
        Q[:, 6] = -Q[:, 6]
        A[:, 6] = -A[:, 6]
        assert found.error_of(initial, expected, (A, R, Q)) < 1e-12

    @pytest.mark.parametrize("array", [0, 1, 2])
    def test_determined_columns_may_not(self, solved, array):
        found, initial, expected = solved
        actual = copy_arguments(expected)
        actual[array][2, 3] += 1e-6
        assert found.error_of(initial, expected, actual) > 1e-8

    def test_dependent_columns_must_still_have_length_one(self, solved):
        found, initial, expected = solved
        A, R, Q = copy_arguments(expected)
        Q[:, 6] *= 2
        assert found.error_of(initial, expected, (A, R, Q)) > 0.1

    def test_columns_must_still_reproduce_the_matrix(self, solved):
        found, initial, expected = solved
        A, R, Q = copy_arguments(expected)
        R[5, 6] += 1e-3
        assert found.error_of(initial, expected, (A, R, Q)) > 1e-5

    def test_below_the_diagonal_nothing_is_written(self, solved):
        found, initial, expected = solved
        A, R, Q = copy_arguments(expected)
        R[6, 0] = 1.0
        assert found.error_of(initial, expected, (A, R, Q)) > 0.1
