"""Figures are drawn from results alone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from polytune.lab import simulate
from polytune.lab.figures import confidence_interval, draw_all
from polytune.lab.results import Results
from polytune.lab.run import Run, Task
from polytune.lab.statistics import compare

pytest.importorskip("matplotlib")


def draw(results: Results, folder):
    comparisons = [compare(results, "random", s, b) for s in results.searches for b in results.budgets]
    return draw_all([results], comparisons, folder)


def test_every_figure_is_drawn(recorded, tmp_path):
    from matplotlib.image import imread

    files = draw(simulate(recorded, ["random", "genetic"], [5, 30], 5), tmp_path / "figures")
    assert [file.name for file in files] == [
        "convergence-bowl.png",
        "amortisation-bowl.png",
        "optimum-bowl.png",
        "effect-bowl.png",
        "speedup-bowl.png",
        "aggregate.png",
        "spaces.png",
    ]
    for file in files:
        pixels = imread(file)
        assert min(pixels.shape[:2]) > 400
        assert len({tuple(pixel) for row in pixels[::7, ::7].round(2) for pixel in row.tolist()}) > 3


def test_results_decide_what_is_drawn(recorded, tmp_path):
    few, many = (simulate(recorded, ["random", "genetic"], [30], n) for n in (3, 9))
    first, second = (draw(results, tmp_path / str(len(results.runs))) for results in (few, many))
    assert first[0].read_bytes() != second[0].read_bytes()
    assert first[-1].read_bytes() == second[-1].read_bytes()  # the space is the same


def test_runs_that_found_nothing_can_be_drawn(recorded, tmp_path):
    results = simulate(recorded, ["random"], [3], 3)
    nothing = [Run(Task("genetic", 3, i), (math.inf,) * 3) for i in range(3)]
    assert len(draw(Results.ordered(results.setting, [*results.runs, *nothing]), tmp_path)) == 7


def test_the_confidence_interval_of_a_mean():
    assert confidence_interval([3.0]) == (3.0, 3.0)
    values = np.random.default_rng(1).normal(10.0, 2.0, 60)
    low, high = confidence_interval(values)
    deviation = values.std() / math.sqrt(60)
    assert (low, high) == pytest.approx((values.mean() - 1.96 * deviation, values.mean() + 1.96 * deviation), abs=0.15)
    assert confidence_interval(values) == (low, high)


def test_names_are_no_formulas(recorded, tmp_path):
    space = replace(recorded, name=r"cost $\frac$ of $x_")
    assert len(draw(simulate(space, ["random"], [5], 3), tmp_path)) == 7
