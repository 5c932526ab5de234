"""Replayed campaigns: the same trials in a fraction of the time, and a best that is as good."""

from __future__ import annotations

import statistics

from benchmarks.scale import simulation
from benchmarks.scale.campaigns import replay
from polytune.lab.loading import load


def test_four_workers_take_a_quarter_of_the_time_for_as_many_trials():
    recorded = load("example:gemm")
    one, four = ([replay(recorded, workers, 30, seed) for seed in range(3)] for workers in (1, 4))
    assert all(each.seconds is not None for each in [*one, *four])
    assert sum(each.elapsed for each in four) <= 0.35 * sum(each.elapsed for each in one)
    worse = statistics.geometric_mean([each.quality for each in four])
    assert worse <= 1.05 * statistics.geometric_mean([each.quality for each in one])


def test_a_campaign_of_simulated_workers_measures_each_configuration_once(monkeypatch):
    measured: list[str] = []
    submit = simulation.SimulatedWorkers.submit

    def submitted(self, place, name, function, *arguments):
        if function.__name__ == "measure":
            measured.append(f"{arguments[0].title} {sorted(arguments[2].items())}")
        return submit(self, place, name, function, *arguments)

    monkeypatch.setattr(simulation.SimulatedWorkers, "submit", submitted)
    found = simulation.replay_campaign(40, 3, 10, pace=200.0)
    assert len(measured) == len(set(measured)) == found.trials == 30
    assert 0.0 < found.busy <= 1.0 and found.client > found.history > 0.0
