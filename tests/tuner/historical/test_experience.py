"""Whether tuning is started at all is decided by what it has gained and cost in other cases."""

from __future__ import annotations

import pytest

from polytune.history import HistoryStore
from polytune.tuner import Budget, Key, OnlineTuner
from polytune.tuner.historical.experience import Experience, Outlook, experiences, note_experience, outlook
from polytune.tuner.ledger import Ledger
from tests.tuner.landscape import SPACE, cost

KEY = Key("kernel 0123", "n=100", "machine")


def remember(store: HistoryStore, kernel: str, gain: float, trials: int = 20, calls: int = 500) -> None:
    ledger = Ledger(calls=calls, trials=trials, lost_seconds=30.0, best_seconds=1.0 / gain, gain=gain)
    note_experience(store, Key(kernel, "n=7", "machine"), ledger)


def run(tuner: OnlineTuner, calls: int) -> int:
    """Make calls; how many of them were trials."""
    for _ in range(calls):
        configuration = tuner.choose()
        tuner.report(configuration, cost(configuration))
    return tuner.statistics().trials


def test_what_other_kernels_did_not_gain_is_waited_for(tmp_path):
    store = HistoryStore(tmp_path)
    for number in range(8):
        remember(store, f"other{number}", gain=1.01)
    tuner = OnlineTuner(SPACE, key=KEY, store=store)
    assert run(tuner, 500) == 0
    paused = tuner.statistics().paused
    assert paused.startswith("in 8 other cases of other kernels tuning has saved 1.0% of the time of the first choice")
    assert paused.endswith("cost as much as 30 calls: it is started after 600 calls")
    assert run(tuner, 200) > 10 and tuner.best[0]["version"] == "tiled"


def test_what_other_kernels_gained_is_tried_at_once_where_so_many_calls_are_expected(tmp_path):
    store = HistoryStore(tmp_path)
    remember(store, KEY.kernel, gain=4.0)
    assert run(OnlineTuner(SPACE, key=KEY, store=store), 30) > 10


def test_of_few_other_kernels_nothing_is_concluded(tmp_path):
    store = HistoryStore(tmp_path)
    for number in range(4):
        remember(store, f"other{number}", gain=1.0)
    remember(store, "with few trials", gain=1.0, trials=3)
    assert len(experiences(store, "machine")) == 4
    assert run(OnlineTuner(SPACE, key=KEY, store=store), 30) > 10


@pytest.mark.parametrize("budget", [Budget.unlimited(), 100, "1 s", "50 %"])
def test_who_says_what_tuning_may_cost_has_it_at_once(tmp_path, budget):
    store = HistoryStore(tmp_path)
    for number in range(8):
        remember(store, f"other{number}", gain=1.01)
    assert run(OnlineTuner(SPACE, key=KEY, store=store, budget=budget), 100) > 5


def test_the_outlook_is_of_the_same_kernel_where_there_is_one():
    other = [Experience(f"k{n}", "n=1", 10, 1.0, 5.0) for n in range(10)]
    same = Experience(KEY.kernel, "n=1", 4000, 2.0, 50.0)
    found = outlook([*other, same], KEY)
    assert found.is_same_kernel and found.cases == 1 and found.saved == 0.5 and found.begins_after == 100
    assert found.pays(0)  # as there were 4000 calls of it
    alone = outlook(other, KEY)
    assert not alone.is_same_kernel and alone.begins_after == 100 and not alone.pays(99) and alone.pays(100)
    assert outlook([Experience(KEY.kernel, KEY.shape, 10, 2.0, 5.0)], KEY) is None


def test_a_tuner_leaves_its_experience(tmp_path):
    store = HistoryStore(tmp_path)
    tuner = OnlineTuner(SPACE, key=KEY, store=store)
    run(tuner, 400)
    tuner.save()
    (found,) = experiences(HistoryStore(tmp_path), "machine")
    assert (found.kernel, found.shape, found.calls) == (KEY.kernel, KEY.shape, 400)
    assert found.gain == pytest.approx(cost(SPACE.default()) / tuner.best[1])
    assert found.cost == pytest.approx(tuner.statistics().lost_seconds / cost(SPACE.default()))


@pytest.mark.parametrize(
    "record", [{}, {"version": 1}, {"version": 1, "cases": [["a", 1]]}, {"version": 2, "cases": 0}]
)
def test_what_cannot_be_read_is_no_experience(tmp_path, record):
    store = HistoryStore(tmp_path)
    store.save_search("tuning experience", "", "machine", record)
    assert experiences(store, "machine") == []


def test_many_calls_are_told_as_a_number_that_is_read() -> None:
    told = Outlook(cases=1, is_same_kernel=True, saved=0.0, cost=4900.4, calls=0).objection(1)
    assert told is not None and "another size of this kernel" in told and "cost as much as 4900 calls" in told
