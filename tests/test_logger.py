"""The logger ``polytune``: what it is told, and what the environment has it write."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import polytune
from polytune import kernel_modules, logger
from polytune.runtime.native import translation
from polytune.tuner import Configuration, Integer, OnlineTuner, Space

ROOT = Path(__file__).parents[1]
FACTOR = 2.0


def scaled(x):
    for i in range(len(x)):
        x[i] *= FACTOR


@pytest.fixture
def unlogged(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """The logger, which is put back as it was."""
    found = logging.getLogger("polytune")
    handlers, level = list(found.handlers), found.level
    yield found
    found.handlers[:] = handlers
    found.setLevel(level)


def told(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(f"{record.levelname} {record.getMessage()}" for record in caplog.records)


def test_what_is_compiled_and_found_is_told_with_seconds(tmp_path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(kernel_modules, "module_cache", lambda: NoCache())
    kernel = polytune.Kernel(scaled, background=False)
    with caplog.at_level(logging.INFO, "polytune"):
        kernel(np.ones(3))
    text = told(caplog)
    assert "INFO scaled(x: float64[::1]): " in text and " versions made in 0." in text
    assert "INFO scaled: run_" in text and " is ready, after " in text
    assert "call 1: found the best so far, version=" in text
    assert all(record.name.startswith("polytune.") for record in caplog.records)


class NoCache:
    """A disk cache that has nothing and keeps nothing."""

    def load(self, key: str) -> None:
        return None

    def store(self, key: str, text: str) -> object:
        from polytune.runtime.modules.cache import ModuleCache

        return ModuleCache().store(f"test{key}", text)


def tuner_of(seconds: dict[int, float], calls: int) -> OnlineTuner:
    """A tuner that has seen so many calls of configurations that take so long."""
    found = OnlineTuner(Space([Integer("n", 1, len(seconds), 1)]), key=("k 0123", "n=7", "here"))
    for _ in range(calls):
        configuration = found.choose()
        found.report(configuration, seconds[configuration["n"]])
    return found


def test_what_is_tried_and_settled_on_is_told(caplog) -> None:
    with caplog.at_level(logging.DEBUG, "polytune"):
        tuner = tuner_of({1: 1.0, 2: 2.0, 3: 3.0}, 200)
    assert tuner.settled == Configuration({"n": 1})
    text = told(caplog)
    assert "DEBUG k(n=7), call 1: tried n=2: 2 s, the first choice" in text
    assert "INFO k(n=7), call 1: found the best so far, n=2: 2 s" in text
    assert ": found the best so far, n=1: 1 s" in text and ": settled on n=1: 1 s" in text
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "polytune"):
        tuner.report_steady(tuner.choose(), 1.0)
        assert not caplog.records  # a call that is settled tells nothing
        for _ in range(100):
            tuner.report(tuner.choose(), 9.0)
            if tuner.settled is None:
                break
    assert ": searches again after n=1: calls of it take longer than they did" in told(caplog)


def test_what_is_given_up_is_told(caplog) -> None:
    tuner = OnlineTuner(Space([Integer("n", 1, 3, 1)]))
    with caplog.at_level(logging.INFO, "polytune"):
        tuner.fail(Configuration({"n": 1}), "too large")
    assert told(caplog) == "INFO a tuner, call 1: gave up n=1: failed: too large"


def test_a_change_outside_is_told(monkeypatch, caplog) -> None:
    kernel = polytune.Kernel(scaled, background=False)
    x = np.ones(3)
    kernel(x)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    with caplog.at_level(logging.INFO, "polytune"):
        kernel(x)
    assert "INFO scaled: is compiled again, as 'FACTOR' outside of it has changed" in told(caplog)
    np.testing.assert_array_equal(x, 6.0)


def test_a_defect_of_the_translation_is_told_and_costs_no_result(monkeypatch, caplog) -> None:
    def fails(*arguments: object, **keywords: object) -> None:
        raise KeyError("kind")

    monkeypatch.delenv("POLYTUNE_VERIFY", raising=False)
    monkeypatch.setattr(translation, "lower", fails)
    monkeypatch.setattr(translation, "kept", lambda folder, name: None)

    def shifted(x):
        for i in range(len(x)):
            x[i] += 0.375

    kernel = polytune.Kernel(shifted, background=False)
    x = np.zeros(5)
    with caplog.at_level(logging.WARNING, "polytune"):
        kernel(x)
    np.testing.assert_array_equal(x, 0.375)
    assert "is left to Numba, by a defect of polytune" in told(caplog)


def run(level: str | None) -> tuple[str, str]:
    """The output and the errors of a program that calls a kernel, with a level in the environment."""
    program = "import numpy; from tests.test_logger import scaled; import polytune; "
    program += "polytune.Kernel(scaled)(numpy.ones(3)); print('done')"
    environment = {name: value for name, value in os.environ.items() if name != "POLYTUNE_LOG"}
    if level is not None:
        environment["POLYTUNE_LOG"] = level
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=300, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, ran.stderr


@pytest.mark.slow
def test_a_level_in_the_environment_writes_to_standard_error() -> None:
    assert run(None) == ("done\n", "")
    out, errors = run("Info")
    assert out == "done\n" and " polytune INFO: scaled(x: float64[::1]): " in errors and "DEBUG" not in errors


def test_nothing_is_written_without_it(unlogged, monkeypatch) -> None:
    monkeypatch.delenv("POLYTUNE_LOG", raising=False)
    unlogged.handlers.clear()
    logger.configure()
    assert [type(handler) for handler in unlogged.handlers] == [logging.NullHandler]


def test_one_handler_writes_whatever_is_standard_error(unlogged, monkeypatch, capsys) -> None:
    monkeypatch.setenv("POLYTUNE_LOG", "warning")
    logger.configure()
    logger.configure()
    logging.getLogger("polytune.anything").warning("seen")
    logging.getLogger("polytune.anything").info("unseen")
    errors = capsys.readouterr().err
    assert errors.count(" polytune WARNING: seen\n") == 1 and "unseen" not in errors


def test_another_word_is_warned_of(unlogged, monkeypatch) -> None:
    monkeypatch.setenv("POLYTUNE_LOG", "loud")
    with pytest.warns(polytune.PolytuneWarning, match="POLYTUNE_LOG='loud'.* debug, info, warning, error"):
        logger.configure()
