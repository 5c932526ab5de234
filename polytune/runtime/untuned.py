"""Calls that are not tuned: the configuration that runs, and what runs where that cannot be compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from polytune.errors import CompilationError
from polytune.runtime.generated import GeneratedKernel
from polytune.runtime.invocation import Invocation
from polytune.tuner import Configuration, OnlineTuner, Space

__all__ = ["best_known", "run_first"]


def best_known(tuner: OnlineTuner, is_given: bool) -> Iterator[Configuration]:
    """Return what to run by all that is known, the best first.

    Args:
        tuner: what knows.
        is_given: whether a file has told it what to begin with.
    """
    best = tuner.best
    if best is not None:
        yield best[0]
    elif is_given:
        yield tuner.hints[0]


def run_first(generated: GeneratedKernel, space: Space, invocation: Invocation, wanted: Iterable[Configuration]) -> Any:
    """Run a call once, in the first configuration that can be compiled: of those wanted, then of all versions.

    Args:
        generated: the kernel.
        space: what there is for the call.
        invocation: the call.
        wanted: the configurations to begin with.

    Raises:
        CompilationError: none can be compiled; nothing has been written.
    """
    failure: CompilationError | None = None
    tried: set[Configuration] = set()
    for configuration in (*wanted, space.default(), *generated.first_choices.starts):
        if configuration in tried or not space.contains(configuration):
            continue
        tried.add(configuration)
        try:
            return generated.run(configuration, invocation).result
        except CompilationError as error:
            failure = error
    raise failure or CompilationError(f"no version of {generated.module.NAME} can be compiled")
