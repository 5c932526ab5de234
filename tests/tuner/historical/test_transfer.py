"""A kernel that meets a new size, or a machine with another's history, begins with what was good elsewhere."""

from __future__ import annotations

import math

import pytest

from polytune.history import HistoryStore
from polytune.tuner import Budget, Configuration, Integer, Is, Key, Nominal, OnlineTuner, Space
from polytune.tuner.hierarchy.race import Samples
from polytune.tuner.historical.sources import TransferSource, sources_of
from polytune.tuner.historical.transfer import PrunedSpace, pruned_space
from polytune.tuner.historical.verdict import judge

SPACE = Space(
    [
        Nominal("version", ("source", "tiled", "packed", "skewed", "fused")),
        Integer("tile_0", 8, 512, powers_of_two=True, default=32, when=Is("version", "tiled", "packed")),
        Integer("tile_1", 8, 512, powers_of_two=True, default=32, when=Is("version", "tiled", "packed", "skewed")),
        Integer("threads", 1, 8, default=8),
    ]
)
BASE = {"source": 4.0, "tiled": 1.3, "packed": 1.0, "skewed": 2.5, "fused": 3.0}


def cost(configuration: Configuration, n: int = 1000) -> float:
    """Seconds: the best tile grows with the square root of the size, and the second one says nearly nothing."""
    base = BASE[configuration["version"]]
    if "tile_0" in configuration:
        base *= 1 + 0.15 * (math.log2(configuration["tile_0"]) - 7 - 0.25 * math.log2(n / 1000)) ** 2
    if "tile_1" in configuration:
        base *= 1 + 0.002 * (math.log2(configuration["tile_1"]) - 4) ** 2
    return 1e-9 * n * base * (1 + 0.2 * (8 - configuration["threads"]))


def best_cost(n: int, space: Space = SPACE) -> float:
    return min(cost(each, n) for each in space.enumerate())


def key(n: int, machine: str = "machine") -> Key:
    return Key("kernel 0123", f"n={n}", machine)


def tuned(store: HistoryStore, n: int, machine: str = "machine", calls: int = 120) -> OnlineTuner:
    """A tuner that has tuned for a size, whatever that costs, and left what it knows."""
    tuner = OnlineTuner(SPACE, key=key(n, machine), store=store, budget=Budget.unlimited())
    run(tuner, lambda c: cost(c, n), calls)
    tuner.save()
    return tuner


def run(tuner: OnlineTuner, measure, calls: int) -> list[Configuration]:
    made = []
    for _ in range(calls):
        configuration = tuner.choose()
        tuner.report(configuration, measure(configuration))
        made.append(configuration)
    return made


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> HistoryStore:
    store = HistoryStore(tmp_path_factory.mktemp("known"))
    for n in (500, 1500, 4000):
        tuned(store, n)
    return store


def copy_of(store: HistoryStore, folder) -> HistoryStore:
    """Another store with the measurements, and with no searches: as an import leaves it."""
    other = HistoryStore(folder)
    for each in store.all():
        other.add(each)
    return other


def test_a_new_size_is_near_its_best_after_a_few_trials(known, tmp_path):
    tuner = OnlineTuner(SPACE, key=key(2500), store=copy_of(known, tmp_path))
    calls = 0
    while tuner.statistics().trials < 12 and calls < 400:
        run(tuner, lambda c: cost(c, 2500), 1)
        calls += 1
    assert cost(tuner.best[0], 2500) <= 1.1 * best_cost(2500)
    why = [trial.why for trial in tuner.trials()]
    assert why[0].startswith("good elsewhere, by ") and "for n=4000 and 2 others" in why[0]
    assert "to see whether what was good elsewhere is good here" in why
    first = [trial.configuration["version"] for trial in tuner.trials()[:3]]
    assert set(first) <= {"packed", "tiled", "source"}  # the last is the first choice


def test_a_machine_begins_with_what_another_has_measured(known, tmp_path):
    store = copy_of(known, tmp_path)
    tuner = OnlineTuner(SPACE, key=key(1500, "another machine"), store=store)
    assert "for n=1500 on machine" in tuner.statistics().history
    run(tuner, lambda c: cost(c, 1500), 1)
    assert cost(tuner.best[0], 1500) <= 1.05 * best_cost(1500)


def test_the_pruned_space_has_no_value_that_was_slow_everywhere(known):
    pruned = pruned_space(SPACE, sources_of(known, key(2500), SPACE))
    assert set(pruned.left_out["version"]) == {"skewed", "fused"}  # the first choice stays
    assert "x the best elsewhere" in pruned.left_out["version"]["fused"]
    assert all(pruned.contains(each) for each in pruned.candidates)
    assert {each["version"] for each in pruned.candidates[:3]} == {"packed"}
    assert 4 <= pruned.steps <= 24 and pruned.gain > 3
    assert PrunedSpace.from_json(pruned.to_json()) == pruned


def test_a_parameter_that_says_nothing_of_the_time_is_not_searched():
    rows = [c for c in SPACE.enumerate() if c["version"] == "packed" and c["threads"] == 8]
    pruned = pruned_space(SPACE, [TransferSource("n=1000", "", {c: cost(c) for c in rows}, 1.0, 0.1)])
    assert "tile_1" in pruned.fixed and "tile_0" not in pruned.fixed


