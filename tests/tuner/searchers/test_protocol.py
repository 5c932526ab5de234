"""What every search of a finite space keeps to, whatever its method."""

from __future__ import annotations

import json
import math
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytune.errors import MeasurementError, MissingLibraryError, SearchError
from polytune.tuner import Constraint, Integer, Is, Nominal, Space
from polytune.tuner.counters.models import RecordedCounters
from polytune.tuner.counters.names import EXPECTED
from polytune.tuner.searchers import SEARCHES, make_search, search_class
from polytune.tuner.spaces.finite import FiniteSpace
from tests.tuner.random_spaces import spaces

NAMES = list(SEARCHES)

SPACE = FiniteSpace.from_space(
    Space(
        [
            Nominal("version", ("plain", "tiled", "vector")),
            Integer("tile", 4, 64, powers_of_two=True, when=Is("version", "tiled", "vector")),
            Integer("width", 1, 6, when=Is("version", "vector")),
            Integer("threads", 1, 8),
        ],
        [Constraint("tile * width <= 200")],
    )
)


def rugged(index):
    """A cost without any structure, infinite for some rows."""
    number = zlib.crc32(index.to_bytes(4, "little"))
    return math.inf if number % 5 == 0 else 1 + number % 1000


def counted(space):
    """A model of counters for the search that needs one: some work of a configuration, without meaning."""
    configurations = [space.configuration(row) for row in range(len(space))]
    profiles = [{EXPECTED.format("work"): float(zlib.crc32(repr(c).encode()) % 100)} for c in configurations]
    return RecordedCounters(configurations, profiles)


def make(name, space=SPACE, seed=0, **options):
    if name == "profile":
        options.setdefault("model", counted(space))
    try:
        return make_search(name, space, np.random.default_rng(seed), **options)
    except MissingLibraryError as error:
        pytest.skip(str(error))


def run(search, cost, evaluations):
    asked = []
    for _ in range(evaluations):
        asked.append(search.ask())
        search.tell(asked[-1], cost(asked[-1]))
    return asked


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_function_of_its_seed(name):
    one, same, other = (run(make(name, seed=seed, budget=40), rugged, 40) for seed in (1, 1, 2))
    assert one == same
    assert one != other or name == "full"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", [0, 1, 7, 23])
def test_it_continues_exactly_from_its_state(name, before):
    search = make(name, seed=3, budget=45)
    run(search, rugged, before)
    search.ask()
    state = json.loads(json.dumps(search.state()))
    other = make(name, seed=4, budget=45)
    run(other, rugged, 5)
    other.restore(state)
    assert other.best == search.best
    assert other.costs == search.costs
    assert run(other, rugged, 20) == run(search, rugged, 20)
    assert other.state() == search.state()


def test_the_state_of_another_search_is_refused():
    state = make("genetic").state()
    with pytest.raises(SearchError, match="its search is 'Genetic', not 'Annealing'"):
        make("annealing").restore(state)
    with pytest.raises(SearchError, match=f"its rows is {len(SPACE)}, not 3"):
        make("genetic", FiniteSpace.from_space(Space([Integer("a", 1, 3)]))).restore(state)


@pytest.mark.parametrize("name", NAMES)
def test_a_state_does_not_change_with_its_search(name):
    search = make(name, seed=3, budget=45)
    run(search, rugged, 12)
    state = search.state()
    copy = json.dumps(state)
    run(search, rugged, 12)
    assert json.dumps(state) == copy


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, deadline=None)
@given(space=spaces(), seed=st.integers(0, 99))
def test_it_asks_for_every_row_once(name, space, seed):
    finite = FiniteSpace.from_space(space)
    if len(finite) > 60:
        finite = FiniteSpace(finite.names, finite.levels, finite.ordered, finite.rows[:60])
    search = make(name, finite, seed)
    while not search.converged:
        row = search.ask()
        assert row == search.ask()
        assert row not in search.costs
        search.tell(row, rugged(row))
    assert sorted(search.costs) == list(range(len(finite)))
    costs = [rugged(row) for row in range(len(finite))]
    if min(costs) < math.inf:
        assert search.best[1] == min(costs) == costs[search.best[0]]
        assert search.ask() == search.best[0]
    else:
        assert search.best is None
        assert search.ask() == 0


