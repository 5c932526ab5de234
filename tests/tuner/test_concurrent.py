"""A search that is asked for several configurations at a time: none twice, none lost, and as good as one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.tuner import HierarchicalTuner, Integer, Is, Nominal, Space
from polytune.tuner.concurrent import ConcurrentSearch

SPACE = Space(
    [
        Nominal("version", ("source", "tiled", "packed", "fused", "broken")),
        Integer("tile_0", 4, 512, powers_of_two=True, when=Is("version", "tiled", "packed")),
        Integer("tile_1", 4, 512, powers_of_two=True, when=Is("version", "packed")),
        Integer("threads", 1, 8),
    ]
)


def cost(configuration):
    base = {"source": 8.0, "tiled": 4.0, "packed": 2.0, "fused": 6.0}[configuration["version"]]
    for name, wanted in (("tile_0", 64), ("tile_1", 16), ("threads", 6)):
        if name in configuration:
            base *= 1 + 0.1 * abs(np.log2(configuration[name] / wanted))
    return base


def searched(seed=0, numeric="portfolio"):
    return ConcurrentSearch(
        HierarchicalTuner(
            SPACE, rng=np.random.default_rng(seed), repeats=1, may_be_exact=True, searchers={"numeric": numeric}
        )
    )


def measure(search, configuration):
    if configuration["version"] == "broken":
        search.fail(configuration, "it does not compile")
    else:
        search.tell(configuration, cost(configuration))


def rounds(workers, seed, numeric="portfolio", most=400):
    """How many rounds of measurements side by side it takes until nothing better than 1.05 times the best is left."""
    search, asked, good = searched(seed, numeric), [], None
    best = cost({"version": "packed", "tile_0": 64, "tile_1": 16, "threads": 6})
    for number in range(1, most):
        batch = [each for each in (search.ask() for _ in range(workers)) if each is not None]
        assert len(set(batch)) == len(batch) == len(search.pending)
        asked += batch
        for each in reversed(batch):  # as it comes
            measure(search, each)
        if good is None and search.best is not None and search.best[1] <= 1.05 * best:
            good = number
        if not batch:
            assert search.converged
            break
    assert len(set(asked)) == len(asked), "something was measured twice"
    assert {each["version"] for each in asked} == set(SPACE.parameters[0].values)
    assert good is not None, search.best
    return good


@pytest.mark.parametrize("numeric", ["portfolio", "nelder_mead"])
def test_more_workers_need_fewer_rounds_and_find_as_much(numeric):
    one = sum(rounds(1, seed, numeric) for seed in range(3))
    four = sum(rounds(4, seed, numeric) for seed in range(3))
    assert four <= 0.5 * one


def test_what_is_lost_is_asked_for_again_first():
    search = searched()
    first, second = search.ask(), search.ask()
    search.withdraw(first)
    assert list(search.pending) == [second]
    assert search.ask() == first and search.ask() not in (first, second, None)
    search.withdraw(second)
    measure(search, second)  # a late answer does as well
    assert search.ask() != second


def test_what_is_known_from_elsewhere_is_not_asked_for():
    known, again = searched(), searched()
    for _ in range(40):
        measure(known, known.ask())
    for configuration, seconds in known.costs.items():
        again.tell(dict(configuration), seconds)
    for configuration, reason in known.failures.items():
        again.fail(dict(configuration), reason)
    assert again.best == known.best
    asked = [again.ask() for _ in range(10)]
    assert not set(asked) & {*known.costs, *known.failures}
    best = known.best
    again.tell(dict(best[0]), 1e9)  # told twice: the first counts
    assert again.best == best


def test_a_search_where_all_fails_ends():
    search = searched()
    for _ in range(1000):
        configuration = search.ask()
        if configuration is None:
            break
        search.fail(configuration, "no")
    assert search.best is None


@pytest.mark.parametrize("workers", [3, 16])
def test_results_that_come_one_at_a_time_lead_as_far(workers):
    """As a worker ends another one asks: a copy that looks ahead then lacks a few results, and failures among them."""
    search, asked = searched(seed=2), []
    while True:
        while len(search.pending) < workers and (wanted := search.ask()) is not None:
            asked.append(wanted)
        if not search.pending:
            break
        measure(search, next(iter(search.pending)))
    assert search.converged and len(set(asked)) == len(asked), "something was measured twice"
    assert search.best[1] <= 1.05 * cost({"version": "packed", "tile_0": 64, "tile_1": 16, "threads": 6})
    assert set(search.failures) == {each for each in asked if each["version"] == "broken"}
