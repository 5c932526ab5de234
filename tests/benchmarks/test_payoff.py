"""When tuning has paid, from given times."""

import pytest

from benchmarks import payoff_calls
from benchmarks.payoff import Payoff, Trace, table
from polybench.datasets import Dataset
from polybench.registry import benchmark


def trace(tuned, default, compiling=None, explored=None):
    first = [100.0]  # the first calls, of which nothing is counted
    document = {
        "tuned": first + tuned,
        "compiling": first + (compiling or [0.0] * len(tuned)),
        "default": first + default,
        "explored": [1, *(explored or range(1, len(tuned) + 1))],
        "on_devices": 0,
        "best_configuration": {"version": "tiled"},
        "default_configuration": {"version": "source"},
    }
    return Trace.of_child(document)


def test_tuning_pays_from_the_call_on_after_which_it_is_never_behind():
    assert trace([1, 1, 1], [1, 1, 1]).paid_after == 1
    assert trace([3, 1, 1, 1], [2, 2, 2, 2]).paid_after == 2
    assert trace([1, 4, 1, 1], [2, 2, 2, 2]).paid_after == 3
    assert trace([1, 1, 9], [2, 2, 2]).paid_after is None


def test_compiling_is_told_apart():
    found = trace([2.0, 4.0, 1.0], [2.0, 2.0, 2.0], [0.0, 3.0, 0.0])
    assert found.tuned == (2.0, 1.0, 1.0)
    assert found.share == pytest.approx(4 / 6)
    assert found.share_with_compiling == pytest.approx(7 / 6)


def test_calls_until_nothing_else_is_tried():
    assert trace([1, 1, 1, 1], [1, 1, 1, 1], explored=[1, 1, 1, 1]).settled_after == 1
    assert trace([1, 1, 1, 1], [1, 1, 1, 1], explored=[1, 2, 3, 3]).settled_after == 3


def test_the_median_is_not_paid_where_half_are_not():
    paid, unpaid = trace([1, 1], [2, 2]), trace([3, 3], [2, 2])
    assert Payoff("gemm", Dataset.MINI, (paid, unpaid)).paid_after is None
    found = Payoff("gemm", Dataset.MINI, (paid, paid, unpaid))
    assert found.paid_after == 1
    assert "1 calls" in next(iter(table([found]).columns[3].cells))
    assert found.to_json()["share"]["median"] == 0.5


def test_calls_are_measured():
    found = payoff_calls.measure(benchmark("atax"), Dataset.MINI, 4, compiled=False)
    assert len(found["tuned"]) == len(found["default"]) == 4
    assert found["explored"][0] == 1 and found["explored"] == sorted(found["explored"])
    assert sum(found["compiling"]) == 0, "other numbers compile nothing"
    assert found["best_configuration"] == found["default_configuration"]


def test_calls_of_another_version_take_the_place_of_the_default():
    found = payoff_calls.measure(benchmark("atax"), Dataset.MINI, 2, False, "parallel")
    assert len(found["tuned"]) == len(found["default"]) == 2
    assert found["default_configuration"]["version"] == "parallel"
