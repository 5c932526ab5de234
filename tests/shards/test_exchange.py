"""How many steps shards make at once is chosen by a tuner, which learns from the times that calls take."""

from __future__ import annotations

import dask
import dask.array
import numpy as np
import pytest

import polytune
from polytune.history import HistoryStore
from polytune.shards import exchange, times


@polytune.kernel(strict=True)
def waves(steps, A, B):
    for _ in range(steps):
        for i in range(1, len(A) - 1):
            B[i] = 0.5 * A[i - 1] + 0.25 * A[i + 1]
        for i in range(1, len(A) - 1):
            A[i] = B[i]


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Nothing has been learned before."""
    store = HistoryStore(tmp_path)
    monkeypatch.setattr(exchange, "default_store", lambda: store)
    monkeypatch.setattr(exchange, "_tuned", {})
    monkeypatch.setattr(exchange, "_choices", {})
    monkeypatch.setattr(times, "_expected", {})
    monkeypatch.setattr(exchange, "_FAR_SLOWER", float("inf"))
    with dask.config.set(scheduler="synchronous"):
        yield store


def steps_of(array, steps=16):
    """How many steps a shard of a call makes at once, by how many tasks there are of them."""
    keys = {key for key in dict(array.dask) if isinstance(key, tuple) and "-region-0" in key[0]}
    return steps * 4 // len(keys)


def made_up(monkeypatch, seconds_of):
    """Have calls take the times that a test says, by how many steps their shards make at once."""
    learn = exchange._learn

    def learned(tuner, configuration, seconds):
        learn(tuner, configuration, seconds_of(configuration["steps_per_exchange"]))

    monkeypatch.setattr(exchange, "_learn", learned)


def test_the_number_that_takes_least_time_is_found_and_remembered(alone, monkeypatch):
    made_up(monkeypatch, lambda steps: 0.2 + abs(steps - 4) * 0.1)
    x = np.random.default_rng(0).random(400)
    expected = x.copy()
    waves.__wrapped__(16, expected, x.copy())
    tried = []
    for call in range(60):
        A = dask.array.from_array(x, chunks=100, name=f"x {call}")
        after = waves(16, A, A)[0]
        assert np.array_equal(after.compute(), expected)
        tried.append(steps_of(after))
    assert len(set(tried)) > 2 and set(tried) <= {1, 2, 4, 8, 16}
    (tuned,) = exchange._tuned.values()
    tuned.tuner.save()
    assert tuned.tuner.best[0]["steps_per_exchange"] == 4 and tried[-1] == 4
    A = dask.array.from_array(x, chunks=100)
    assert "4 steps at once" in str(waves.shards(16, A, A))
    # Another process begins with it; with tuning off, only the model chooses.
    exchange._tuned.clear()
    assert steps_of(waves(16, A, A)[0]) == 4
    best = alone.all()[0]
    assert best.kernel.startswith("waves.shards ") and best.configuration == {"steps_per_exchange": 4}
    assert "A_0_chunk=100" in best.shape
    with polytune.tuning("off"):
        assert steps_of(waves(16, A, A)[0]) == tuned.by_model


def test_a_call_that_has_not_been_computed_stays_the_same(monkeypatch):
    made_up(monkeypatch, lambda steps: 1.0 / steps)
    A = dask.array.from_array(np.random.default_rng(0).random(400), chunks=100)
    first, second = waves(16, A, A), waves(16, A, A)
    assert [each.name for each in first] == [each.name for each in second]
    dask.compute(*first, *second)
    names = {waves(16, A, A)[0].compute() is not None and waves(16, A, A)[0].name for _ in range(12)}
    assert len(names) > 1  # another number may come where the call has been computed


def test_calls_of_which_a_part_is_computed_teach_nothing(monkeypatch):
    learned = []
    monkeypatch.setattr(exchange, "_learn", lambda *told: learned.append(told))
    A = dask.array.from_array(np.random.default_rng(0).random(400), chunks=100)
    waves(16, A, A)[0][:50].compute()
    assert not learned
    waves(16, A, A)[0].compute()
    assert len(learned) == 1 and learned[0][2] > 0


def test_a_number_that_is_asked_for_is_not_tuned():
    A = dask.array.from_array(np.random.default_rng(0).random(400), chunks=100)
    with dask.config.set({"polytune.steps-per-exchange": 8}):
        assert steps_of(waves(16, A, A)[0]) == 8
    assert not exchange._tuned


def test_workers_of_a_cluster_tell_their_times(monkeypatch):
    distributed = pytest.importorskip("distributed")
    learned = []
    monkeypatch.setattr(exchange, "_learn", lambda tuner, chosen, seconds: learned.append(seconds))
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "processes": True}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        A = dask.array.from_array(np.random.default_rng(0).random(400), chunks=100)
        client.compute(waves(16, A, A)[0]).result(timeout=120)
        for _ in range(1200):
            if learned:
                break
            client.sync(__import__("asyncio").sleep, 0.05)
        (tuned,) = exchange._tuned.values()
        assert tuned.tuner.key.machine.endswith("1 worker")
    assert len(learned) == 1 and learned[0] > 0


@pytest.mark.parametrize("event", [None, [], ["call", 1.0], ["call", "x", 2.0], ["unknown", 1.0, 2.0], {"call": 1}])
def test_events_that_nobody_expects_are_passed_over(event):
    times._handle((0.0, event))
