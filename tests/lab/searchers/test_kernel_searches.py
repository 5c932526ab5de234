"""The search of kernels and calls that are tuned while they run, on recorded spaces."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from polytune.errors import SearchError
from polytune.lab import load, simulate
from polytune.lab.application import Application
from polytune.lab.searchers import SEARCHES
from polytune.tuner import FiniteSpace, Integer, Is, Nominal, Space

NAMES = ["hierarchical", "hierarchical:numeric=genetic,epsilon=0.3", "online", "online:numeric=random"]

SPACE = FiniteSpace.from_space(
    Space(
        [
            Nominal("version", ("plain", "tiled", "vector")),
            Integer("tile", 4, 64, powers_of_two=True, when=Is("version", "tiled", "vector")),
            Integer("width", 1, 6, when=Is("version", "vector")),
            Integer("threads", 1, 8),
        ]
    )
)


def make(name, seed=0, space=SPACE, **options):
    return SEARCHES.make(name, space, np.random.default_rng(seed), **options)


def cost(row):
    """The best is a vector version with tiles of 16, a width of 4 and 8 threads; plain versions fail with one."""
    values = SPACE.configuration(row)
    if values["version"] == "plain" and values["threads"] == 1:
        return math.inf
    tile = abs(math.log2(values.get("tile", 1)) - 4)
    return 1.0 + tile + abs(values.get("width", 12) - 4) + (8 - values["threads"]) / 8


def run(search, evaluations):
    asked = []
    for _ in range(evaluations):
        asked.append(search.ask())
        assert search.ask() == asked[-1]
        search.tell(asked[-1], cost(asked[-1]))
    return asked


@pytest.mark.parametrize("name", NAMES)
def test_they_find_the_optimum(name):
    for seed in range(5):
        search = make(name, seed, budget=150)
        run(search, 150)
        assert search.best is not None and search.best[1] <= (3.0 if "random" in name else 1.5)
        assert search.converged


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", [0, 5, 40])
def test_they_continue_exactly_from_their_state(name, before):
    search = make(name, 3, budget=100)
    run(search, before)
    search.ask()
    other = make(name, 4, budget=100)
    other.restore(json.loads(json.dumps(search.state())))
    assert run(other, 25) == run(search, 25)
    assert other.best == search.best


@pytest.mark.parametrize("name", NAMES)
def test_what_is_told_without_being_asked_for_is_known(name):
    search = make(name, 5, budget=60)
    for row in range(0, len(SPACE), 7):
        search.tell(row, cost(row))
    assert search.best is not None
    run(search, 30)


@pytest.mark.parametrize("name", NAMES)
def test_they_go_on_where_nothing_runs(name):
    search = make(name, 5, budget=60)
    for _ in range(60):
        search.tell(search.ask(), math.inf)
    assert search.best is None


def test_the_hierarchical_search_asks_for_nothing_twice():
    asked = run(make("hierarchical", 2), 120)
    assert len(set(asked)) == 120


def test_calls_run_mostly_the_best_known():
    asked = run(make("online", 2, budget=200), 200)
    last = [cost(row) for row in asked[-50:]]
    assert sum(each == min(last) for each in last) > 40


def test_a_state_of_other_calls_is_refused():
    search = make("online", 1)
    run(search, 10)
    state = search.state()
    rule = state["rule"]
    row = rule["calls"][0][0]
    rule["calls"][0][0] = row - 1 if row else 1
    with pytest.raises(SearchError, match="it would have made other calls"):
        make("online", 1).restore(state)


def test_the_graph_of_a_table_has_its_conditions():
    application = Application(SPACE, 0)
    kinds = {p.name: p.when for p in application.space.parameters}
    assert kinds["parameter_0"] is None and kinds["parameter_3"] is None
    assert kinds["parameter_1"] == Is("parameter_0", "tiled", "vector")
    assert kinds["parameter_2"] == Is("parameter_0", "vector")
    rows = [application.row(configuration) for configuration in application.space.enumerate()]
    assert sorted(rows) == list(range(len(SPACE)))
    assert [application.row(application.configuration(row)) for row in range(len(SPACE))] == list(range(len(SPACE)))


def test_absence_that_depends_on_more_than_one_name_is_a_level():
    configurations = [
        {"kind": kind, "fast": fast, **({"tile": tile} if tile else {})}
        for kind in ("a", "b")
        for fast in (False, True)
        for tile in ((4, 8) if kind == "b" and fast else (None,))
    ]
    table = FiniteSpace.from_configurations(["kind", "fast", "tile"], configurations)
    application = Application(table, 0)
    assert all(parameter.when is None for parameter in application.space.parameters)
    assert [application.row(application.configuration(row)) for row in range(len(table))] == list(range(len(table)))
    found = [application.row(configuration) for configuration in application.space.enumerate()]
    assert sorted(row for row in found if row is not None) == list(range(len(table)))
    rejected = [application.reject(c) for c in application.space.enumerate() if application.row(c) is None]
    assert rejected and set(rejected) == {"it is not a configuration of the space"}


def test_they_are_simulated_beside_others():
    results = simulate(load("example:gemm"), ["random", *NAMES[:3:2]], [60], 10)
    mean = {row["search"]: row["mean_slowdown"] for row in results.summary()["results"]}
    assert mean["hierarchical"] < mean["random"] and mean["online"] < mean["random"]
