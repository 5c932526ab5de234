"""The analysis of variance is that of textbooks, and the steps of experiments say what was concluded from it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from polytune.tuner import HierarchicalTuner, Integer, Is, Nominal, Space, make_search
from polytune.tuner.models.analysis import DesignStep, VarianceRow, analysis_of_variance
from polytune.tuner.models.regression import fit_quantile
from polytune.tuner.spaces.finite import FiniteSpace

pytest.importorskip("statsmodels")
scipy_stats = pytest.importorskip("scipy.stats")

SPACE = Space(
    [
        Nominal("version", ("plain", "tiled")),
        Integer("tile", 1, 32, when=Is("version", "tiled")),
        Integer("unroll", 1, 8, when=Is("version", "tiled")),
        Integer("threads", 1, 8),
    ]
)


def cost(configuration) -> float:
    tile, unroll = configuration.get("tile", 1), configuration.get("unroll", 1)
    return math.exp(0.2 * abs(tile - 4) / 4 + 0.01 * unroll + 0.3 * (8 - configuration["threads"]) / 8)


def test_the_table_is_that_of_statsmodels():
    pandas = pytest.importorskip("pandas")
    formula = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    rng = np.random.default_rng(0)
    data = pandas.DataFrame({name: rng.uniform(-1, 1, 40) for name in "abc"})
    data["y"] = 3 * data.a - data.b + 0.3 * rng.normal(size=40)
    expected = anova.anova_lm(formula.ols("y ~ a + b + c", data).fit(), typ=1)
    matrix = np.column_stack([np.ones(40), data[["a", "b", "c"]]])
    found = analysis_of_variance(matrix, data.y.to_numpy(), ["1", "a", "b", "c"])
    assert [row.term for row in found] == ["a", "b", "c", "Residuals"]
    for row, (_, wanted) in zip(found, expected.iterrows(), strict=True):
        assert (row.degrees, row.sum_of_squares) == (wanted["df"], pytest.approx(wanted["sum_sq"]))
        assert [row.f, row.p] == pytest.approx([wanted["F"], wanted["PR(>F)"]], nan_ok=True)
    assert [row.mark for row in found[:2]] == ["***", "***"] and found[3].mark == ""


def test_where_nothing_is_left_nothing_is_tested():
    rng = np.random.default_rng(1)
    matrix = np.column_stack([np.ones(3), rng.normal(size=(3, 2))])
    found = analysis_of_variance(matrix, rng.normal(size=3), ["1", "a", "b"])
    assert found[-1].degrees == 0 and all(math.isnan(row.f) and math.isnan(row.p) for row in found)
    documents = json.loads(json.dumps([row.to_json() for row in found], allow_nan=False))
    again = [VarianceRow.from_json(document) for document in documents]
    assert [row.sum_of_squares for row in again] == [row.sum_of_squares for row in found]
    assert math.isnan(again[0].p)


def test_the_steps_say_what_was_fixed_and_why():
    table = FiniteSpace.from_space(Space([Integer("strong", 1, 16), Integer("weak", 1, 16), Integer("idle", 1, 8)]))
    search = make_search("dlmt", table, np.random.default_rng(0), budget=60)
    rng = np.random.default_rng(0)
    while not search.converged:
        row = search.ask()
        strong, weak, _ = table.configuration(row).values()
        search.tell(row, math.exp(0.2 * strong + 0.05 * weak + 0.01 * rng.normal()))
    first = search.steps[0]
    assert first.fixed == "strong" and first.predicted["strong"] == 1 and first.candidates == len(table)
    assert [row.term for row in first.table] == ["strong", "1/strong", "weak", "1/weak", "idle", "1/idle", "Residuals"]
    assert first.reason.startswith("strong keeps 1, its value in the best prediction: the p-values of the F-tests")
    assert first.points <= 60 and abs(first.power) < 1
    assert [step.fixed for step in search.steps if step.fixed] == list(search.fixed)
    assert json.loads(json.dumps(first.to_json())) == DesignStep.from_json(first.to_json()).to_json()
    other = make_search("dlmt", table, np.random.default_rng(1), budget=60)
    other.restore(json.loads(json.dumps(search.state())))
    assert list(other.steps) == list(search.steps)


def test_other_searches_have_no_steps():
    table = FiniteSpace.from_space(SPACE)
    assert not make_search("random", table, np.random.default_rng(0)).steps


def test_the_hierarchical_search_knows_the_experiments_at_its_nodes():
    search = HierarchicalTuner(SPACE, rng=np.random.default_rng(0), searchers={"numeric": "dlmt"}, repeats=1)
    for _ in range(120):
        configuration = search.ask()
        search.tell(configuration, cost(configuration))
    experiments = dict(search.experiments())
    assert "tiled" in {about["version"] for about in experiments}
    for about, steps in experiments.items():
        terms = {row.term for step in steps for row in step.table}
        assert "threads" in terms and (("tile" in terms) == (about["version"] == "tiled"))


def test_a_low_quantile_follows_the_lower_edge():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, 400)
    costs = 10 + 2 * x + rng.exponential(3.0, 400)
    matrix = np.column_stack([np.ones(400), x, x])  # the third cannot be told from the second
    low, high = (fit_quantile(matrix, costs, quantile) for quantile in (0.05, 0.95))
    scale = np.exp(np.log(costs).mean())
    assert (costs < scale * (matrix @ low)).mean() == pytest.approx(0.05, abs=0.02)
    assert (costs < scale * (matrix @ high)).mean() == pytest.approx(0.95, abs=0.02)
    assert low[2] == high[2] == 0
