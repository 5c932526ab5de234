"""PolyBench gemm at MEDIUM, tuned from call to call, beside NumPy and beside plain Numba.

``make demo`` runs it with an empty cache, so that nothing is known when it starts; it takes half a minute.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from polybench.benchmark import Arguments, copy_arguments
from polybench.datasets import Dataset
from polybench.kernels.gemm import BENCHMARK

TUNING_SECONDS = 20.0
"""The seconds for which the kernel is called; tuning goes on within these calls."""

REPETITIONS = 15
"""The number of calls that the times in the table are medians of."""


@numba.njit(parallel=True, fastmath=True)
def plain_numba(alpha, beta, C, A, B):
    """The same loops as a Numba user writes them: the outermost loop in parallel, the rest left to the compiler."""
    n, m = C.shape
    for i in numba.prange(n):
        for j in range(m):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(m):
                C[i, j] += alpha * A[i, k] * B[k, j]


def timed(function: Callable[..., Any], arguments: Arguments) -> tuple[float, Arguments]:
    """The seconds of one call on copies of ``arguments``, and the copies as the call left them."""
    copies = copy_arguments(arguments)
    started = time.perf_counter()
    function(*copies)
    return time.perf_counter() - started, copies


def measured(function: Callable[..., Any], arguments: Arguments) -> tuple[float, Arguments]:
    """The median seconds of a call, after one that may compile, and what that one made of the arguments."""
    result = timed(function, arguments)[1]
    return statistics.median(timed(function, arguments)[0] for _ in range(REPETITIONS)), result


def is_right(arguments: Arguments, actual: Arguments) -> bool:
    """Return whether a call that began with ``arguments`` left what the reference leaves."""
    expected = copy_arguments(arguments)
    BENCHMARK.reference(*expected)
    return BENCHMARK.error_of(arguments, expected, actual) <= BENCHMARK.tolerance


def tune(arguments: Arguments, console: Console) -> int:
    """Call the kernel until the time is up, with a line that tells how it goes; the number of calls."""
    durations: list[float] = []
    ends = time.perf_counter() + TUNING_SECONDS
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        while time.perf_counter() < ends:
            durations.append(timed(BENCHMARK.kernel, arguments)[0])
            live.update(
                Text(
                    f"call {len(durations)}: {durations[-1] * 1e3:.2f} ms,"
                    f" recent median {statistics.median(durations[-50:]) * 1e3:.2f} ms,"
                    f" fastest {min(durations) * 1e3:.2f} ms"
                )
            )
    return len(durations)


def main() -> None:
    console = Console()
    sizes = BENCHMARK.sizes(Dataset.MEDIUM)
    arguments = BENCHMARK.initialise(**sizes)
    console.print(f"PolyBench gemm, MEDIUM: {', '.join(f'{name} = {value}' for name, value in sizes.items())}")

    with console.status("compiling the first version"):
        first = timed(BENCHMARK.kernel, arguments)
    count = tune(arguments, console)
    tuned = measured(BENCHMARK.kernel, arguments)
    plain = measured(plain_numba, arguments)
    # NumPy comes last, and so do the checks, which use it: threads of its BLAS stay busy for a while after a call.
    library = measured(BENCHMARK.reference, arguments)

    rows = {"first call": first, "tuned call": tuned, "NumPy": library, "plain Numba prange": plain}
    right = {name: is_right(arguments, result) for name, (_, result) in rows.items()}
    table = Table(title=f"after {count} calls")
    table.add_column()
    for column in ("ms", "GFLOP/s", "verified"):
        table.add_column(column, justify="right")
    for name, (seconds, _) in rows.items():
        rate = BENCHMARK.operations(**sizes) / seconds / 1e9
        table.add_row(name, f"{seconds * 1e3:.2f}", f"{rate:.2f}", "yes" if right[name] else "[bold red]NO[/]")
    console.print(table)
    if not all(right.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