def test_candidates_cover_sources_that_differ():
    configurations = [
        SPACE.configuration(version="packed", tile_0=8 * 2**k, threads=t) for k in range(5) for t in (7, 8)
    ]
    one = {c: 1.0 + 0.3 * abs(math.log2(c["tile_0"]) - 3) for c in configurations}
    other = {c: 1.0 + 0.3 * abs(math.log2(c["tile_0"]) - 7) for c in configurations}
    pruned = pruned_space(SPACE, [TransferSource("n=1", "", one, 1.0, 0.0), TransferSource("n=2", "", other, 0.5, 1.0)])
    assert [each["tile_0"] for each in pruned.candidates[:2]] == [8, 128]


def test_few_measurements_elsewhere_prune_nothing(tmp_path):
    few = {SPACE.configuration(version="packed", tile_0=8 * 2**k): 1.0 for k in range(5)}
    assert pruned_space(SPACE, [TransferSource("n=1", "", few, 1.0, 0.0)]) is None
    assert pruned_space(SPACE, []) is None


def test_it_leaves_what_was_good_elsewhere_where_something_outside_is_faster(known, tmp_path):
    def measure(configuration: Configuration) -> float:  # here, what was slow everywhere is the best
        return 1e-7 if configuration["version"] == "fused" else cost(configuration, 2500)

    fused = SPACE.configuration(version="fused")
    tuner = OnlineTuner(SPACE, key=key(2500), store=copy_of(known, tmp_path), starts=[fused])
    run(tuner, measure, 60)
    assert tuner.best[0]["version"] == "fused"
    assert tuner.statistics().trials <= 25
    assert "was left: 100 ns outside of it" in tuner.statistics().history.replace("0.1 us", "100 ns")
    run(tuner, measure, 3000)
    assert tuner.converged and tuner.best == (fused, 1e-7)


def test_it_leaves_what_gains_less_than_was_expected(known, tmp_path):
    def measure(configuration: Configuration) -> float:  # the versions that were good are not, and nobody says so
        slow = 3.5 if configuration["version"] in ("packed", "tiled") else 1.0
        return slow * cost(configuration, 2500)

    tuner = OnlineTuner(SPACE, key=key(2500), store=copy_of(known, tmp_path))
    run(tuner, measure, 100)
    assert "was to be expected" in tuner.statistics().history
    run(tuner, measure, 3000)
    assert tuner.converged and tuner.best[0]["version"] == "skewed"


def test_after_its_steps_it_waits_until_the_whole_space_may_pay(known, tmp_path):
    tuner = OnlineTuner(SPACE, key=key(2500), store=copy_of(known, tmp_path))
    run(tuner, lambda c: cost(c, 2500), 200)
    told = tuner.statistics()
    assert not told.converged and told.trials <= 45
    assert "with a probability of 90%; the whole space is searched after 480 calls" in told.paused
    assert run(tuner, lambda c: cost(c, 2500), 100) == [tuner.best[0]] * 100
    versions = {c["version"] for c in run(tuner, lambda c: cost(c, 2500), 2500)}
    assert versions == set(BASE) and tuner.converged
    assert "the whole space" not in (tuner.statistics().paused or "")
    assert cost(tuner.best[0], 2500) <= 1.03 * best_cost(2500)


def test_a_budget_of_trials_is_not_left_unused(known, tmp_path):
    tuner = OnlineTuner(SPACE, key=key(2500), store=copy_of(known, tmp_path), budget=Budget.unlimited())
    versions = {c["version"] for c in run(tuner, lambda c: cost(c, 2500), 150)}
    assert versions == set(BASE)


@pytest.mark.parametrize("stop", [1, 4, 9, 40])
def test_the_next_process_goes_on_where_this_one_stopped(known, tmp_path, stop):
    store = copy_of(known, tmp_path / "a")
    alone = OnlineTuner(SPACE, key=key(2500), store=copy_of(known, tmp_path / "b"))
    expected = run(alone, lambda c: cost(c, 2500), 100)
    first = OnlineTuner(SPACE, key=key(2500), store=store)
    made = run(first, lambda c: cost(c, 2500), stop)
    first.save()
    second = OnlineTuner(SPACE, key=key(2500), store=HistoryStore(tmp_path / "a"))
    assert made + run(second, lambda c: cost(c, 2500), 100 - stop) == expected
    assert second.statistics().history == alone.statistics().history


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_a_promise_holds_while_history_is_followed(known, tmp_path, share):
    tuner = OnlineTuner(SPACE, key=key(2500), store=copy_of(known, tmp_path), budget=Budget.promise(share))
    total = least = 0.0
    for _ in range(600):
        configuration = tuner.choose()
        seconds = cost(configuration, 2500)
        tuner.report(configuration, seconds)
        total += seconds
        least += min(seconds, tuner.best[1])
    assert total <= (1 + share) * least + 1e-12 or tuner.statistics().lost_seconds <= share * least + 2e-5


def test_the_verdict_counts_what_failed():
    candidate = SPACE.configuration(version="packed")
    pruned = PrunedSpace((candidate,), {"version": {"fused": "slow"}}, (), 0.5, 4, None, "n")
    failed = [SPACE.configuration(version="tiled", threads=k) for k in range(1, 4)]
    measured = {candidate: Samples([1.0])}
    assert judge(pruned, measured, failed[:2], candidate) is None
    assert not judge(pruned, measured, failed, candidate).is_wrong
    everything = [*failed, candidate]
    found = judge(pruned, {SPACE.configuration(version="fused"): Samples([2.0])}, everything, candidate)
    assert found.is_wrong and "nothing that runs inside" in found.why
