"""Tuning a kernel in one go: calls for that alone, on copies of arguments, and a line that says how far it is."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import numpy as np

from polytune import notebook
from polytune.records import dataclass
from polytune.tuner import Configuration, OnlineTuner
from polytune.tuner.budget import seconds_text

_BAR = 20
"""The length of a bar of progress in characters."""

__all__ = ["Copies", "ProgressLine", "Tuned", "tune_for"]

_SECONDS_BETWEEN_LINES = 0.1


@dataclass(frozen=True)
class Tuned:
    """The result of tuning.

    Attributes:
        configuration: the best one.
        seconds: what it takes.
        default_seconds: what the first choice takes; None where it has not been measured.
        configurations: how many have been measured, in earlier processes too.
        calls: how many calls were made.
        converged: whether nothing is left that is worth a try.
    """

    configuration: Configuration
    seconds: float
    default_seconds: float | None
    configurations: int
    calls: int
    converged: bool

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.configuration.items())
        first = ""
        if self.default_seconds is not None and self.seconds > 0:
            gain = self.default_seconds / self.seconds
            first = f", {gain:.2f} times as fast as the first choice, {seconds_text(self.default_seconds)}"
            if self.default_seconds == self.seconds:
                first = ", the first choice"
        state = "converged" if self.converged else "not converged"
        count = f"{self.configurations} configuration{'' if self.configurations == 1 else 's'}"
        return f"{seconds_text(self.seconds)} with {values}{first}; {count}, {state}"

    def _repr_html_(self) -> str:
        rows = [
            ("time of a call", seconds_text(self.seconds)),
            ("the first choice", "" if self.default_seconds is None else seconds_text(self.default_seconds)),
            ("configurations measured", self.configurations),
            ("calls", self.calls),
            ("converged", "yes" if self.converged else "no"),
            *self.configuration.items(),
        ]
        return notebook.table(("tuned", ""), rows)


class Copies:
    """Copies of a call's arrays, which are as at first before each call: updates in place neither grow nor vanish.

    Arrays that are one stay one.
    """

    def __init__(self, values: Sequence[Any]):
        arrays = {id(value): value for value in values if isinstance(value, np.ndarray)}
        copies = {number: _copy(array) for number, array in arrays.items()}
        self.values = tuple(copies.get(id(value), value) for value in values)
        self._originals = [(copies[number], array.copy()) for number, array in arrays.items()]

    def restore(self) -> None:
        """Put all elements back."""
        for mine, original in self._originals:
            mine[...] = original


def _copy(array: np.ndarray) -> np.ndarray:
    """A copy with the strides of an array, so that it has the same type for a kernel: the elements of a column of a
    matrix lie as far apart."""
    offsets = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    if not array.size:
        return array.copy()
    least, most = sum(min(0, each) for each in offsets), sum(max(0, each) for each in offsets)
    memory = np.empty(most - least + array.itemsize, np.uint8)
    copy: np.ndarray = np.ndarray(array.shape, array.dtype, memory, -least, array.strides)
    copy[...] = array
    return copy


class ProgressLine:
    """One line on a terminal, or a bar in a notebook, that is written again and again; nothing elsewhere unless wanted.

    Args:
        wanted: whether to write it; None where there is somebody to read it.
        stream: where to; standard error, or the notebook, where not given.
    """

    def __init__(self, wanted: bool | None, stream: TextIO | None = None):
        self._display = _display() if stream is None and wanted is not False else None
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = self._stream.isatty() if wanted is None else wanted
        self._length = 0
        self._next = 0.0

    def update(self, text: str, done: float | None = None, *, now: bool = False) -> None:
        """Show a text in place of the one before, unless that has just been written.

        Args:
            text: what is shown.
            done: how far it is, from 0 to 1, for a bar before it; no bar where it is None.
            now: whether to write it whenever the one before was written.
        """
        moment = time.monotonic()
        if (self._display is None and not self._is_shown) or (moment < self._next and not now):
            return
        self._next = moment + _SECONDS_BETWEEN_LINES
        if self._display is not None:
            self._display(notebook.paragraph(text) if done is None else notebook.progress_bar(done, text))
            return
        line = text if done is None else f"{_bar(done)} {text}"
        self._stream.write(f"\r{line.ljust(self._length)}")
        self._stream.flush()
        self._length = len(line)

    def end(self, text: str) -> None:
        """Show the last text, and go to the next line."""
        self.update(text, now=True)
        if self._display is None and self._is_shown:
            self._stream.write("\n")


def _bar(done: float) -> str:
    full = round(_BAR * min(max(done, 0.0), 1.0))
    return f"[{'#' * full}{'.' * (_BAR - full)}]"


def _display() -> Callable[[str], None] | None:
    """A function that shows HTML in a notebook, in place of what it showed before; None where there is no notebook."""
    if "ipykernel" not in sys.modules:
        return None
    try:
        running = importlib.import_module("IPython").get_ipython()
        shell = importlib.import_module("IPython.display")
    except ImportError:
        return None
    if not hasattr(running, "kernel"):  # imported, but nobody sees what would be shown
        return None
    shown: list[Any] = []

    def show(html: str) -> None:
        if shown:
            shown[0].update(shell.HTML(html))
        else:
            shown.append(shell.display(shell.HTML(html), display_id=True))

    return show


def tune_for(
    name: str,
    call: Callable[[], Any],
    tuner: OnlineTuner,
    seconds: float,
    line: ProgressLine,
    prepare: Callable[[], Any],
) -> int:
    """Make calls until the time is up or the tuner has converged.  Return how many there were.

    An interrupt (Ctrl-C) ends it as the time does: what was found until then is kept.  Where nothing is known yet, it
    goes on to the caller.

    Args:
        name: what is called, for people.
        call: one tuned call.
        tuner: what learns from it.
        seconds: how long; a call that has begun is finished.
        line: says how far it is.
        prepare: is called before each call.
    """
    start, calls = time.monotonic(), 0
    try:
        while not tuner.converged and (passed := time.monotonic() - start) < seconds:
            told = tuner.statistics()
            best = "compiling" if told.best_seconds is None else f"best {seconds_text(told.best_seconds)}"
            count = f"{told.explored} configuration{'' if told.explored == 1 else 's'}"
            text = f"{name}: {passed:.1f} of {seconds:g} s, {count}, {best}"
            line.update(text, passed / seconds)
            prepare()
            call()
            calls += 1
    except KeyboardInterrupt:
        if tuner.best is None:
            raise
    return calls
