"""Tuning in one go, blocks that are not tuned, frozen kernels, and files of what was found."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, HistoryError, PolytuneError
from polytune.history import HistoryStore
from polytune.runtime.background.compiler import background
from polytune.runtime.calls.settled import SettledCalls
from polytune.runtime.teams.threads import current_threads
from polytune.runtime.tuning import tunable, tuning_mode
from polytune.runtime.tuning.tuning_runs import Copies, ProgressLine
from polytune.tuner import Budget, Configuration

ROOT = Path(__file__).parents[3]


def smoothed(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) / 4 + B[i, j]


@pytest.fixture
def kernel(tmp_path) -> polytune.Kernel:
    made = polytune.Kernel(smoothed)
    made._store = HistoryStore(tmp_path / "history.sqlite")
    return made


def arrays(order: Any = "C") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return np.asarray(rng.random((12, 17)), order=order), np.asarray(rng.random((12, 17)), order=order)


def check(kernel: polytune.Kernel, calls: int = 1) -> None:
    """Some calls, held against plain Python."""
    A, B = arrays()
    wanted = B.copy()
    for _ in range(calls):
        kernel(A, B)
        smoothed(A, wanted)
    np.testing.assert_allclose(B, wanted, rtol=1e-13)


# ---- in one go


def test_tuning_in_one_go_changes_no_argument_and_is_remembered(kernel):
    A, B = arrays()
    before = A.copy(), B.copy()
    found = kernel.tune(A, B, seconds=2.0)
    np.testing.assert_array_equal(A, before[0])
    np.testing.assert_array_equal(B, before[1])
    # How many there is time for depends on what else the machine does.
    assert found.configurations > 1 and found.calls > 1
    assert found.configuration == kernel.tuner(A, B).best[0]
    assert found.seconds <= found.default_seconds
    again = polytune.Kernel(smoothed)
    again._store = HistoryStore(kernel._store.path)
    assert again.tuner(A, B).best[0] == found.configuration
    assert kernel.tuner(A, B).budget == polytune.Kernel(smoothed).budget, "what calls may cost is as before"
    assert kernel.background
    check(kernel, 3)


def test_several_threads_tune_at_the_same_time(kernel):
    """The first one to end does not end what the others do, and after the last one all is as before."""
    budget, entered, leave = kernel.budget, threading.Barrier(3), threading.Event()
    tuner = kernel.tuner(*arrays())

    def first():
        with kernel._in_one_go(tuner):
            entered.wait(60)

    def second():
        with kernel._in_one_go(tuner):
            entered.wait(60)
            leave.wait(60)

    threads = [threading.Thread(target=each) for each in (first, second)]
    for each in threads:
        each.start()
    entered.wait(60)
    threads[0].join(60)
    assert tuner.budget == Budget.unlimited() and not kernel.background
    kernel.freeze()
    leave.set()
    threads[1].join(60)
    assert tuner.budget == budget and kernel.background
    assert kernel._is_frozen, "what was said meanwhile holds"


def test_times_are_numbers_of_any_kind(kernel):
    for seconds in (np.float32(0.1), np.int64(1)):
        assert kernel.tune(*arrays(), seconds=seconds).configurations


@pytest.mark.parametrize("seconds", [0, -1, "soon", None, float("nan"), True])
def test_senseless_times_are_refused(kernel, seconds):
    with pytest.raises(PolytuneError, match="seconds above zero"):
        kernel.tune(*arrays(), seconds=seconds)


def test_arguments_are_checked_before_anything(kernel):
    A, B = arrays()
    with pytest.raises(ArgumentError, match="past the end"):
        kernel.tune(A, B[:5], seconds=1)
    with pytest.raises(ArgumentError):
        kernel.tune(A)


def test_an_interrupt_keeps_what_was_found(kernel, monkeypatch):
    calls = []
    call = type(kernel).__call__

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) > 6:
            raise KeyboardInterrupt
        return call(self, *arguments)

    monkeypatch.setattr(type(kernel), "__call__", interrupted)
    found = kernel.tune(*arrays(), seconds=60)
    assert found.calls == 6


def test_an_interrupt_before_anything_is_known_goes_on(kernel, monkeypatch):
    def interrupted(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(kernel), "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kernel.tune(*arrays(), seconds=60)


def test_the_line_says_how_far_it_is_and_ends_with_what_was_found(kernel, capsys):
    kernel.tune(*arrays(), seconds=0.5, progress=True)
    shown = capsys.readouterr().err
    *updates, last = shown.rstrip("\n").split("\r")
    assert len(updates) >= 2 and shown.endswith("\n")
    assert any("of 0.5 s" in each and "configurations" in each for each in updates)
    assert last.startswith("smoothed: ") and "version=" in last
    kernel.tune(*arrays(), seconds=0.1)
    assert capsys.readouterr().err == "", "nobody reads it here"


def test_a_shorter_line_leaves_nothing_of_a_longer_one():
    stream = io.StringIO()
    line = ProgressLine(True, stream)
    line.update("a long text", now=True)
    line.end("short")
    assert stream.getvalue() == "\ra long text\rshort      \n"


@pytest.mark.parametrize("view", ["whole", "transposed", "strided", "reversed", "empty", "broadcast"])
def test_copies_have_the_strides_of_what_they_copy(view):
    A = np.arange(60.0).reshape(6, 10)
    array = {
        "whole": A,
        "transposed": A.T,
        "strided": A[::2, 1::3],
        "reversed": A[::-1, ::-2],
        "empty": A[:0],
        "broadcast": np.broadcast_to(A[0], (4, 10)),
    }[view]
    copies = Copies((array, 3, array))
    copy = copies.values[0]
    assert copies.values[2] is copy and copies.values[1] == 3
    assert copy.size == 0 or copy.strides == array.strides
    np.testing.assert_array_equal(copy, array)
    assert not np.shares_memory(copy, array)
    expected = array.copy()
    if view != "broadcast":
        copy[...] = -1
        copies.restore()
    np.testing.assert_array_equal(copy, expected)


# ---- modes


def configurations_run(kernel: polytune.Kernel, monkeypatch: pytest.MonkeyPatch, calls: int) -> list[Configuration]:
    """In which configurations calls run, the short way barred, on which nobody asks."""
    A, B = arrays()
    generated = kernel.generated(A, B)
    made = []
    run = type(generated).run
    monkeypatch.setattr(SettledCalls, "note", lambda self, *_, **__: None)

    def noted(self, configuration, invocation):
        made.append(configuration)
        return run(self, configuration, invocation)

    monkeypatch.setattr(type(generated), "run", noted)
    check(kernel, calls)
    return made


def test_off_runs_the_first_choice_and_touches_no_history(kernel, monkeypatch):
    kernel.tune(*arrays(), seconds=0.5)
    known = kernel._store.all()
    default = kernel.tuner(*arrays()).space.default()
    kernel._forget()
    with polytune.tuning("off"):
        assert configurations_run(kernel, monkeypatch, 5) == [default] * 5
        assert not kernel.tuners
    assert kernel._store.all() == known


def test_off_makes_nothing_but_the_first_choice(kernel, monkeypatch):
    """Calls of small kernels are shorter than it takes to make what else might be run."""
    with polytune.tuning("off"):
        check(kernel)
        monkeypatch.setattr(
            type(kernel.generated(*arrays()).first_choices), "starts", property(lambda self: pytest.fail("made"))
        )
        monkeypatch.setattr(polytune.tuner.Space, "__init__", lambda self, *args, **kwargs: pytest.fail("made"))
        check(kernel, 3)


@pytest.mark.parametrize("way", ["block", "freeze"])
def test_frozen_runs_the_best_known_and_learns_nothing(kernel, monkeypatch, way):
    best = kernel.tune(*arrays(), seconds=1.0).configuration
    tuner = kernel.tuner(*arrays())
    calls = tuner.statistics().calls
    if way == "freeze":
        kernel.freeze()
        made = configurations_run(kernel, monkeypatch, 20)
        kernel.freeze(False)
    else:
        with polytune.tuning("frozen"):
            made = configurations_run(kernel, monkeypatch, 20)
    assert made == [best] * 20
    assert tuner.statistics().calls == calls
    check(kernel)
    assert tuner.statistics().calls == calls + 1


def test_frozen_with_nothing_known_runs_the_first_choice(kernel, monkeypatch):
    kernel.freeze()
    assert configurations_run(kernel, monkeypatch, 3) == [kernel.tuner(*arrays()).space.default()] * 3


def test_inner_blocks_decide_and_end(kernel):
    with polytune.tuning("off"):
        with polytune.tuning("on"):
            assert tuning_mode.current_mode() == "on"
        assert tuning_mode.current_mode() == "off"
    assert tuning_mode.current_mode() == "on"


def test_a_block_is_used_any_number_of_times(kernel):
    off = polytune.tuning("off")

    @off
    def mode() -> str:
        return tuning_mode.current_mode()

    for _ in range(2):
        with off:
            with polytune.tuning("frozen"), off:
                assert tuning_mode.current_mode() == "off"
            assert tuning_mode.current_mode() == "off"
        assert tuning_mode.current_mode() == "on" and mode() == "off"


def test_explain_says_why_nothing_is_tried(kernel, monkeypatch):
    assert "nothing is tried or learned" not in kernel.explain()
    with polytune.tuning("off"):
        check(kernel)
        assert 'a block of polytune.tuning("off") has calls run the first choice' in kernel.explain()
    kernel.freeze()
    assert "the kernel is frozen, until freeze(False)" in kernel.explain()
    kernel.freeze(False)
    monkeypatch.setattr(tunable, "current_mode", lambda: "frozen")
    assert "POLYTUNE_TUNING=frozen has calls run the best that is known" in kernel.explain()


@pytest.mark.parametrize("mode", ["Off", "", None, True, "of"])
def test_other_modes_are_refused(mode):
    with pytest.raises(PolytuneError, match="'on', 'off', 'frozen'"), polytune.tuning(mode):
        pass


@pytest.mark.parametrize(
    ("value", "wanted"), [("off", "off"), (" Frozen ", "frozen"), ("", "on"), ("never", "POLYTUNE_TUNING: 'never'")]
)
def test_the_environment_says_it_for_a_process(value, wanted):
    program = "from polytune.runtime.tuning.tuning_mode import current_mode; print(current_mode())"
    environment = {**os.environ, "POLYTUNE_TUNING": value}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120
    )
    assert wanted in (ran.stdout if ran.returncode == 0 else ran.stderr)


def test_what_cannot_be_compiled_is_replaced_where_nothing_is_tuned(kernel, monkeypatch):
    A, B = arrays()
    generated = kernel.generated(A, B)
    default = generated.space.default()
    functions = generated.functions
    compile_one = functions.compile

    def fails(name):
        if name == default["version"]:
            raise polytune.CompilationError("no")
        return compile_one(name)

    monkeypatch.setattr(functions, "compile", fails)
    monkeypatch.setattr(functions, "_addresses", {})
    with polytune.tuning("off"):
        check(kernel)


# ---- files


def test_what_was_found_goes_from_file_to_file(kernel, tmp_path, monkeypatch):
    best = kernel.tune(*arrays(), seconds=1.0).configuration
    kernel.save(tmp_path / "tuned.json")
    other = polytune.Kernel(smoothed)
    other._store = HistoryStore(tmp_path / "elsewhere")
    assert other.load(tmp_path / "tuned.json") == 1
    other.freeze()
    assert configurations_run(other, monkeypatch, 3) == [best] * 3
    other.freeze(False)
    assert other.tuner(*arrays()).choose() == best, "tried first"


def test_loading_holds_for_sizes_that_were_called_before(kernel, tmp_path):
    check(kernel)
    file = tmp_path / "tuned.json"
    kernel.save(file)
    document = json.loads(file.read_text())
    (entry,) = document["entries"]
    assert entry["kernel"].startswith("smoothed ") and entry["seconds"] > 0
    entry["configuration"] = {"version": "source"}
    file.write_text(json.dumps(document))
    kernel._store = HistoryStore(tmp_path / "elsewhere")
    assert kernel.load(file) == 1
    assert kernel.tuner(*arrays()).choose() == Configuration({"version": "source"})


def test_a_configuration_that_is_none_any_more_is_passed_over(kernel, tmp_path):
    check(kernel)
    file = tmp_path / "tuned.json"
    kernel.save(file)
    file.write_text(file.read_text().replace('"version": "', '"version": "once_'))
    kernel._store = HistoryStore(tmp_path / "elsewhere")
    kernel.load(file)
    kernel.freeze()
    check(kernel)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot be read"),
        ("{not json", "is no file of tuned"),
        ("[1, 2]", "is no file of tuned"),
        ('{"polytune_tuned": 99, "entries": []}', "newer polytune"),
        ('{"polytune_tuned": 1, "entries": [{"kernel": "a"}]}', "lacks something"),
        ('{"polytune_tuned": 1}', "lacks something"),
        (
            '{"polytune_tuned": 1, "entries": [{"kernel": 1, "shape": "", "machine": "", "configuration": {}, '
            '"seconds": 1}]}',
            "is no entry",
        ),
    ],
)
def test_other_files_are_refused_with_a_reason(kernel, tmp_path, text, why):
    file = tmp_path / "tuned.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(HistoryError, match=why):
        kernel.load(file)


def test_a_file_that_cannot_be_written_is_said(kernel, tmp_path):
    with pytest.raises(HistoryError, match="cannot be written"):
        kernel.save(tmp_path / "no folder" / "tuned.json")


def test_the_same_seed_tries_the_same(tmp_path):
    def tried(seed: int) -> list[Configuration]:
        kernel = polytune.Kernel(smoothed, seed=seed, budget=polytune.tuner.Budget.unlimited())
        kernel._store = HistoryStore(tmp_path / f"history_{len(list(tmp_path.iterdir()))}.sqlite")
        tuner = kernel.tuner(*arrays())
        made = []
        for number in range(60):
            made.append(tuner.choose())
            tuner.report(made[-1], 1.0 + 0.01 * (number % 7))
        return made

    assert tried(3) == tried(3)


def test_calls_leave_a_core_to_the_compiler_where_that_is_faster(kernel, monkeypatch):
    """Settled calls, too, and by the short way; the time of a call is the test's own."""
    if current_threads() < 2:
        pytest.skip("one thread is what there is")
    A, B = arrays()
    tuner = kernel.tuner(A, B)
    kernel(A, B)
    generated = kernel.generated(A, B)
    two = next(each for each in generated.first_choices.starts if each.get("threads", 1) >= 2)
    less = generated.first_choices.fewer_threads(two)
    assert less is not None and less["threads"] == two["threads"] - 1
    assert generated.first_choices.fewer_threads(tuner.space.configuration(**{**two, "threads": 1})) is None
    tuner._settled, tuner._reference, tuner._trial = two, 2e-5, None
    tuner._take_over = lambda records: None  # what is best in the store is not what the test says
    monkeypatch.setattr(background, "disturbs_since", lambda activity: True)
    reported = []
    report = tuner.report

    def reporting(configuration, seconds, **rest):
        reported.append(configuration)
        report(configuration, 2e-5 if configuration == less else 4e-5, **rest)

    monkeypatch.setattr(tuner, "report", reporting)
    wanted = B.copy()
    for _ in range(20):
        kernel(A, B)
        smoothed(A, wanted)
    np.testing.assert_allclose(B, wanted, rtol=1e-13)
    assert reported[0] == two and reported[8:].count(less) >= 9, "all but what looks again"
    monkeypatch.undo()
    kernel(A, B)
    kernel(A, B)
    assert tuner.steady is two