@pytest.mark.parametrize("name", NAMES)
def test_it_goes_on_where_nothing_is_feasible(name):
    search = make(name, seed=5, budget=50)
    assert len(set(run(search, lambda index: math.inf, 50))) == 50
    assert search.best is None and search.converged


@pytest.mark.parametrize("name", NAMES)
def test_a_space_of_one_row(name):
    search = make(name, FiniteSpace.from_configurations(["a", "b"], [{"a": 1, "b": "x"}]))
    assert search.ask() == 0 and not search.converged
    search.tell(0, 2.5)
    assert search.converged and search.best == (0, 2.5) and search.ask() == 0


@pytest.mark.parametrize("name", NAMES)
def test_what_is_told_without_being_asked_for_is_known(name):
    search = make(name, seed=6)
    told = list(range(0, len(SPACE), 2))
    for index in told:
        search.tell(index, 1000.0 + index)
    assert search.best == (0, 1000.0)
    assert not set(run(search, rugged, 20)) & set(told)


@pytest.mark.parametrize("name", NAMES)
def test_costs_that_cannot_be(name):
    search = make(name)
    asked = search.ask()
    for cost in (math.nan, -1.0, -math.inf, "3", None):
        with pytest.raises(MeasurementError, match="cannot have the cost"):
            search.tell(asked, cost)
    for index in (-1, len(SPACE), "0", 0.5):
        with pytest.raises(MeasurementError, match=f"row {index!r} cannot have a cost"):
            search.tell(index, 1.0)
    assert search.ask() == asked and not search.costs
    search.tell(asked, 0.0)
    assert search.best == (asked, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_it_converges_with_its_budget(name):
    search = make(name, budget=9)
    run(search, rugged, 8)
    assert not search.converged
    run(search, rugged, 1)
    assert search.converged


@pytest.mark.parametrize("name", NAMES)
def test_a_row_told_again_keeps_the_lower_cost(name):
    search = make(name)
    asked = search.ask()
    for cost, kept in [(5.0, 5.0), (7.0, 5.0), (4.0, 4.0)]:
        search.tell(asked, cost)
        assert search.best == (asked, kept) and search.costs[asked] == kept


def test_unknown_names():
    with pytest.raises(SearchError, match="there is no search 'genetics'; did you mean 'genetic'"):
        make_search("genetics", SPACE, np.random.default_rng())
    with pytest.raises(SearchError, match=f"there is no search '!'; the searches are {', '.join(NAMES)}$"):
        search_class("!")
    with pytest.raises(SearchError, match="'genetic' has no setting 'populace'; it has population, mutation"):
        make_search("genetic", SPACE, np.random.default_rng(), populace=3)
    with pytest.raises(SearchError, match="'random' has no setting 'a'; it has none"):
        make_search("random", SPACE, np.random.default_rng(), a=1)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("latin_hypercube", {"samples": 0}),
        ("greedy", {"adjacent": "yes"}),
        ("epsilon_greedy", {"epsilon": 1.5}),
        ("annealing", {"temperature": 0}),
        ("annealing", {"distance": 0}),
        ("genetic", {"population": 1}),
        ("genetic", {"mutation": 2}),
        ("particle_swarm", {"particles": 0}),
        ("portfolio", {"patience": 0}),
    ],
)
def test_settings_that_make_no_sense(name, options):
    with pytest.raises(SearchError):
        make(name, **options)


def test_a_missing_library_is_a_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy.stats", None)
    monkeypatch.setitem(__import__("sys").modules, "scipy.stats.qmc", None)
    message = r'the Latin hypercube search needs scipy.*"polytune-compiler\[search\]"'
    with pytest.raises(MissingLibraryError, match=message):
        make_search("latin_hypercube", SPACE, np.random.default_rng())
