"""Other sizes and other processes: what one has learned helps the next."""

from __future__ import annotations

import math

import pytest

from polytune.history import HistoryStore
from polytune.tuner import Key, OnlineTuner, persistence
from polytune.tuner.historical.sources import distance
from polytune.tuner.persistence import starts_of_similar
from tests.tuner.landscape import SPACE, cost

GOOD = SPACE.configuration(version="tiled", tile_0=128, tile_1=16, unroll=2)
POOR = SPACE.configuration(version="wavefront", tile_0=64)


def test_the_distance_is_logarithmic_and_between_like_texts_only():
    assert distance("n=100, m=7", "n=100, m=7") == 0
    assert distance("n=100", "n=200") == pytest.approx(math.log(201 / 101))
    assert distance("n=100", "n=50") == pytest.approx(distance("n=50", "n=100"))
    assert distance("n=100", "m=100") == distance("n=100", "n=100; A on cuda:0") == math.inf


def test_the_nearest_size_gives_the_start(tmp_path):
    store = HistoryStore(tmp_path)
    for shape, configuration in (("n=1000", GOOD), ("n=100000", POOR)):
        store.record("kernel", shape, "machine", configuration, cost(configuration))
    store.record("kernel", "n=1100", "another machine", POOR, 1e-9)
    key = Key("kernel", "n=1200", "machine")
    assert starts_of_similar(store, key, SPACE) == [GOOD]
    tuner = OnlineTuner(SPACE, key=key, store=store)
    assert tuner.choose() == GOOD
    assert starts_of_similar(store, Key("kernel", "n=9", "machine"), SPACE) == ()  # too far from all


def test_what_is_known_of_the_size_itself_has_precedence(tmp_path):
    store = HistoryStore(tmp_path)
    store.record("kernel", "n=1000", "machine", GOOD, 1e-3)
    store.record("kernel", "n=1001", "machine", POOR, 1e-3)
    assert OnlineTuner(SPACE, key=Key("kernel", "n=1001", "machine"), store=store).best[0] == POOR


def test_processes_that_tune_at_the_same_time_learn_from_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "_SECONDS_BETWEEN_WRITES", math.inf)  # nothing is written but by `save`
    key = Key("kernel", "n=1000", "machine")
    first, second = (OnlineTuner(SPACE, key=key, store=HistoryStore(tmp_path)) for _ in range(2))
    for tuner in (first, second):
        for _ in range(3):
            configuration = tuner.choose()
            tuner.report(configuration, cost(configuration))
    for _ in range(3):
        second.report(GOOD, cost(GOOD))
    second.save()
    assert first.best[0] != GOOD
    first.save()
    assert first.best == (GOOD, cost(GOOD))
    asked = []
    for _ in range(60):
        configuration = first.choose()
        asked.append(configuration)
        first.report(configuration, cost(configuration))
    assert first.statistics().explored <= len(set(asked)) + 3
