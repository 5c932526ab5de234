"""Kernels that are tuned by a search that their user chose."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import polytune
from polytune.errors import MeasurementError, SearchError, SpaceError
from polytune.tuner import Budget, FiniteSearcher, Method


def scaled(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 2.0 * A[i, j] + i - j


class Ascending(FiniteSearcher):
    """The rows in order; it notes what it is asked to search."""

    made: ClassVar[list[tuple[str, ...]]] = []

    def __init__(self, space, rng, *, budget=None, first: int = 0):
        super().__init__(space, rng, budget=budget)
        self.first = first
        Ascending.made.append(space.names)

    def _propose(self):
        return next((row for row in range(self.first, len(self.space)) if row not in self.costs), None)


def call(kernel, times=40, until=None):
    """Call a kernel so many times, or until something is so, and check what it does."""
    if until is None:
        return calls_of(kernel, 40, times)
    for rows in range(40, 60):  # a busy machine may make the first times of a size such that nothing more is tried
        tuner = calls_of(kernel, rows, 200, until)
        if until():
            break
    return tuner


def calls_of(kernel, rows, times, until=lambda: False):
    """Call a kernel with so many rows; gives their tuner."""
    A = np.arange(60.0 * rows).reshape(rows, 60)
    expected = 2 * A + np.arange(rows)[:, None] - np.arange(60)
    for _ in range(times):
        if until():
            break
        B = np.zeros_like(A)
        kernel(A, B)
        assert np.array_equal(B, expected)
    return kernel.tuner(A, np.zeros_like(A))


SETTINGS = {"budget": Budget.unlimited(), "background": False}


@pytest.mark.parametrize(
    "search",
    [
        "random",
        "profile",
        "genetic:population=4,mutation=0.5",
        "epsilon_greedy:epsilon=0.5,decay=0.01",
        {"nominal": "epsilon_greedy:epsilon=0.2", "numeric": "annealing:temperature=0.1"},
        Method("portfolio", initial=3),
    ],
    ids=str,
)
def test_results_are_right_whatever_searches(search):
    tuner = call(polytune.kernel(search=search, **SETTINGS)(scaled))
    assert len(tuner.ranking()) > 2


def test_a_class_searches_the_numbers_of_a_kernel():
    Ascending.made.clear()
    call(polytune.kernel(search={"numeric": Ascending}, **SETTINGS)(scaled), until=lambda: Ascending.made)
    assert Ascending.made and all("threads" in names or names[0].startswith("tile") for names in Ascending.made)


def test_the_strict_kernel_has_the_same_search():
    Ascending.made.clear()
    kernel = polytune.kernel(search={"numeric": Ascending}, **SETTINGS)(scaled)
    call(kernel.strict, until=lambda: Ascending.made)
    assert Ascending.made


def test_another_search_begins_anew_with_what_was_measured():
    first = call(polytune.kernel(search="random", **SETTINGS)(scaled))
    first.save()
    Ascending.made.clear()
    kernel = polytune.kernel(search="random", **SETTINGS)(scaled)
    other = kernel.searched(Method(Ascending, first=1), seed=3)
    second = call(other, 1)
    assert {configuration for configuration, _ in first.ranking()} <= {c for c, _ in second.ranking()}
    call(other, until=lambda: Ascending.made)
    assert Ascending.made


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ("gentic", "there is no search 'gentic'; did you mean 'genetic'"),
        ("genetic:size=4", "has no setting 'size'"),
        ({"numeric": "genetic:population=1"}, "population"),
        ({"tile_0": "tpe:good=many"}, "takes a number for good"),
        ("profile:batch=many", "takes a whole number for batch"),
        (3, "3 is no search"),
        ("online", "'online' is a search of recorded spaces, which polytune simulate runs"),
        ({"nominal": "hierarchical"}, "'hierarchical' is the search of all nodes together: write it alone"),
    ],
    ids=str,
)
def test_what_is_no_search_is_refused_where_it_is_written(search, message):
    with pytest.raises(SearchError, match=message):
        polytune.kernel(search=search)(scaled)


def test_a_node_that_the_space_does_not_have_is_refused_by_the_first_call():
    """Short calls are not tuned at first, and a program should not be told in its middle."""
    kernel = polytune.kernel(search={"tiel_0": "random"})(scaled)
    B = np.full((40, 60), -1.0)
    for _ in range(2):
        with pytest.raises(SpaceError, match="there is no parameter 'tiel_0'; did you mean 'tile_0'"):
            kernel(np.ones((40, 60)), B)
    assert (B == -1.0).all()


def test_a_model_that_cannot_be_read_is_refused_where_it_is_written(tmp_path):
    with pytest.raises(MeasurementError, match=r"absent\.json cannot be read: No such file"):
        polytune.kernel(search=f"profile:model={tmp_path / 'absent.json'}")(scaled)
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(MeasurementError, match=r"other\.json"):
        polytune.kernel(search={"numeric": Method("profile", model=tmp_path / "other.json")})(scaled)
