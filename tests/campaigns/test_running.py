"""What a campaign does when workers die, hang, or are slowed, and when it is itself killed: with workers made up."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter
from concurrent.futures import CancelledError, Future

import numpy as np
import pytest

from polytune.campaigns import running
from polytune.campaigns.pools import Place
from polytune.campaigns.running import Running
from polytune.campaigns.search import Settings
from polytune.campaigns.work import CampaignWork
from polytune.campaigns.worker import Failure, TimedRuns
from polytune.errors import CampaignError
from polytune.history import HistoryStore
from polytune.runtime.tuning.tuning_problem import TuningProblem
from polytune.tuner import Integer, Is, Key, Nominal, Space
from polytune.version import __version__

SPACE = Space(
    [
        Nominal("version", ("source", "tiled", "packed", "broken")),
        Integer("tile_0", 8, 64, powers_of_two=True, when=Is("version", "tiled", "packed")),
        Integer("threads", 1, 4),
    ]
)
WORK = [CampaignWork("file.py", "", "gemm", (("n", 100),)), CampaignWork("file.py", "", "gemm", (("n", 200),))]
PYTHON = __import__("platform").python_version()
CODE = "code"


def cost(configuration):
    base = {"source": 4.0, "tiled": 2.0, "packed": 1.0}[configuration["version"]]
    return base * (1 + abs(np.log2(configuration.get("tile_0", 8) / 32))) * (1 + abs(configuration["threads"] - 3))


class Lost(Exception):
    """What a task raises whose worker has died."""


class Workers:
    """Workers that answer at once, or what a test makes them do.

    Args:
        machines: of each, the key of its machine.
        fate: what becomes of a task: it gets the worker and the name, and returns ``"dies"``, ``"hangs"``, a number by
            how many times it is slowed, or None.
    """

    def __init__(self, machines=("one", "one"), fate=lambda place, name: None):
        self.session = "the first scheduler"
        self.machines = {f"worker {number}": machine for number, machine in enumerate(machines)}
        self.fate = fate
        self.measured = Counter()
        self.kinds = Counter()
        self.restarted = []
        self.numbers = itertools.count(len(machines))

    def places(self):
        return {name: Place(name, machine) for name, machine in self.machines.items()}

    def restart(self, place):
        self.restarted.append(place.name)
        self.replace(place.name)
        return False

    def replace(self, name):
        self.machines[f"worker {next(self.numbers)}"] = self.machines.pop(name)

    def submit(self, place, name, function, *arguments):
        future, machine, fate = Future(), self.machines.get(place.name), self.fate(place, name)
        if machine is None:  # a scheduler waits for a worker that is not there
            return future
        self.kinds[function.__name__] += 1
        if fate == "dies":
            self.replace(place.name)
            future.set_exception(Lost("the worker is gone"))
        elif fate == "hangs":
            pass
        elif function.__name__ == "about":
            future.set_result((__version__, PYTHON, machine))
        elif function.__name__ == "describe":
            key = Key("gemm 0123", arguments[0].shape, machine)
            future.set_result(TuningProblem(key, CODE, SPACE, (SPACE.default(),), {}))
        elif function.__name__ == "compile_version":
            broken = arguments[2]["version"] == "broken"
            future.set_result(Failure("it does not compile") if broken else 0.1)
        elif function.__name__ == "measure":
            self.measured[arguments[0], machine, json.dumps(arguments[2])] += 1
            future.set_result(TimedRuns(machine, CODE, (cost(arguments[2]) * (fate or 1.0),), 0.01 * (fate or 1.0)))
        else:
            future.set_result([TimedRuns(machine, CODE, (cost(each),), 0.01) for each in arguments[2]])
        return future


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(running, "_SECONDS_BETWEEN_LOOKS", 0.001)
    monkeypatch.setattr(running, "_SECONDS_WITHOUT_WORKERS", 0.1)


def campaign(workers, store, trials=400, timeout=1000.0, progress=None):
    settings = Settings(trials, 1, 1.0, timeout, "random", 0)
    return Running(WORK, workers, settings, store, progress)


def finished(campaign):
    campaign.run()
    return campaign.entries()


def test_each_kind_of_machine_has_its_own_results(tmp_path):
    workers, store, told = Workers(("one", "one", "two")), HistoryStore(tmp_path), []
    entries = finished(campaign(workers, store, progress=told.append))
    assert [(entry.shape["n"], entry.machine) for entry in entries] == [
        (n, machine) for n in (100, 200) for machine in ("one", "two")
    ] or sorted((entry.shape["n"], entry.machine) for entry in entries) == [
        (100, "one"),
        (100, "two"),
        (200, "one"),
        (200, "two"),
    ]
    for entry in entries:
        assert entry.finished and entry.seconds == 1.0
        assert dict(entry.best) == {"version": "packed", "tile_0": 32, "threads": 3}
        assert entry.default_seconds == cost(SPACE.default())
        assert json.loads(json.dumps(entry.to_json()))["best"]["version"] == "packed"
    assert set(workers.measured.values()) == {1}
    compiled = workers.kinds["compile_version"]
    assert compiled <= 2 * 2 * 4 + 8, "each version is compiled once for a machine, or at once by its workers"
    best = store.best("gemm 0123", "n=100", "two")
    assert best.configuration == dict(entries[0].best) and best.code == CODE
    assert {each.reason for each in store.all() if each.status == "failed"} == {"it does not compile"}
    assert told[-1].workers == 3 and told[-1].lost == 0


def test_a_limit_of_trials_holds_for_each_search(tmp_path):
    workers = Workers()
    entries = finished(campaign(workers, HistoryStore(tmp_path), trials=7))
    assert [entry.trials for entry in entries] == [7, 7]
    more = finished(campaign(Workers(), HistoryStore(tmp_path), trials=9))
    assert [entry.trials for entry in more] == [9, 9]  # those that the history has count


def test_workers_that_die_cost_their_measurement_and_no_more(tmp_path):
    fates = random.Random(0)
    workers = Workers(("one",) * 4, lambda place, name: "dies" if fates.random() < 0.1 else None)
    entries = finished(campaign(workers, HistoryStore(tmp_path)))
    assert all(entry.finished and entry.seconds == 1.0 for entry in entries)
    counts = [each.count for each in HistoryStore(tmp_path).all()]
    assert set(counts) <= {1, 2}, "two only for those that are compared at the end"


def test_workers_that_hang_are_ended_and_their_measurement_is_repeated(tmp_path):
    hanging = iter(["hangs", None, None, "hangs"])
    workers = Workers(("one",) * 3, lambda place, name: next(hanging, None) if "measure" in name else None)
    entries = finished(campaign(workers, HistoryStore(tmp_path), timeout=0.2))
    assert len(workers.restarted) == 2 and not set(workers.restarted) & set(workers.machines)
    assert all(entry.finished and entry.seconds == 1.0 for entry in entries)


def test_what_ends_one_worker_after_another_is_given_up(tmp_path):
    """And the version with it, when others of it have done the same; nothing else is."""
    workers = Workers(("one",) * 2)
    submit = workers.submit

    def submitted(place, name, function, *arguments):
        kills = function.__name__ == "compile_version" and arguments[2]["version"] == "tiled"
        workers.fate = lambda place, name: "dies" if kills else None
        return submit(place, name, function, *arguments)

    workers.submit = submitted
    entries = finished(campaign(workers, HistoryStore(tmp_path)))
    failed = [each for each in HistoryStore(tmp_path).all() if each.status == "failed"]
    lost = [each for each in failed if each.configuration["version"] == "tiled"]
    # On a busy machine a look at the workers may come before what a task has ended with.
    reasons = {f"3 workers were lost with it: {each}" for each in ("Lost: the worker is gone", "its worker ended")}
    assert lost and {each.reason for each in lost} <= reasons
    assert {each.configuration["version"] for each in failed} == {"tiled", "broken"}
    assert len(lost) <= 2 * 4 and [entry.seconds for entry in entries] == [1.0, 1.0]


def test_measurements_of_a_worker_that_is_slowed_are_repeated(tmp_path):
    slowed = {"worker 1": 5.0}
    workers = Workers(("one",) * 2, lambda place, name: slowed.get(place.name) if "measure" in name else None)
    entries = finished(campaign(workers, HistoryStore(tmp_path)))
    assert [entry.seconds for entry in entries] == [1.0, 1.0]
    assert max(workers.measured.values()) > 1


@pytest.mark.parametrize("how", ["session", "cancelled"])
def test_what_a_scheduler_that_ends_has_lost_is_no_fault_of_a_configuration(tmp_path, how):
    """Again and again, while the same is measured: it is measured in the end, and nothing is given up."""
    workers = Workers(("one",) * 2)
    submit, tried = workers.submit, Counter()

    def submitted(place, name, function, *arguments):
        if function.__name__ != "measure" or tried[json.dumps(arguments[2])] > 4:
            return submit(place, name, function, *arguments)
        tried[json.dumps(arguments[2])] += 1
        future = Future()
        if how == "cancelled":
            future.set_exception(CancelledError())
        else:
            workers.session = f"scheduler {sum(tried.values())}"
        return future

    workers.submit = submitted
    entries = finished(campaign(workers, HistoryStore(tmp_path), trials=12))
    assert all(entry.finished and entry.trials == 12 for entry in entries) and max(tried.values()) > 3
    assert {each.reason for each in HistoryStore(tmp_path).all() if each.status == "failed"} <= {"it does not compile"}


def test_a_result_that_cannot_be_fetched_holds_up_no_other_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "_MOST_FETCHES", 10_000)
    workers, waiting = Workers(("one",) * 2), []
    submit = workers.submit

    class Unfetched(Future):
        def result(self, timeout=None):
            raise TimeoutError

    def submitted(place, name, function, *arguments):
        if function.__name__ == "measure" and not waiting:
            future = Unfetched()
            future.set_result(None)
            waiting.append(place.name)
            return future
        return submit(place, name, function, *arguments)

    workers.submit, told = submitted, []

    def look(progress):
        told.append(sum(entry.trials for entry in progress.entries))
        if told[-1] > 20 and waiting[0] in workers.machines:
            workers.replace(waiting[0])  # it has ended, as the next look shows

    entries = finished(campaign(workers, HistoryStore(tmp_path), trials=40, progress=look))
    assert all(entry.finished for entry in entries) and any(count > 20 for count in told)


class Killed(BaseException):
    """The end of a process that leaves no time for anything."""


def test_a_campaign_that_is_killed_goes_on_with_no_trial_lost_or_doubled(tmp_path):
    """Fifty times, at any moment: of the client while it writes, of workers, of the scheduler with all that it knew."""
    chance = random.Random(1)
    acknowledged: Counter[str] = Counter()

    # A class of its own: tuners of other tests may still be writing in the background.
    class Interrupted(HistoryStore):
        def record(self, kernel, shape, machine, configuration, *rest, **more):
            if chance.random() < 0.4:
                raise Killed  # before it is written
            super().record(kernel, shape, machine, configuration, *rest, **more)
            acknowledged[shape + machine + json.dumps(dict(configuration), sort_keys=True)] += 1
            if chance.random() < 0.4:
                raise Killed  # after it

    def fate(place, name):
        drawn = chance.random()
        if drawn < 0.02:
            raise CampaignError("the scheduler is gone")
        return "dies" if drawn < 0.05 else None

    kills = 0
    for _ in range(400):
        try:
            entries = finished(campaign(Workers(("one",) * 3, fate), Interrupted(tmp_path)))
            break
        except (Killed, CampaignError):
            kills += 1
    assert all(entry.finished and entry.seconds == 1.0 for entry in entries)
    kept = HistoryStore(tmp_path).all()
    assert {each.shape + each.machine + json.dumps(dict(each.configuration), sort_keys=True) for each in kept} == set(
        acknowledged
    )
    assert sum(each.count for each in kept) == sum(acknowledged.values())
    # Twice at most: as a trial, and at the end among the best; and that again where that end was cut off.
    assert sum(count > 2 for count in acknowledged.values()) <= 10
    assert kills >= 50


def test_nobody_to_work(tmp_path):
    with pytest.raises(CampaignError, match="there is no worker: start some"):
        finished(campaign(Workers(()), HistoryStore(tmp_path)))


@pytest.mark.parametrize(("polytune", "python"), [("0.0.1", PYTHON), (__version__, "2.7.18")])
def test_workers_of_other_versions_are_refused(tmp_path, polytune, python):
    workers = Workers()
    submit = workers.submit

    def other(place, name, function, *arguments):
        if function.__name__ != "about":
            return submit(place, name, function, *arguments)
        future = Future()
        future.set_result((polytune, python, "one"))
        return future

    workers.submit = other
    with pytest.raises(CampaignError, match=r"the worker worker \d has .*, and this process .*: start workers with"):
        finished(campaign(workers, HistoryStore(tmp_path)))


def test_workers_without_polytune_are_refused(tmp_path):
    workers = Workers()

    def without(place, name, function, *arguments):
        future = Future()
        future.set_exception(ModuleNotFoundError("No module named 'polytune'"))
        return future

    workers.submit = without
    with pytest.raises(CampaignError, match=r"cannot run polytune \(No module named 'polytune'\): install polytune"):
        finished(campaign(workers, HistoryStore(tmp_path)))


def test_interrupted_campaigns_keep_what_they_have(tmp_path):
    workers, store = Workers(), HistoryStore(tmp_path)
    begun = time.monotonic()

    def stop(progress):
        if any(entry.trials > 3 for entry in progress.entries):
            raise KeyboardInterrupt

    stopped = campaign(workers, store, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    stopped.cancel()
    assert sum(entry.trials for entry in stopped.entries()) == len(store.all()) > 3
    assert not any(entry.finished for entry in stopped.entries()) or time.monotonic() - begun > 0
