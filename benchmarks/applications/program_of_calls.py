"""One process of ``benchmarks.applications``: a program that calls a kernel again and again.

``python -m benchmarks.applications.program_of_calls KERNEL COMPILER CALLS SECONDS FILE`` calls it ``CALLS`` times, and
then, where ``SECONDS`` are not 0, until so many have passed since the first call.  It prints a line of JSON after the
first call, for its parent to take the time, and one at the end, and writes the arrays to ``FILE``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.applications.case import cases

FEW = 20
"""How many calls stand for a late one, and for one of the last ones."""

LATE = 300
"""After how many calls a call is late."""


def compiled(function: Callable[..., Any], compiler: str, unlimited: bool) -> Callable[..., Any]:
    """The function as a user of a compiler has it: with the decorator swapped, and nothing else."""
    if compiler == "numba":
        from numba import njit

        return njit(parallel=True, fastmath=True)(function)
    import polytune
    from polytune.tuner import Budget

    return polytune.kernel(budget=Budget.unlimited())(function) if unlimited else polytune.kernel(function)


def main(name: str, compiler: str, calls: int, seconds: float, file: str) -> None:
    """Run the program."""
    found = cases()[name]
    arguments, begin = found.arguments(), found.arguments()
    function = compiled(found.function, compiler, unlimited=seconds > 0)
    arrays = [(now, start) for now, start in zip(arguments, begin, strict=True) if isinstance(now, np.ndarray)]
    times: list[float] = []

    def call() -> Any:
        for now, start in arrays:
            np.copyto(now, start)
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
    np.savez(file, *(now for now, _ in arrays), **({} if result is None else {"result": result}))
    late, last = (median(part) for part in (times[LATE : LATE + FEW] or times[-FEW:], times[-FEW:]))
    figures = {"all": sum(times[:calls]), "late": late, "last": last, "calls": len(times)}
    print(json.dumps({**figures, **tried(function, arguments)}))


def tried(function: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """How many configurations a kernel of polytune has measured, and how far its first choice is from the best."""
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
