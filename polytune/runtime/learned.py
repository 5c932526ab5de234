"""What the tuner of one problem size has learned, for people."""

from __future__ import annotations

from collections.abc import Sequence

from polytune.tuner import OnlineTuner
from polytune.tuner.ledger import Statistics

__all__ = ["explain_statistics", "explain_tuner"]


def explain_tuner(names: Sequence[str], values: Sequence[int], tuner: OnlineTuner) -> str:
    """What a tuner has done for the problem size with these values of these parameters."""
    sizes = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    return explain_statistics(sizes, tuner.best, tuner.statistics())


def explain_statistics(sizes: str, best: tuple | None, statistics: Statistics) -> str:
    """What tuning has done for one problem size."""
    if best is None:
        return f"tuning for {sizes or 'all sizes'}: no call yet"
    configuration, seconds = best
    chosen = ", ".join(f"{name}={value}" for name, value in configuration.items())
    state = "converged" if statistics.converged else "still exploring"
    lines = [
        f"tuning for {sizes or 'all sizes'}: {state} after {statistics.calls} calls",
        f"  best: {chosen}: {_time(seconds)}",
    ]
    if statistics.default_seconds:
        lines.append(
            f"  first choice: {_time(statistics.default_seconds)} "
            f"({statistics.default_seconds / seconds if seconds else 1:.2f} x the best)"
        )
    lines.append(
        f"  {statistics.explored} configurations measured, {statistics.failed} failed; "
        f"tuning has cost {_time(statistics.lost_seconds)} "
        f"(of it compiling {_time(statistics.compile_seconds)}), and saved {_time(statistics.saved_seconds)} on balance"
    )
    return "\n".join(lines)


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(seconds) * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError
