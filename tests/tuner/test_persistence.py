"""What an online tuner leaves for the next process."""

from __future__ import annotations

import json
import os
import threading
import time

import pytest

from polytune.errors import SpaceError
from polytune.history import HistoryStore
from polytune.tuner import Integer, Nominal, OnlineTuner, Space, persistence
from tests.tuner.landscape import SPACE, Machine, cost

KEY = ("kernel", "n=100", "machine")


@pytest.fixture(autouse=True)
def own_writer(monkeypatch):
    """The thread of another test's writer may sleep for seconds before it looks at what waits here."""
    monkeypatch.setattr(persistence, "_WRITER", persistence._StateWriter())


def calls(tuner, measure, count):
    made = []
    for _ in range(count):
        configuration = tuner.choose()
        tuner.report(configuration, measure(configuration))
        made.append(configuration)
    return made


def test_a_converged_tuner_is_converged_in_the_next_process(tmp_path):
    first = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    calls(first, Machine(0).measure, 1000)
    first.save()
    second = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    assert second.converged and second.choose() == first.best[0] and second.best == first.best
    assert second.statistics().trials == first.statistics().trials
    assert set(calls(second, Machine(1).measure, 50)) == {first.best[0]}


@pytest.mark.parametrize("stop", [1, 5, 30])
def test_an_unfinished_search_goes_on_where_it_was(tmp_path, stop):
    alone = OnlineTuner(SPACE)
    expected = calls(alone, cost, 200)
    first = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    made = calls(first, cost, stop)
    first.save()
    second = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    assert made + calls(second, cost, 200 - stop) == expected
    assert second.statistics() == alone.statistics()


def test_who_is_to_know_is_told_of_all_that_was_measured_whenever_something_is_written(tmp_path):
    told = []
    tuner = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path), written=told.append)
    calls(tuner, cost, 10)
    tuner.save()
    calls(tuner, cost, 10)
    tuner.save()
    tuner.save()
    assert len(told) == 2 and len(told[0]) < len(told[1]) and told[1] == tuner.ranking()


def test_what_follows_from_measurements_does_not_lose_them(tmp_path, caplog):
    def fails(measured):
        raise RuntimeError("a defect")

    tuner = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path), written=fails)
    configurations = calls(tuner, cost, 10)
    tuner.save()
    tuner.save()
    assert "a defect" in caplog.text
    assert sum(each.count for each in HistoryStore(tmp_path).all(*KEY)) <= len(configurations)
    assert OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path)).best == tuner.best


def test_other_keys_are_not_mixed_up(tmp_path):
    store = HistoryStore(tmp_path)
    first = OnlineTuner(SPACE, key=KEY, store=store)
    calls(first, cost, 300)
    first.save()
    for key in (("other", *KEY[1:]), ("kernel", "n=200", "machine"), (*KEY[:2], "other")):
        assert not OnlineTuner(SPACE, key=key, store=store).converged


def test_failures_are_remembered(tmp_path):
    first = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    failed = set()
    for _ in range(20):
        configuration = first.choose()
        if configuration["version"] == "wavefront":
            first.fail(configuration, "it needs too much memory")
            failed.add(configuration)
        else:
            first.report(configuration, cost(configuration))
    first.save()
    assert failed
    second = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    assert failed.isdisjoint(calls(second, cost, 400))
    (record, *_) = [m for m in HistoryStore(tmp_path).all(*KEY) if m.status == "failed"]
    assert record.reason == "it needs too much memory" and record.configuration["version"] == "wavefront"


def test_a_changed_space_starts_from_the_best_records_that_are_still_members(tmp_path):
    first = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    calls(first, cost, 500)
    first.save()
    wider = Space([Nominal("version", ("source_order", "tiled", "wavefront", "new")), *SPACE.parameters[1:]])
    second = OnlineTuner(wider, key=KEY, store=HistoryStore(tmp_path))
    assert not second.converged and second.best[0] == first.best[0]
    made = calls(second, lambda c: 0.5e-3 if c["version"] == "new" else cost(c), 500)
    assert second.best[0]["version"] == "new"
    assert len(set(made)) < 40  # what is known is not measured again
    narrower = Space([Nominal("version", ("plain",)), Integer("threads", 1, 8)])
    assert OnlineTuner(narrower, key=KEY, store=HistoryStore(tmp_path)).best is None


def test_what_another_process_measured_is_taken_over(tmp_path):
    first = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    calls(first, cost, 4)
    first.save()
    good = SPACE.configuration(version="tiled", tile_0=128, tile_1=16, unroll=4)
    HistoryStore(tmp_path).record(*KEY, good, cost(good), count=5)
    assert OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path)).best == (good, cost(good))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: {},
        lambda state: {**state, "search": {}},
        lambda state: {**state, "version": 99},
        lambda state: {**state, "ledger": {"unknown": 1}},
        lambda state: {**state, "search": {**state["search"], "walk": {"root": [["x"]]}}},
    ],
)
def test_a_state_that_cannot_be_read_is_left_aside(tmp_path, spoil):
    store = HistoryStore(tmp_path)
    first = OnlineTuner(SPACE, key=KEY, store=store)
    calls(first, cost, 300)
    first.save()
    store.save_search(*KEY, spoil(store.load_search(*KEY)))
    second = OnlineTuner(SPACE, key=KEY, store=store)
    assert not second.converged and second.best[0] == first.best[0]
    calls(second, cost, 300)
    assert second.converged


