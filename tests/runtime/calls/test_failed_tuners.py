"""Errors from inside of what chooses configurations: injected at every seam, they end no call and change no result."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import HistoryError
from polytune.history.store import HistoryStore
from polytune.runtime.background.compiler import background
from polytune.runtime.calls.settled import SettledCalls
from polytune.runtime.modules.compiled_functions import CompiledFunctions
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.borrowed import BorrowedChoices
from polytune.runtime.tuning.first_choices import FirstChoices
from polytune.runtime.tuning.prediction import Prediction
from polytune.tuner import Nominal, OnlineTuner, Space
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner
from polytune.tuner.learning import Learning
from polytune.tuner.ledger import Ledger
from polytune.tuner.persistence import Persistence
from polytune.tuner.prospects import Prospects
from polytune.tuner.trials import TrialLog


def smoothed(steps, A, B):
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            B[i] = 0.25 * (A[i - 1] + 2.0 * A[i] + A[i + 1])
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]
    return A[1] + steps


def expected(steps: int, size: int) -> tuple[float, np.ndarray]:
    A = np.arange(size) ** 2.0
    return smoothed(steps, A, A.copy()), A


SEAMS: list[tuple[Any, str]] = [
    (Prediction, "__init__"),
    (Prediction, "_account"),
    (Prediction, "seconds"),
    (Prediction, "ranked"),
    (FirstChoices, "opening"),
    (FirstChoices, "risk"),
    (FirstChoices, "fewer_threads"),
    (BorrowedChoices, "choice"),
    (BorrowedChoices, "end"),
    (HistoryStore, "all"),
    (HistoryStore, "load_search"),
    (HistoryStore, "save_search"),
    (HistoryStore, "record"),
    (Persistence, "load"),
    (Persistence, "note"),
    (Persistence, "_write"),
    (OnlineTuner, "__init__"),
    (OnlineTuner, "choose"),
    (OnlineTuner, "report"),
    (OnlineTuner, "report_steady"),
    (OnlineTuner, "_choose"),
    (Learning, "_learn"),
    (Learning, "_take_steady"),
    (HierarchicalTuner, "__init__"),
    (HierarchicalTuner, "ask"),
    (HierarchicalTuner, "tell"),
    (HierarchicalTuner, "postpone"),
    (HierarchicalTuner, "state"),
    (Ledger, "compare"),
    (Ledger, "add_trial"),
    (TrialLog, "add"),
    (TrialLog, "count"),
    (Prospects, "kind"),
    (Prospects, "is_too_dear"),
    (Prospects, "needs_compiler"),
    (Prospects, "promise"),
    (CompiledFunctions, "preparation"),
    (CompiledFunctions, "compilation"),
    (CompiledFunctions, "is_ready"),
    (type(background), "provides"),
    (type(background), "_begin"),
    (GeneratedKernel, "is_ready"),
    (GeneratedKernel, "can_bind"),
    (GeneratedKernel, "bound"),
    (SettledCalls, "note"),
]


@pytest.mark.parametrize("after", [0, 7], ids=["from the first time on", "later"])
@pytest.mark.parametrize(("owner", "name"), SEAMS, ids=[f"{owner.__name__}.{name}" for owner, name in SEAMS])
def test_no_error_of_a_tuner_ends_a_call(owner: Any, name: str, after: int, monkeypatch, tmp_path) -> None:
    """At sizes enough that those are borrowed for which there is no tuner."""
    whole, count = getattr(owner, name), 0

    def failing(*arguments: Any, **keywords: Any) -> Any:
        nonlocal count
        count += 1
        if count > after:
            raise ZeroDivisionError("injected")
        return whole(*arguments, **keywords)

    monkeypatch.setenv("POLYTUNE_HISTORY", f"sqlite:///{tmp_path}/history.sqlite")
    monkeypatch.setattr(owner, name, failing)
    kernel = polytune.kernel(smoothed)
    for mode in ("on", "frozen", "off"):
        with polytune.tuning(mode):
            for size in (*[9] * 12, *range(3, 16), 9):
                A = np.arange(size) ** 2.0
                returned = kernel(2, A, A.copy())
                wanted, array = expected(2, size)
                assert returned == wanted
                np.testing.assert_array_equal(A, array)


def test_a_failed_tuner_is_told_of_once(monkeypatch, caplog) -> None:
    """And calls then go the short way, in the configuration that was the best."""
    kernel = polytune.kernel(smoothed)
    A = np.arange(40) ** 2.0
    for _ in range(5):
        kernel(1, A.copy(), A.copy())
    (best, _) = kernel.tuner(1, A, A.copy()).best
    monkeypatch.setattr(OnlineTuner, "choose", lambda *_: 1 / 0)
    monkeypatch.setattr(OnlineTuner, "report_steady", lambda *_: 1 / 0)
    ran = []
    run = GeneratedKernel.run
    monkeypatch.setattr(GeneratedKernel, "run", lambda *given: (ran.append(given[1]), run(*given))[1])
    with caplog.at_level(logging.WARNING, "polytune"):
        for _ in range(20):
            kernel(1, A.copy(), A.copy())
    assert [each.message for each in caplog.records if "is not tuned any more" in each.message] == [
        f"smoothed({next(iter(kernel.tuners))}): is not tuned any more, by a defect of polytune: calls run what is "
        "best so far"
    ]
    assert len(ran) < 6, "calls that are not tuned settle, too"
    assert set(ran) == {best}


def test_what_users_ask_for_and_cannot_be_is_an_error(monkeypatch) -> None:
    monkeypatch.setenv("POLYTUNE_HISTORY", "mongodb://somewhere/history")
    kernel = polytune.kernel(smoothed)
    A = np.ones(9)
    with pytest.raises(HistoryError, match="is no history"):
        kernel(1, A, A.copy())


def test_a_version_that_a_defect_keeps_from_being_compiled_is_left_out(monkeypatch) -> None:
    module = "polytune.runtime.modules.compiled_functions"
    entry_of = sys.modules[module].entry_of
    failed = set()

    def failing(function: Any, words: int) -> int:
        if not failed or function.__name__ in failed:
            failed.add(function.__name__)
            raise KeyError("injected")
        return entry_of(function, words)

    monkeypatch.setattr(f"{module}.entry_of", failing)
    kernel = polytune.kernel(smoothed)
    A = np.arange(9) ** 2.0
    assert kernel(2, A, A.copy()) == expected(2, 9)[0]
    assert failed


def test_measurements_that_could_not_be_written_are_written_later(monkeypatch, tmp_path, caplog) -> None:
    store = HistoryStore(tmp_path)
    key = ("kernel", "n=1", "machine")
    tuner = OnlineTuner(Space([Nominal("version", ("plain", "tiled"))]), key=key, store=store)
    with monkeypatch.context() as patch:
        patch.setattr(store, "record", lambda *_, **__: 1 / 0)
        for _ in range(4):
            tuner.report(tuner.choose(), 0.5)
        tuner.save()
        assert "could not be written" in caplog.text
        assert not store.all()
    tuner.save()
    assert sum(each.count for each in store.all()) >= 2


def test_one_history_that_cannot_be_written_costs_no_other_one(tmp_path) -> None:
    """Nor does the program that ends hear of it, but through its logger."""
    program = f"""
import polytune.tuner.persistence as persistence
from polytune.history.store import HistoryStore
from polytune.tuner import Nominal, OnlineTuner, Space
whole = HistoryStore.record
def record(self, kernel, *rest, **named):
    if kernel == "wrong":
        raise RuntimeError("injected")
    return whole(self, kernel, *rest, **named)
HistoryStore.record = record
store = HistoryStore({str(tmp_path)!r})
for name in ("wrong", "a", "b", "c"):
    tuner = OnlineTuner(Space([Nominal("version", ("plain", "tiled"))]), key=(name, "n=1", "machine"), store=store)
    for _ in range(4):
        tuner.report(tuner.choose(), 0.5)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ)
    assert ended.returncode == 0, ended.stderr
    assert {each.kernel for each in HistoryStore(tmp_path).all()} == {"a", "b", "c"}
