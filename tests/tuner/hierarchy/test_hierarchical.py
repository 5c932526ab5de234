"""The hierarchical search: what it finds, in how many measurements, and what it never does."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytune.errors import MeasurementError, SearchError, SpaceError
from polytune.tuner import HierarchicalTuner, Integer, Is, Nominal, Ratio, Space
from tests.tuner.landscape import SPACE, Machine, cost
from tests.tuner.random_spaces import spaces


def tuner(space=SPACE, seed=0, **settings):
    return HierarchicalTuner(space, rng=np.random.default_rng(seed), **settings)


def run(search, measure, limit=500):
    """Ask and tell until converged; everything asked for, in order."""
    asked = []
    while not search.converged:
        assert len(asked) < limit, f"not converged after {limit} measurements: {search.best}"
        asked.append(search.ask())
        search.tell(asked[-1], measure(asked[-1]))
    return asked


def test_it_finds_the_best_of_a_noiseless_space_in_few_measurements():
    search = tuner()
    asked = run(search, cost)
    assert search.best[0]["version"] == "tiled" and cost(search.best[0]) == pytest.approx(1e-3, rel=0.06)
    assert asked[0] == SPACE.default()
    assert len(set(asked)) < 60 < SPACE.size()


def test_noise_and_outliers_cost_little():
    good = 0
    for seed in range(16):
        search = tuner(seed=seed)
        asked = run(search, Machine(seed).measure)
        assert len(asked) < 200
        good += cost(search.best[0]) <= 1.15 * 1e-3
    assert good >= 15  # a version interrupted at its first and at its second look is taken for slow


def test_nothing_is_measured_again_but_to_settle_what_is_best():
    asked = Counter(run(tuner(), cost))
    assert max(asked.values()) <= 3
    assert sum(1 for count in asked.values() if count > 1) <= 15


def test_a_single_lucky_measurement_is_not_believed():
    space = Space([Nominal("version", ("a", "b", "c"))])
    search, lucky = tuner(space), iter([0.1])
    run(search, lambda c: next(lucky, 2.0) if c["version"] == "b" else 1.0)
    assert search.best == (space.configuration(version="a"), 1.0)


def test_a_single_interruption_of_the_best_does_not_displace_it():
    space = Space([Nominal("version", ("a", "b", "c"))])
    search, interrupted = tuner(space), iter([0.5, 50.0])
    run(search, lambda c: next(interrupted, 0.5) if c["version"] == "b" else 1.0)
    assert search.best == (space.configuration(version="b"), 0.5)


def test_it_follows_the_best_when_that_becomes_slower():
    space = Space([Nominal("version", ("a", "b"))])
    search = tuner(space)
    run(search, lambda c: {"a": 1.0, "b": 0.5}[c["version"]])
    for _ in range(20):
        search.tell(space.configuration(version="b"), 2.0)
    assert search.best == (space.configuration(version="a"), 1.0)


def test_after_convergence_it_measures_what_is_left_each_once_then_the_best():
    space = Space([Nominal("version", ("a", "b")), Integer("tile", 1, 30, default=1)])
    search = tuner(space)

    def two_valleys(c):  # the start leads into the wrong one
        return 1.0 + 0.01 * abs(c["tile"] - 3) - (0.5 if c["tile"] == 29 and c["version"] == "b" else 0)

    run(search, two_valleys)
    for _ in range(200):
        configuration = search.ask()
        search.tell(configuration, two_valleys(configuration))
    assert len(search.measurements) == space.size() == 60
    assert search.ask() == search.best[0] == space.configuration(version="b", tile=29)


def test_failed_and_rejected_configurations_are_never_asked_for_again():
    reason = "tiles of 8 do not pay"
    search = tuner(reject=lambda c: reason if c.get("tile_0") == 8 else None)
    asked, failed = Counter(), set()
    for _ in range(300):
        configuration = search.ask()
        assert configuration not in failed and configuration.get("tile_0") != 8
        asked[configuration] += 1
        if configuration["version"] == "wavefront" or configuration["threads"] == 7:
            search.fail(configuration, "it does not compile")
            failed.add(configuration)
        else:
            search.tell(configuration, cost(configuration))
    assert failed and dict(search.failures) == dict.fromkeys(failed, "it does not compile")
    assert cost(search.best[0]) <= 1.06e-3


def test_a_space_where_everything_fails_says_so():
    search = tuner(Space([Nominal("version", ("a", "b"))]))
    for _ in range(2):
        search.fail(search.ask(), "no compiler")
    with pytest.raises(SpaceError, match=r"all 2 tried failed or were rejected, .* because no compiler"):
        search.ask()
    assert search.best is None


def test_the_best_may_fail_later():
    space = Space([Nominal("version", ("a", "b", "c"))])
    search = tuner(space)
    run(search, lambda c: {"a": 3.0, "b": 1.0, "c": 2.0}[c["version"]])
    search.fail(search.best[0], "the device is gone")
    assert search.best == (space.configuration(version="a"), 3.0)  # c has been measured only once
    assert not search.converged
    asked = run(search, lambda c: {"a": 3.0, "c": 2.0}[c["version"]])
    assert search.best == (space.configuration(version="c"), 2.0)
    assert [c["version"] for c in asked][:2] == ["c", "c"]


def test_rejection_costs_no_measurement():
    search = tuner(reject=lambda c: "too slow" if c["version"] != "wavefront" else None)
    assert {c["version"] for c in run(search, cost)} == {"wavefront"}


def test_the_order_is_a_prior_and_the_default_comes_first():
    space = Space([Nominal("version", tuple("abcd"))])
    asked = run(tuner(space, order=lambda c: -ord(c["version"])), lambda c: 1.0 + ord(c["version"]))
    assert list(dict.fromkeys(c["version"] for c in asked)) == ["a", "d", "c", "b"]


def test_starts_are_asked_for_first_and_searched_from():
    good = SPACE.configuration(version="tiled", tile_0=128, tile_1=16, unroll=2)
    search = tuner(starts=[good])
    asked = run(search, cost)
    assert asked[0] == good and search.best[0] == good
    assert SPACE.default() in asked
    assert len(set(asked)) < len(set(run(tuner(), cost)))


def test_real_parameters_are_searched():
    space = Space([Nominal("platform", ("cpu", "both")), Ratio("share", 0, 1, when=Is("platform", "both"))])
    search = tuner(space)
    run(search, lambda c: 1.0 if c["platform"] == "cpu" else 0.5 + abs(c["share"] - 0.7))
    assert search.best[0]["share"] == pytest.approx(0.7, abs=0.02)


def test_a_space_without_parameters_has_one_configuration():
    search = tuner(Space([]))
    assert len(run(search, lambda c: 1.0)) <= 4
    assert dict(search.best[0]) == {}


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, None, "1.0", np.float32("nan"), 1j])
def test_what_is_no_measurement_is_refused(seconds):
    with pytest.raises(MeasurementError, match="no measurement"):
        tuner().tell(SPACE.default(), seconds)


def test_a_measurement_of_another_space_is_refused():
    with pytest.raises(MeasurementError, match="not a configuration of the space"):
        tuner().tell(Space([Nominal("version", ("other",))]).default(), 1.0)


def test_what_is_wrong_with_a_told_configuration_is_said():
    search = tuner(Space([Nominal("version", ("a", "b")), Integer("tile", 1, 8, when=Is("version", "b"))]))
    for told, message in [
        ({"version": "a", "tyle": 3}, "there is no parameter 'tyle'; did you mean 'tile'"),
        ({"version": "b", "tile": 9}, "tile = 9 is not a whole number from 1 to 8"),
        ({"version": "a", "tile": 4}, "parameter 'tile' is inactive here"),
    ]:
        with pytest.raises(MeasurementError, match=message):
            search.tell(told, 1.0)
        with pytest.raises(MeasurementError, match=f"failed, but .*{message}"):
            search.fail(told, "too large")
    assert not search.measurements and not search.failures


def test_configurations_may_be_told_as_dictionaries_and_costs_in_any_number():
    search = tuner(Space([Nominal("version", ("a", "b")), Integer("tile", 1, 8, when=Is("version", "b"))]))
    search.tell({"version": "b", "tile": 4}, np.float32(0.5))
    search.tell(dict(search.ask()), np.int64(2))
    search.fail({"version": "b", "tile": 5}, "too large")
    assert search.best == (search.space.configuration(version="b", tile=4), 0.5)
    assert list(search.failures) == [search.space.configuration(version="b", tile=5)]


@pytest.mark.parametrize("method", ["random", "genetic", "portfolio", "nelder_mead"])
def test_any_search_takes_numbers_of_any_range(method):
    """A table of all of them would have 10^14 rows."""
    space = Space([Integer("a", 1, 10**9, logarithmic=True), Integer("b", 0, 10**5), Ratio("share", 0, 1)])
    search = tuner(space, searchers={"numeric": method})
    told = run(search, lambda c: 1 + abs(c["share"] - 0.25) + c["b"] / 10**5 + abs(np.log10(c["a"]) - 4), limit=400)
    assert len(told) > 50
    assert search.best[1] < 2  # the default costs 2.25


@pytest.mark.parametrize(
    ("searchers", "message"),
    [
        ({"nominal": "profile"}, "needs model=, the recorded or predicted counters"),
        ({"numeric": "gentic"}, "did you mean 'genetic'"),
        (["random"], r"^\['random'\] is no search: .* by node, as \{'nominal': 'genetic'\}$"),
    ],
)
def test_searchers_that_no_node_can_have(searchers, message):
    with pytest.raises(SearchError, match=message):
        tuner(searchers=searchers)


def test_the_search_is_a_function_of_the_seed():
    first, second = (run(tuner(seed=4), Machine(1).measure) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("stop", [0, 1, 2, 7, 20, 45, 150])
def test_a_restored_search_continues_exactly(stop):
    machine, search = Machine(3), tuner(seed=1)
    for index in range(stop):
        configuration = search.ask()
        if index % 11 == 5:
            search.fail(configuration, "it did not fit")
        else:
            search.tell(configuration, machine.measure(configuration))
    if stop % 2:
        search.ask()
    other = tuner(seed=99)
    other.restore(json.loads(json.dumps(search.state(), allow_nan=False)))
    for _ in range(100):
        configuration = search.ask()
        assert other.ask() == configuration
        seconds = machine.measure(configuration)
        search.tell(configuration, seconds)
        other.tell(configuration, seconds)
    assert search.best == other.best and search.failures == other.failures
    assert search.state() == other.state()


@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 2**32))
def test_on_any_space_it_proposes_members_and_converges_no_worse_than_the_default(space, seed):
    costs = np.random.default_rng(seed)
    known = {configuration: 0.5 + costs.random() for configuration in space.enumerate()}
    search = tuner(space, seed)
    asked = run(search, known.__getitem__, limit=3 * len(known) + 1)
    assert max(Counter(asked[:-1]).values()) <= 3  # when nothing is left, the best one is the answer
    assert known[search.best[0]] <= known[space.default()]
    assert search.best[1] == known[search.best[0]]


def test_many_nominal_combinations_are_sampled():
    space = Space([Nominal(f"flag_{i}", (False, True)) for i in range(20)])
    search = tuner(space)
    for _ in range(100):
        configuration = search.ask()
        search.tell(configuration, 20.0 - sum(configuration.values()))
    assert sum(search.best[0].values()) >= 12


def test_what_is_set_aside_waits_until_it_is_resumed_also_in_a_restored_search():
    space = Space([Nominal("version", ("a", "b", "c"))])
    a, b, c = (space.configuration(version=name) for name in "abc")
    search = HierarchicalTuner(space, rng=np.random.default_rng(0))
    for _ in range(3):
        search.tell(search.ask(), 1.0)
    assert search.best == (a, 1.0) and search.ask() == b
    assert search.postpone() and search.postponed == [b]
    assert search.ask() == c
    search.tell(c, 5.0)
    assert {search.ask() for _ in range(20)} <= {a, c} and not search.converged
    restored = HierarchicalTuner(space, rng=np.random.default_rng(1))
    restored.restore(search.state())
    for each in (search, restored):
        each.resume(each.postponed[0])
        while each.ask() != b:  # what was measured once is looked at again first
            each.tell(each.ask(), 5.0)
        for _ in range(3):
            each.tell(b, 0.5)
        assert each.best == (b, 0.5) and not each.postponed


def test_a_state_of_another_space_is_refused():
    state = tuner().state()
    with pytest.raises(SpaceError, match="not one of a search of this space"):
        tuner(Space([Nominal("version", ("a", "b"))])).restore(state)


def test_any_generator_of_random_numbers_can_be_kept():
    first, second = (HierarchicalTuner(SPACE, rng=np.random.Generator(np.random.MT19937(seed))) for seed in (1, 2))
    for _ in range(9):
        first.tell(first.ask(), 1.0)
    second.restore(json.loads(json.dumps(first.state())))
    assert second.state() == first.state()


@pytest.mark.parametrize("default", [(1, 2), (2, 2), (1, 3)])
def test_a_space_of_numbers_of_which_one_configuration_runs(default):
    """The simplex ends at points that do not run, in the middle of its turn, and all others are tried then."""
    space = Space([Integer("a", 1, 2, default=default[0]), Integer("b", 2, 3, default=default[1])])
    search = tuner(space, reject=lambda c: "it is too large" if c["a"] + c["b"] == 5 else None)
    for _ in range(20):
        configuration = search.ask()
        if dict(configuration) == {"a": 1, "b": 3}:
            search.tell(configuration, 1.0)
        else:
            search.fail(configuration, "it is said to fail")
    assert search.best is not None and dict(search.best[0]) == {"a": 1, "b": 3}
