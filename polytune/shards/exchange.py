"""The number of steps that shards of loops over time make at once, chosen by a tuner.

A model makes the first choice.  What calls take, from when their first shard begins until the last one has ended,
teaches a tuner like those of kernels which number is best, and the history remembers it.  No choice changes a result.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from functools import partial

from polytune.history import default_store, machine_key
from polytune.records import dataclass
from polytune.runtime.tuning.tuning_mode import current_mode
from polytune.shards.times import client_of_process, expect, is_expected
from polytune.tuner import Configuration, Key, OnlineTuner, Ordinal, Space

__all__ = ["StepsChoice", "begin", "choose", "identity_of"]

_PARAMETER = "steps_per_exchange"
_MOST_CHOICES = 256

_FAR_SLOWER = 2.0
"""So many times slower than the best, by the model, a number may be that is tried."""


@dataclass(frozen=True)
class StepsChoice:
    """The number of steps for a call.

    Attributes:
        steps: the number; None where there is nothing to choose.
        is_timed: whether the call is to tell how long it takes.
    """

    steps: int | None = None
    is_timed: bool = False


@dataclass(frozen=True)
class _Tuned:
    """The choice of the model for a kind of calls, and the tuner."""

    by_model: int
    tuner: OnlineTuner


_lock = threading.Lock()
_tuned: dict[str, _Tuned | None] = {}
_choices: dict[str, tuple[int, str]] = {}  # by a call's arguments, what was chosen, and what tells the call itself


def identity_of(text: str, described: str) -> str:
    """The kind of calls that one number is chosen for.

    Args:
        text: the kernel's module.
        described: its parameters, and the extents of the chunks of its arguments.
    """
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]} {described}"


def choose(
    identity: str, kernel: str, arguments: str, estimate: Callable[[], Mapping[int, float]], *, is_call: bool
) -> StepsChoice:
    """The number of steps for a call.

    As long as a call has not been computed, the same call gets the same number, so that its tasks are the same.

    Args:
        identity: the kind of calls.
        kernel: its name.
        arguments: tells calls of the kind with other arguments.
        estimate: gives the numbers that there are, with the seconds that a model expects of each.
        is_call: whether it is made, and not only looked at.
    """
    mode = current_mode()
    if mode == "off":
        return StepsChoice()
    with _lock:
        if identity not in _tuned:
            _tuned[identity] = _new(identity, kernel, estimate())
        tuned, earlier = _tuned[identity], _choices.get(arguments)
    if tuned is None:
        return StepsChoice()
    if earlier is not None and is_expected(earlier[1]):
        return StepsChoice(earlier[0], is_timed=is_call)
    if is_call and mode == "on" and not tuned.tuner.converged:
        return StepsChoice(int(tuned.tuner.choose()[_PARAMETER]), is_timed=True)
    best = tuned.tuner.best
    return StepsChoice(tuned.by_model if best is None else int(best[0][_PARAMETER]))


def begin(identity: str, arguments: str, call: str, choice: StepsChoice, shards: int) -> None:
    """Take note that a call has been made, of which the shards tell their times.

    Args:
        identity: the kind of calls.
        arguments: tells calls of the kind with other arguments.
        call: what tells this one.
        choice: what was chosen for it.
        shards: how many there are.
    """
    with _lock:
        tuned = _tuned.get(identity)
        if tuned is None or choice.steps is None:
            return
        _choices[arguments] = choice.steps, call
        while len(_choices) > _MOST_CHOICES:
            del _choices[next(iter(_choices))]
    configuration = tuned.tuner.space.configuration(**{_PARAMETER: choice.steps})
    expect(call, shards, partial(_learn, tuned.tuner, configuration))


def _learn(tuner: OnlineTuner, configuration: Configuration, seconds: float) -> None:
    tuner.report(configuration, seconds)


def _new(identity: str, kernel: str, estimates: Mapping[int, float]) -> _Tuned | None:
    """A tuner of a kind of calls; None where there is no choice."""
    if not estimates:
        return None
    by_model = min(estimates, key=estimates.__getitem__)
    choices = [steps for steps, seconds in estimates.items() if seconds <= _FAR_SLOWER * estimates[by_model]]
    if len(choices) < 2:
        return None
    digest, _, described = identity.partition(" ")
    space = Space([Ordinal(_PARAMETER, tuple(sorted(choices)), default=by_model)])
    key = Key(f"{kernel}.shards {digest}", described, _where())
    return _Tuned(by_model, OnlineTuner(space, key=key, store=default_store()))


def _where() -> str:
    """The machine, and how many workers a cluster has: what a number of steps is best for."""
    cluster = client_of_process()
    if cluster is None or cluster.asynchronous:
        return machine_key()
    workers = len(cluster.scheduler_info(n_workers=-1)["workers"])
    return f"{machine_key()}, {workers} worker{'s' if workers != 1 else ''}"
