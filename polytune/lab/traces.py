"""The course of online tuning, call by call: the traces and timelines of Pfaffe et al., ICS 2019, figures 7, 9, 11."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.lab.figures import file_name, plain_text, save
from polytune.records import dataclass
from polytune.tuner.trials import OnlineTrial

__all__ = ["Trace", "draw_traces", "trace_of"]


@dataclass(frozen=True, eq=False)
class Trace:
    """The calls of a tuned kernel.

    Attributes:
        seconds: (calls,) float64, what each call took; of calls of the best configuration, what that is known to take,
            as they are not in the log of trials.
        best: (calls,) float64, what the best configuration took that had been tried by then.
        trials: (calls,) bool, whether the call ran anything but the best.
    """

    seconds: np.ndarray
    best: np.ndarray
    trials: np.ndarray

    @property
    def timeline(self) -> np.ndarray:
        """Return how many seconds all calls had taken by the end of each, (calls,) float64."""
        total: np.ndarray = np.cumsum(self.seconds)
        return total

    @property
    def last_trial(self) -> int:
        """Return the number of the last call that was a trial, from 1 on; 0 where none was."""
        found = np.flatnonzero(self.trials)
        return int(found[-1]) + 1 if found.size else 0


def trace_of(trials: Sequence[OnlineTrial], calls: int) -> Trace:
    """The trace of the first calls of a process, from the log of its trials.

    Args:
        trials: what ``OnlineTuner.trials()`` or ``kernel.trials()`` has for one class of calls.
        calls: how many calls there were.

    Raises:
        SearchError: no call has been measured.
    """
    measured = [(each.call, each.seconds) for each in trials if each.seconds is not None and each.call <= calls]
    if not measured or calls < 1:
        raise SearchError("there is no trace without a trial that was measured: call the kernel first")
    seconds, tried = np.full(calls, math.nan), np.zeros(calls, bool)
    for call, took in measured:
        seconds[call - 1], tried[call - 1] = took, True
    # Before the first trial of the log, which keeps the last ones only, its time stands for what is not known.
    best = np.fmin.accumulate(np.where(tried, seconds, np.nan))
    best = np.where(np.isnan(best), measured[0][1], best)
    return Trace(np.where(tried, seconds, best), best, tried)


def draw_traces(traces: Mapping[str, Trace], folder: Path, title: str = "") -> list[Path]:
    """Draw the traces of one or more tuned kernels, or of one under several searches.

    Args:
        traces: by what they are called.
        folder: where to; made if it is not there.
        title: what was called.

    Returns:
        The files, PNG: the time of each call with the best so far (figures 7 and 9), and the time of all calls so far
        beside those of always running the first one's configuration (figure 11).

    Raises:
        MissingLibraryError: Matplotlib is not installed.
        OSError: they cannot be written.
    """
    name = file_name(title) or "kernel"
    return [
        save(folder / f"trace-{name}.png", partial(_calls, traces=traces, title=title)),
        save(folder / f"timeline-{name}.png", partial(_timelines, traces=traces, title=title)),
    ]


def _calls(axes: Any, traces: Mapping[str, Trace], title: str) -> None:
    for label, trace in traces.items():
        numbers = np.arange(1, len(trace.seconds) + 1)
        (line,) = axes.step(numbers, trace.best * 1e3, where="post", label=plain_text(label))
        axes.plot(numbers[trace.trials], trace.seconds[trace.trials] * 1e3, ".", color=line.get_color(), alpha=0.6)
    axes.set(xlabel="call", ylabel="ms; dots are trials", yscale="log", title=plain_text(title))
    axes.legend()


def _timelines(axes: Any, traces: Mapping[str, Trace], title: str) -> None:
    for label, trace in traces.items():
        numbers = np.arange(1, len(trace.seconds) + 1)
        (line,) = axes.plot(numbers, trace.timeline, label=plain_text(label))
        axes.plot(numbers, numbers * trace.seconds[0], "--", linewidth=0.8, color=line.get_color(), alpha=0.6)
    axes.set(xlabel="call", ylabel="s so far; dashed: always as the first call", title=plain_text(title))
    axes.legend()