def test_calls_are_not_written_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "_SECONDS_BETWEEN_WRITES", 1e6)  # on a busy machine, the calls may take seconds
    written = []

    class Counted(HistoryStore):
        def record(self, *arguments, **keywords):
            written.append(arguments)

    tuner = OnlineTuner(SPACE, key=KEY, store=Counted(tmp_path))
    calls(tuner, cost, 1000)
    assert len(written) == 0  # seconds have not passed
    tuner.save()
    assert len(written) == tuner.statistics().explored
    tuner.save()
    calls(tuner, cost, 1000)
    tuner.save()
    assert len(written) == tuner.statistics().explored


def test_news_are_written_in_the_background_before_long(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "_SECONDS_BETWEEN_WRITES", 0.0)
    writers = set()

    class Watched(HistoryStore):
        def record(self, *arguments, **keywords):
            writers.add(threading.current_thread())
            super().record(*arguments, **keywords)

    tuner = OnlineTuner(SPACE, key=KEY, store=Watched(tmp_path))
    calls(tuner, cost, 30)
    deadline = time.monotonic() + 20
    while not HistoryStore(tmp_path).all(*KEY):
        assert time.monotonic() < deadline, "nothing was written"
        time.sleep(0.01)
    assert threading.main_thread() not in writers


def test_news_that_come_while_the_thread_writes_are_written_without_another_call(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "_SECONDS_BETWEEN_WRITES", 0.0)
    writer = persistence._StateWriter()
    written, writing, go_on = [], threading.Event(), threading.Event()

    class News:
        def __init__(self, name):
            self.name = name

        def write(self):
            written.append(self.name)
            writing.set()
            assert go_on.wait(20)

    writer.schedule(News("first"))
    assert writing.wait(20)
    thread = writer._thread
    writer.schedule(News("second"))  # the thread has looked for what waits, and will end
    go_on.set()
    thread.join(20)
    assert written == ["first", "second"] and not thread.is_alive()
    writer.schedule(News("third"))  # by another thread
    deadline = time.monotonic() + 20
    while len(written) < 3:
        assert time.monotonic() < deadline, "nothing was written"
        time.sleep(0.01)


def test_the_state_is_plain_json(tmp_path):
    tuner = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path))
    calls(tuner, cost, 60)
    tuner.save()
    state = HistoryStore(tmp_path).load_search(*KEY)
    assert json.loads(json.dumps(state, allow_nan=False)) == state


def test_a_store_needs_a_key(tmp_path):
    with pytest.raises(SpaceError, match="needs a key"):
        OnlineTuner(SPACE, store=HistoryStore(tmp_path))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_the_background_writes_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "_SECONDS_BETWEEN_WRITES", 0.0)
    writing, store_lock = threading.Event(), threading.Lock()

    class SlowStore(HistoryStore):
        def record(self, *arguments, **keywords):
            with store_lock:
                writing.set()
                time.sleep(0.2)

    tuner = OnlineTuner(SPACE, key=KEY, store=SlowStore(tmp_path))
    calls(tuner, cost, 1)
    assert writing.wait(20)
    child = os.fork()
    if child == 0:
        free = store_lock.acquire(timeout=10)
        os._exit(0 if free else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_saving_waits_for_what_is_being_written(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "_SECONDS_BETWEEN_WRITES", 0.0)
    writing = threading.Event()

    class SlowStore(HistoryStore):
        def record(self, *arguments, **keywords):
            writing.set()
            time.sleep(0.3)
            super().record(*arguments, **keywords)

    tuner = OnlineTuner(SPACE, key=KEY, store=SlowStore(tmp_path))
    calls(tuner, cost, 1)
    assert writing.wait(20)
    tuner.save()
    assert HistoryStore(tmp_path).all(*KEY) and HistoryStore(tmp_path).load_search(*KEY) is not None


def test_what_was_measured_with_other_code_is_a_hint(tmp_path):
    first = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path), code="old")
    calls(first, cost, 400)
    first.save()
    best = first.best[0]
    second = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path), code="new")
    assert not second.converged and second.best is None and second.statistics().calls == 0
    assert second.choose() == best  # where the search starts
    calls(second, lambda configuration: 2 * cost(configuration), 20)
    second.save()
    assert second.best[1] >= 2 * first.best[1]
    (record,) = [each for each in HistoryStore(tmp_path).all(*KEY) if each.configuration == dict(best)]
    assert record.code == "new" and record.best_seconds == 2 * cost(best)
    assert OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path), code="new").best == second.best


def test_what_failed_as_other_code_is_tried_again(tmp_path):
    first = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path), code="old")
    calls(first, cost, 3)
    failed = first.choose()
    first.fail(failed, "a defect")
    first.save()
    second = OnlineTuner(SPACE, key=KEY, store=HistoryStore(tmp_path), code="new")
    assert failed in calls(second, cost, 400)
