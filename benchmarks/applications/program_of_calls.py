"""One process of ``benchmarks.applications``: a program that calls a kernel again and again.

``python -m benchmarks.applications.program_of_calls KERNEL COMPILER CALLS SECONDS FILE``, for the compilers ``numba``,
``polytune`` and ``polytune-fastmath``, calls it ``CALLS`` times, and then, where ``SECONDS`` are not 0, until so many
have passed since the first call.  It prints a line of JSON after the first call, for its parent to take the time, and
one at the end, and writes the arrays to ``FILE``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.applications.case import Arguments, Case, every_case

FEW = 20
"""The number of calls that stand for a late one, and for one of the last ones."""

LATE = 300
"""The number of calls after which one is late."""


def compiled(case: Case, compiler: str, unlimited: bool) -> Callable[..., Any]:
    """The kernel as a user of a compiler has it: with the decorator swapped, and nothing else, or with the flags
    that Numba has."""
    if compiler == "numba":
        from numba import njit

        return njit(parallel=True, fastmath=case.fastmath)(case.numba)
    import polytune
    from polytune.tuner import Budget

    settings: dict[str, Any] = {"budget": Budget.unlimited()} if unlimited else {}
    if compiler == "polytune-fastmath":
        settings["fastmath"] = case.fastmath
    return polytune.kernel(**settings)(case.function)


class Beginning:
    """The arguments as they are before each call: arrays and random numbers are put back."""

    def __init__(self, arguments: Arguments):
        self._arrays = [(each, each.copy()) for each in arguments if isinstance(each, np.ndarray)]
        self._generators = [
            (each, each.bit_generator.state) for each in arguments if isinstance(each, np.random.Generator)
        ]

    def restore(self) -> None:
        """Put back what calls have changed."""
        for now, start in self._arrays:
            np.copyto(now, start)
        for generator, state in self._generators:
            generator.bit_generator.state = state

    def results(self, result: Any) -> dict[str, np.ndarray]:
        """The arrays and what a call has returned, by names."""
        returned = result if isinstance(result, tuple) else () if result is None else (result,)
        return {f"array{number}": now for number, (now, _) in enumerate(self._arrays)} | {
            f"result{number}": np.asarray(each) for number, each in enumerate(returned)
        }


def main(name: str, compiler: str, calls: int, seconds: float, file: str) -> None:
    """Run the program."""
    found = every_case()[name]
    arguments = found.arguments()
    beginning = Beginning(arguments)
    function = compiled(found, compiler, unlimited=seconds > 0)
    times: list[float] = []

    def call() -> Any:
        beginning.restore()
        started = time.perf_counter()
        result = function(*arguments)
        times.append(time.perf_counter() - started)
        return result

    result = call()
    print(json.dumps({"first": times[0]}), flush=True)
    began = time.perf_counter()
    for _ in range(calls - 1):
        result = call()
    while time.perf_counter() - began < seconds:
        result = call()
    np.savez(file, **beginning.results(result))
    late, last = (median(part) for part in (times[LATE : LATE + FEW] or times[-FEW:], times[-FEW:]))
    figures = {"all": sum(times[:calls]), "late": late, "last": last, "calls": len(times)}
    print(json.dumps({**figures, **tried(function, arguments)}))


def tried(function: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Return how many configurations a kernel of polytune has measured, and how far its first choice is from the
    best."""
    if not hasattr(function, "tuner"):
        return {}
    statistics = function.tuner(*arguments).statistics()
    known = statistics.default_seconds is not None and statistics.best_seconds
    return {
        "tried": statistics.explored,
        "first_choice": statistics.default_seconds / statistics.best_seconds if known else None,
    }


if __name__ == "__main__":
    kernel, which, count, limit, target = sys.argv[1:]
    main(kernel, which, int(count), float(limit), target)
