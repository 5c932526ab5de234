"""Searches with settings, as they are written."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from polytune.errors import SearchError
from polytune.tuner import FiniteSearcher, HierarchicalTuner, Integer, Is, Method, Nominal, Space, make_search, tune
from polytune.tuner.hierarchy.methods import methods_of
from polytune.tuner.searchers import SEARCHES
from polytune.tuner.searchers.finite.genetic import Genetic
from polytune.tuner.spaces.finite import FiniteSpace

SPACE = Space(
    [
        Nominal("version", ("plain", "tiled", "packed")),
        Integer("tile", 1, 64, when=Is("version", "tiled", "packed")),
        Integer("threads", 1, 8),
    ]
)
TABLE = FiniteSpace.from_space(SPACE)


class Descending(FiniteSearcher):
    """The last row first."""

    def _propose(self):
        return next((row for row in reversed(range(len(self.space))) if row not in self.costs), None)


def cost(configuration) -> float:
    return abs(configuration.get("tile", 0) - 20) + configuration["threads"] + len(configuration["version"])


@pytest.mark.parametrize(
    ("written", "name", "settings"),
    [
        ("genetic", "genetic", {}),
        ("genetic:population=30, mutation=0.2", "genetic", {"population": 30, "mutation": 0.2}),
        ("greedy:adjacent=true", "greedy", {"adjacent": True}),
        ("random_forest:trees=none", "random_forest", {"trees": None}),
        (Method("tpe", good=0.5), "tpe", {"good": 0.5}),
    ],
)
def test_what_is_written_is_what_is_meant(written, name, settings):
    method = Method.of(written)
    assert (method.name, method.settings) == (name, settings)
    assert Method.of(str(method)) == method


def test_settings_reach_the_search():
    rng = np.random.default_rng(0)
    assert isinstance(make_search(Method(Genetic), TABLE, rng), Genetic)

    def asked(*search, **settings):
        made = make_search(*search, TABLE, np.random.default_rng(3), **settings)
        rows = []
        for _ in range(60):
            rows.append(made.ask())
            made.tell(rows[-1], cost(TABLE.configuration(rows[-1])))
        return rows

    seven = asked("genetic", population=7)
    assert asked("genetic:population=7") == asked("genetic:population=7", population=9) == seven
    assert asked(Method("genetic", population=7)) == seven != asked("genetic")
    assert asked(Method("genetic", mutation=1)) != asked("genetic")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("gentic:population=3", "no search 'gentic'; did you mean 'genetic'"),
        ("genetic:size=3", "has no setting 'size'; it has population, mutation"),
        ("random:size=3", "has no setting 'size'; it has none"),
        ("genetic:population=many", "takes a whole number for population, not 'many'"),
        ("genetic:population=3.5", "takes a whole number for population, not 3.5"),
        ("greedy:adjacent=1", "takes true or false for adjacent, not 1"),
        ("genetic:population", "settings as name=value with commas between"),
        ("annealing:temperature=0", "temperature > 0"),
        ("genetic:mutation=2", "mutation"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(written, message):
    with pytest.raises(SearchError, match=message):
        SEARCHES.check(written)
    with pytest.raises(SearchError, match=message):
        HierarchicalTuner(SPACE, rng=np.random.default_rng(0), searchers={"numeric": written})


@pytest.mark.parametrize(
    ("searchers", "message"),
    [
        ({"nominal": "epsilon_greedy:epsilon=2"}, "epsilon of from 0 to 1, not 2"),
        ({"version": "epsilon_greedy:first=3"}, "no setting 'first'; it has epsilon, decay, promise, first_visits"),
        ({"numeric": "nelder_mead:tolerance=-1"}, "a tolerance of 0 or more"),
        ("hierarchical:epsilon=0.5", "settings belong to the method of a node"),
    ],
)
def test_settings_of_the_two_searches_of_nodes_are_checked(searchers, message):
    with pytest.raises(SearchError, match=message):
        HierarchicalTuner(SPACE, rng=np.random.default_rng(0), searchers=searchers)


def test_a_search_alone_is_that_of_all_nodes_but_for_two():
    assert methods_of(None) == methods_of("hierarchical") == {}
    assert methods_of("random") == {"nominal": Method("random"), "numeric": Method("random")}
    assert methods_of("epsilon_greedy:decay=0.5") == {"nominal": Method("epsilon_greedy", decay=0.5)}
    assert methods_of("nelder_mead") == {"numeric": Method("nelder_mead")}
    assert methods_of({"tile": Descending}) == {"tile": Method(Descending)}


def test_a_class_searches_a_node():
    seen = []
    tune(lambda c: seen.append(c) or cost(c), SPACE, budget=40, searchers={"numeric": Descending}, repeats=1)
    # The start of a node first, then its last row, which is the largest of everything.
    tiled = [c for c in seen if c["version"] == "tiled"]
    assert (tiled[1]["tile"], tiled[1]["threads"]) == (64, 8)


def test_epsilon_decides_how_often_other_versions_are_tried():
    """With an epsilon of 1, every walk goes to a random version if it does not decay; with a decay of 1, one does."""
    space = Space([Nominal("version", tuple(f"v{n}" for n in range(4))), Integer("tile", 1, 10**6)])

    def changes(decay):
        searchers = {"nominal": f"epsilon_greedy:epsilon=1,decay={decay}", "numeric": "random"}
        search = HierarchicalTuner(space, rng=np.random.default_rng(1), searchers=searchers, repeats=1)
        asked = []
        for number in range(30):
            configuration = search.ask()
            asked.append(configuration["version"])
            search.tell(configuration, 1.0 + 0.01 * (asked[-1] != "v0") + 1e-6 * number)
        return sum(one != other for one, other in itertools.pairwise(asked[6:]))

    assert changes(0.0) >= 5
    assert changes(1.0) <= 3


def test_a_state_of_other_methods_is_refused():
    search = HierarchicalTuner(SPACE, rng=np.random.default_rng(0), searchers="genetic:population=5")
    for _ in range(30):
        configuration = search.ask()
        search.tell(configuration, cost(configuration))
    state = search.state()
    same = HierarchicalTuner(SPACE, rng=np.random.default_rng(1), searchers="genetic:population=5")
    same.restore(state)
    assert same.ask() == search.ask()
    for searchers in (None, "genetic:population=6"):
        with pytest.raises(ValueError, match="other search methods"):
            HierarchicalTuner(SPACE, rng=np.random.default_rng(1), searchers=searchers).restore(state)


def test_a_state_continues_with_a_class():
    def searching(seed):
        return HierarchicalTuner(SPACE, rng=np.random.default_rng(seed), searchers={"numeric": Descending}, repeats=1)

    search = searching(0)
    for _ in range(30):
        configuration = search.ask()
        search.tell(configuration, cost(configuration))
    other = searching(1)
    other.restore(search.state())
    for _ in range(10):
        configuration = search.ask()
        assert other.ask() == configuration
        search.tell(configuration, cost(configuration))
        other.tell(configuration, cost(configuration))
