"""Comparing searches: the test, the effect, the score, and when tuning has paid."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytune.lab import simulate
from polytune.lab.place import Line
from polytune.lab.recording import RecordedSpace, Recorder
from polytune.lab.results import Results, Setting, expected_random_curve, mean_curve
from polytune.lab.run import Run, Task
from polytune.lab.score import aggregate, score, score_interval, score_of_curves
from polytune.lab.statistics import calls_to_pay, compare, corrected, mann_whitney, time_per_call

samples = st.lists(st.sampled_from([1.0, 1.25, 1.5, 2.0, math.inf]), min_size=1, max_size=12)


@given(samples, samples)
@settings(max_examples=50, deadline=None)
def test_u_counts_the_pairs_won(sample, baseline):
    u, p = mann_whitney(sample, baseline)
    won = sum(0.5 if a == b else float(a < b) for a, b in product(sample, baseline))
    assert u == won
    assert 0 <= p <= 1


def test_p_of_a_known_case():
    # Of the C(10, 5) = 252 orders of two samples of five, two are as extreme as complete separation.
    assert mann_whitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == (25.0, pytest.approx(2 / 252))


def test_equal_samples_do_not_differ():
    assert mann_whitney([2.0] * 5, [2.0] * 7) == (17.5, 1.0)


def results_of(recorded, **slowdowns) -> Results:
    """Runs of one evaluation each."""
    runs = [Run(Task(name, 1, i), (s,)) for name, values in slowdowns.items() for i, s in enumerate(values)]
    return Results.ordered(Setting.of(recorded, 0), runs)


def space_of(slowdowns) -> RecordedSpace:
    """A space of one parameter whose configurations have the slowdowns given."""
    recorder = Recorder("table", "", ("a",))
    for a, slowdown in enumerate(slowdowns):
        times = [slowdown] if slowdown < math.inf else []
        recorder.add({"a": a}, times, "ok" if times else "failed", place=Line("table", 1))
    return recorder.build("table")


def test_compare(recorded):
    results = results_of(recorded, random=[2.0, 4.0, 3.0, 5.0, 6.0], genetic=[1.0, 2.0, 1.5, 1.25, 1.75])
    found = compare(results, "random", "genetic", 1)
    assert (found.median_slowdown, found.mean_slowdown) == (1.5, 1.5)
    assert found.percentage_of_optimum == pytest.approx(100 / 1.5)
    assert found.speedup == pytest.approx(4 / 1.5)
    assert found.effect == pytest.approx(24.5 / 25)
    exact = results.setting.random_curve[0]  # the baseline is what random search has on average, not its five runs
    assert found.score == pytest.approx((exact - 1.5) / (exact - 1))
    assert found.is_significant == (found.p < 0.01)
    assert found.calls_to_pay == 1  # every configuration evaluated is faster than the space's median
    against_itself = compare(results, "random", "random", 1)
    assert (against_itself.effect, against_itself.score, against_itself.speedup) == (0.5, 0.0, 1.0)
    assert not against_itself.is_significant


def test_json_has_no_infinities(recorded):
    results = results_of(recorded, random=[2.0, math.inf, math.inf], genetic=[math.inf] * 3)
    document = compare(results, "random", "genetic", 1).to_json()
    assert document["mean_slowdown"] is None
    assert document["speedup"] is None
    assert document["effect"] == pytest.approx((6 * 0.5) / 9)


def test_score_is_0_for_the_baseline_and_1_for_the_optimum():
    reference = np.array([3.0, 2.5, 2.0])
    assert score_of_curves(reference, reference, 3.0) == 0
    assert score_of_curves(np.ones(3), reference, 3.0) == 1
    assert score_of_curves(2 * reference - 1, reference, 3.0) == -1


def test_score_leaves_out_what_means_nothing():
    curve = np.array([math.inf, 2.0, 1.0, 7.0])
    reference = np.array([5.0, 3.0, 2.0, 1.01])  # the last one is 1 % of the way from the optimum to the median
    assert score_of_curves(curve, reference, 2.0) == pytest.approx((1 / 2 + 1) / 2)
    assert math.isnan(score_of_curves(np.ones(2), np.ones(2), 2.0))
    assert aggregate([0.5, math.nan, 1.0]) == 0.75
    assert math.isnan(aggregate([]))


def test_score_of_a_perfect_search_on_a_space(recorded):
    results = simulate(recorded, ["random"], [10], 20)
    best = [Run(Task("oracle", 10, i), (1.0,) * 10) for i in range(20)]
    both = Results.ordered(results.setting, [*results.runs, *best])
    assert score(both, "oracle", "random", 10) == 1.0


def test_the_score_does_not_depend_on_the_runs_of_random_search(recorded):
    genetic = simulate(recorded, ["genetic"], [15], 5).runs
    scores = set()
    for seed in range(3):
        runs = simulate(recorded, ["random"], [15], 2, seed=seed)
        scores.add(score(Results.ordered(runs.setting, [*runs.runs, *genetic]), "genetic", "random", 15))
    assert len(scores) == 1
    old = replace(runs.setting, random_curve=())  # as of a file of an earlier version: the runs have to do
    assert score(Results.ordered(old, [*runs.runs, *genetic]), "genetic", "random", 15) not in scores
    assert score(runs, "random", "random", 15) == 0.0


def test_the_interval_of_a_score_holds_it_and_narrows_with_the_runs(recorded):
    results = simulate(recorded, ["genetic"], [20], 16)
    more = [replace(run, task=Task("genetic", 20, 16 * i + j)) for i in range(9) for j, run in enumerate(results.runs)]
    low, high = score_interval([results, results], "genetic", 20)
    assert low < score(results, "genetic", "random", 20) < high
    narrow = score_interval([Results.ordered(results.setting, more)] * 2, "genetic", 20)
    assert narrow[1] - narrow[0] == pytest.approx((high - low) / 3, rel=0.3)  # nine times as many runs like them
    best = Results.ordered(results.setting, [Run(Task("oracle", 20, i), (1.0,) * 20) for i in range(5)])
    assert score_interval([best], "oracle", 20) == (1.0, 1.0)


def test_the_curve_of_random_search_is_the_mean_over_all_orders():
    """Also where failures come first: a search that draws at random has the score 0, and not less."""
    slowdowns = (40.0, 1.0, math.inf, 2.0, 7.0, math.inf)
    runs = [Run(Task("draws", 6, i), order) for i, order in enumerate(permutations(slowdowns))]
    median = 4.5  # of 1, 2, 7 and 40
    expected = expected_random_curve(np.array(slowdowns), 9)
    filled = []
    for run in runs:
        first = max(median, next(value for value in run.slowdowns if value < math.inf))
        filled.append([first if value == math.inf else value for value in run.curve.tolist()])
    assert expected == pytest.approx(np.mean(filled, axis=0))
    setting = replace(Setting.of(space_of(slowdowns), 0), random_curve=tuple(expected.tolist()))
    assert score(Results.ordered(setting, runs), "draws", "random", 6) == pytest.approx(0.0, abs=1e-9)


def test_random_search_comes_to_its_expected_curve(recorded):
    results = simulate(recorded, ["random"], [30], 600)
    expected = np.array(results.setting.random_curve[:30])
    assert mean_curve(results.runs)[10:] == pytest.approx(expected[10:], rel=0.05)


def test_evaluations_before_the_first_that_runs_count(recorded):
    setting = Setting.of(recorded, 0)

    def scored(*slowdowns):
        runs = [Run(Task("late", len(slowdowns), 0), slowdowns)]
        return score(Results.ordered(setting, runs), "late", "random", len(slowdowns))

    assert scored(math.inf, math.inf, 1.0) < scored(1.0, 1.0, 1.0) == 1.0
    assert scored(math.inf, math.inf, 1.0) == scored(setting.median, setting.median, 1.0)
    assert scored(math.inf, 50.0, 1.0) == scored(50.0, 50.0, 1.0)  # finding something bad is no worse than nothing


def test_the_correction_is_that_of_holm(recorded):
    results = results_of(recorded, random=[2.0] * 5, one=[1.0] * 5, two=[2.5, 1.0, 1.0, 1.0, 1.0], three=[2.0] * 5)
    made = [compare(results, "random", search, 1) for search in results.searches]
    found = {c.search: c.p_corrected for c in corrected(made)}
    p = {c.search: c.p for c in made}
    assert found["one"] == pytest.approx(min(3 * p["one"], 1.0))
    assert found["two"] == pytest.approx(max(found["one"], 2 * p["two"]))
    assert found["three"] == 1.0 and found["random"] == p["random"]
    assert found["one"] > p["one"]


def test_time_per_call():
    run = Run(Task("random", 3, 0), (4.0, math.inf, 1.0))
    # untuned 2: the calls take 4, 2 (the typical one stands in), 1, and then 1 each
    found = time_per_call([run], 2.0, np.array([1, 2, 3, 5, 100]))
    assert found == pytest.approx([4 / 2, 6 / 4, 7 / 6, 9 / 10, 104 / 200])
    assert np.isnan(time_per_call([Run(Task("random", 1, 0), (math.inf,))], 2.0, np.array([1]))).all()


@pytest.mark.parametrize(
    ("slowdowns", "untuned", "calls"),
    [
        ((4.0, math.inf, 1.0), 2.0, 5),
        ((1.0, 1.0), 2.0, 1),
        ((1.0, 6.0, 1.0, 1.0, 1.0, 1.0), 2.0, 6),
        ((1.5, 3.0), 1.5, math.inf),
        ((3.0, 1.5), 1.4, math.inf),
        ((4.0, 1.0), 2.0, 4),
    ],
)
def test_calls_to_pay(slowdowns, untuned, calls):
    run = Run(Task("random", len(slowdowns), 0), slowdowns)
    assert calls_to_pay(run, untuned) == calls
    if math.isfinite(calls):
        after = time_per_call([run], untuned, np.arange(1, 200))
        assert (after[calls - 1 :] < 1).all()
        assert calls == 1 or after[calls - 2] >= 1
