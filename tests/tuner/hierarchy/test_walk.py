"""The hierarchical walk: its order, dead ends, refused values, other searches in its nodes, and its memory."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from polytune.errors import SearchError, SpaceError
from polytune.tuner import Configuration, HierarchicalTuner, Integer, Is, Nominal, Ratio, Space, tune
from tests.tuner.spaces.test_graph import OFFLOADED

DEVICES = {name: {"gpu": "the call is too small"} for name in ("platform_0", "platform_1")}


def tuner(space=OFFLOADED, seed=0, **settings):
    return HierarchicalTuner(space, rng=np.random.default_rng(seed), **settings)


def offloaded_cost(configuration: Configuration) -> float:
    """2 s from the source, 1 s at the best: split 1 at 0.25, all on the device, blocks of 128, shared memory."""
    if configuration["version"] == "source":
        return 2.0
    cost = 1.0 if configuration["split"] == 1 else 1.3
    cost += abs(configuration.get("ratio", 0.25) - 0.25)
    for number in (0, 1):
        if configuration.get(f"platform_{number}") == "cpu":
            cost += 0.2
    cost += 0.1 * (not configuration.get("shared_0", True)) + abs(configuration.get("block_0", 128) - 128) / 1000
    return cost


def ask_and_tell(search, count, measure=offloaded_cost):
    asked = []
    for _ in range(count):
        asked.append(search.ask())
        search.tell(asked[-1], measure(asked[-1]))
    return asked


def test_every_version_is_seen_before_any_is_looked_at_more_closely():
    space = Space(
        [
            Nominal("version", tuple("abcd")),
            Nominal("flavour", (0, 1, 2), when=Is("version", "b", "c")),
            Nominal("finish", (0, 1), when=Is("flavour", 1, 2)),
        ]
    )
    search = tuner(space, repeats=1)
    asked = ask_and_tell(search, 4, lambda c: {"a": 4.0, "b": 1.0, "c": 1.5, "d": 3.0}[c["version"]])
    assert [c["version"] for c in asked] == list("abcd")
    assert all(c.get("flavour", 0) == 0 for c in asked)
    (deeper,) = ask_and_tell(search, 1, lambda c: 1.2)
    assert deeper["version"] == "b" and deeper["flavour"] == 1  # the best first


def test_the_best_is_found_among_structures_and_numbers():
    search = tuner()
    asked = ask_and_tell(search, 150)
    best = search.best[0]
    assert offloaded_cost(best) <= 1.03
    assert max(Counter(asked).values()) <= 3
    assert asked[0] == OFFLOADED.default()


def test_refused_values_are_never_asked_for_and_cost_no_draws():
    drawn = []
    search = tuner(refused=DEVICES, reject=lambda c: drawn.append(c))
    asked = ask_and_tell(search, 40)
    # Without a device every partitioned configuration but split 0 breaks the constraint or is refused.
    assert all("gpu" not in c.values() for c in asked)
    assert all("gpu" not in c.values() for c in drawn)


def test_a_version_whose_arms_are_all_refused_is_gone_at_once():
    search = tuner(refused={**DEVICES, "version": {"partitioned": "the call is too small"}})
    assert {c["version"] for c in ask_and_tell(search, 6)} == {"source"}
    assert search.converged and search.refused["version"] == {"partitioned": "the call is too small"}


def test_dead_ends_are_closed_without_a_measurement():
    space = Space(
        [
            Nominal("version", ("plain", "device")),
            Nominal("platform", ("gpu", "tpu"), when=Is("version", "device")),
            Nominal("mode", (0, 1), when=Is("platform", "gpu", "tpu")),
        ]
    )
    search = tuner(space, refused={"platform": {"gpu": "lost", "tpu": "lost"}})
    assert {c["version"] for c in ask_and_tell(search, 8, lambda c: 1.0)} == {"plain"}
    assert search.converged


def test_when_everything_is_refused_the_reason_is_told():
    space = Space([Nominal("platform", ("gpu", "tpu"))])
    search = tuner(space, refused={"platform": {"gpu": "the first is lost", "tpu": "the second is lost"}})
    with pytest.raises(SpaceError, match="is lost"):
        search.ask()


def test_a_device_on_which_everything_fails_is_left_after_a_few_trials():
    space = Space(
        [
            Nominal("version", ("plain", "device")),
            Nominal("a", tuple(range(8)), when=Is("version", "device")),
            Nominal("b", tuple(range(8)), when=Is("a", *range(8))),
        ]
    )
    search, failed = tuner(space), 0
    for _ in range(60):
        configuration = search.ask()
        if search.converged:
            break
        if configuration["version"] == "device":
            search.fail(configuration, "it does not launch")
            failed += 1
        else:
            search.tell(configuration, 1.0)
    assert search.converged and 1 <= failed <= 10


@pytest.mark.parametrize("method", ["random", "genetic", "annealing", "full", "particle_swarm"])
def test_any_search_serves_any_node(method):
    space = Space(
        [
            Nominal("version", tuple(f"v{number}" for number in range(12))),
            Integer("tile", 1, 16, when=Is("version", "v7", "v3")),
            Ratio("share", 0, 1, when=Is("version", "v7")),
        ]
    )

    def measure(configuration):
        if configuration["version"] == "v7":
            return 1.0 + abs(configuration["tile"] - 11) / 16 + abs(configuration["share"] - 0.5)
        return 2.6

    search = tuner(space, searchers={"nominal": method, "tile": method})
    asked = []
    while not search.converged:
        asked += ask_and_tell(search, 1, measure)
    assert search.best[0]["version"] == "v7" and search.best[1] < 1.3
    assert max(Counter(asked).values()) <= 3


@pytest.mark.parametrize("stop", [3, 17, 60])
def test_a_walk_with_other_searches_is_restored_exactly(stop):
    settings = {"searchers": {"version": "genetic", "numeric": "annealing"}}
    search = tuner(seed=1, **settings)
    ask_and_tell(search, stop)
    other = tuner(seed=2, **settings)
    other.restore(json.loads(json.dumps(search.state(), allow_nan=False)))
    assert ask_and_tell(other, 40) == ask_and_tell(search, 40)


def test_a_state_with_other_values_refused_is_not_taken_over():
    search = tuner()
    ask_and_tell(search, 10)
    with pytest.raises(ValueError, match="refused"):
        tuner(refused=DEVICES).restore(search.state())


def test_few_searches_kept_in_memory_find_as_much():
    kept = tuner(memory=2)
    asked = ask_and_tell(kept, 200)
    assert offloaded_cost(kept.best[0]) <= 1.05
    assert max(Counter(asked).values()) <= 3  # what was dropped is not measured again


@pytest.mark.parametrize("searchers", [{"verzion": "random"}, {"nominal": "randm"}])
def test_unknown_searchers_are_refused(searchers):
    with pytest.raises((SpaceError, SearchError), match="did you mean"):
        tuner(searchers=searchers)


def test_a_prior_orders_the_arms_of_every_node():
    space = Space(
        [Nominal("version", ("a", "b")), Nominal("flavour", tuple(range(6)), when=Is("version", "b"))],
    )
    search = tuner(space, order=lambda c: -c.get("flavour", 0), repeats=1)
    asked = ask_and_tell(search, 7, lambda c: 5.0 if c["version"] == "a" else 1.0 + c["flavour"] / 100)
    assert [c.get("flavour") for c in asked] == [None, 5, 4, 3, 2, 1, 0]


def test_tuning_in_one_go_takes_other_searches_too():
    result = tune(offloaded_cost, OFFLOADED, budget=150, searchers={"numeric": "annealing"})
    assert result.cost < 1.3 and result.best["version"] == "partitioned"
