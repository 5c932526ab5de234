"""Searches of other packages, found by their entry points."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from polytune.errors import SearchError
from polytune.lab import load, simulate
from polytune.lab.searchers import SEARCHES as LAB_SEARCHES
from polytune.tuner import SEARCHES, FiniteSearcher, FiniteSpace, Integer, Nominal, Space, make_search, tune
from polytune.tuner.searchers import search_class

OUTSIDE = Path(__file__).parent / "outside"
NAME = "coordinate_descent"
SPACE = Space([Nominal("version", ("plain", "tiled")), Integer("tile", 1, 16), Integer("unroll", 1, 8)])


@pytest.fixture
def installed(monkeypatch):
    """The package is one that ``pip install`` has put where Python looks."""
    monkeypatch.syspath_prepend(str(OUTSIDE))
    yield
    sys.modules.pop(NAME, None)


@pytest.fixture
def with_entry_point(monkeypatch, tmp_path):
    """A function that installs a package of one module with an entry point."""

    def install(name: str, module: str, text: str, member: str = "Search") -> None:
        (tmp_path / f"{module}.py").write_text(text)
        information = tmp_path / f"{module}-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(f"[polytune.searchers]\n{name} = {module}:{member}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def cost(configuration) -> float:
    return (
        1.0 + abs(configuration["tile"] - 11) + abs(configuration["unroll"] - 3) + (configuration["version"] == "plain")
    )


def rows_differ_in(space: FiniteSpace, one: int, other: int) -> int:
    return int((space.rows[one] != space.rows[other]).sum())


def test_it_is_not_there_before_it_is_installed():
    assert NAME not in SEARCHES
    with pytest.raises(SearchError, match=f"there is no search {NAME!r}"):
        search_class(NAME)


def test_it_is_found_and_follows_its_rule(installed):
    assert NAME in SEARCHES and NAME in LAB_SEARCHES
    assert SEARCHES[NAME] == "coordinate_descent:CoordinateDescent (package coordinate-descent)"
    space = FiniteSpace.from_space(SPACE)
    search = make_search(NAME, space, np.random.default_rng(0), start=7)
    assert isinstance(search, FiniteSearcher)
    asked = []
    for _ in range(16):
        asked.append(search.ask())
        search.tell(asked[-1], cost(space.configuration(asked[-1])))
    assert asked[0] == 7 and len(set(asked)) == 16
    assert rows_differ_in(space, asked[0], asked[1]) == 1
    continued = make_search(NAME, space, np.random.default_rng(1), start=7)
    continued.restore(json.loads(json.dumps(search.state())))
    assert continued.ask() == search.ask()


def test_tune_finds_the_best_configuration_with_it(installed, monkeypatch):
    proposals = []
    kind = search_class(NAME)
    propose = kind._propose
    monkeypatch.setattr(kind, "_propose", lambda self: (proposals.append(self.budget), propose(self))[1])
    result = tune(cost, SPACE, budget=120, searchers={"numeric": NAME})
    assert dict(result.best) == {"version": "tiled", "tile": 11, "unroll": 3}
    assert len(proposals) > 20, "the search of the package was asked"


def test_it_runs_on_recordings_beside_polytunes_own(installed):
    results = simulate(load("example:gemm"), [NAME, "random"], budgets=[20], repeats=3)
    found = {run.task.search: run for run in results.runs}
    assert set(found) == {NAME, "random"}
    assert all(len(run.slowdowns) == 20 and min(run.slowdowns) >= 1 for run in results.runs)


def test_a_name_of_polytunes_own_stays_polytunes_own(with_entry_point):
    with_entry_point("random", "impostor", "raise RuntimeError('loaded')")
    assert search_class("random").__module__ == "polytune.tuner.searchers.finite.random"


def test_what_cannot_be_loaded_is_named(with_entry_point):
    with_entry_point("broken", "broken_search", "import no_such_module_at_all")
    with pytest.raises(
        SearchError, match=r"'broken' of broken_search:Search \(package broken_search\) cannot be loaded"
    ):
        search_class("broken")


def test_what_is_no_search_is_named(with_entry_point):
    with_entry_point("number", "number_search", "Search = 3")
    with pytest.raises(SearchError, match="is no subclass of polytune"):
        search_class("number")
    with_entry_point(
        "half", "half_search", "from polytune.tuner import FiniteSearcher\nclass Search(FiniteSearcher): pass"
    )
    with pytest.raises(SearchError, match="is no subclass"):
        search_class("half")


def test_two_packages_with_one_name_are_both_named(with_entry_point):
    with_entry_point("twice", "first_search", "Search = 1")
    with_entry_point("twice", "second_search", "Search = 2")
    with pytest.raises(SearchError, match=r"there 2 times: first_search:Search .* and second_search:Search"):
        search_class("twice")


ASTRAY = """
from polytune.tuner import FiniteSearcher

class Search(FiniteSearcher):
    def __init__(self, space, rng, *, budget=None, step):
        super().__init__(space, rng, budget=budget)
        self.step = step

    def _propose(self): return self.step
    def _learn(self, index, cost): pass
    def _rule_state(self): return {}
    def _restore_rule(self, state): pass
"""


def test_a_search_that_goes_astray_is_stopped_with_a_sentence(with_entry_point):
    with_entry_point("astray", "astray_search", ASTRAY)
    space = FiniteSpace.from_space(SPACE)
    with pytest.raises(SearchError, match="the search 'astray' needs step"):
        make_search("astray", space, np.random.default_rng())
    with pytest.raises(SearchError, match=r"wants to know the cost of the row 256, .* the rows 0 to 255"):
        make_search("astray", space, np.random.default_rng(), step=256).ask()
    assert make_search("astray", space, np.random.default_rng(), step=5).ask() == 5
