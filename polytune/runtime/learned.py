"""What the tuner of one problem size has learned, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polytune.runtime.invocation import Outcome
from polytune.runtime.threads import maximum_threads
from polytune.tuner import Configuration, OnlineTuner
from polytune.tuner.ledger import Statistics
from polytune.tuner.spaces.condition import Value

if TYPE_CHECKING:
    from polytune.runtime.calls import Case

__all__ = ["explain_refused", "explain_shares", "explain_statistics", "explain_tuner"]


def explain_tuner(
    names: Sequence[str], case: Case, tuner: OnlineTuner, shared: tuple[Configuration, Outcome] | None = None
) -> str:
    """What a tuner has done for the calls of one size.

    Args:
        names: the kernel's parameters.
        case: their values, and which arrays are on devices.
        tuner: the tuner.
        shared: the last run that was shared among platforms, if any was.
    """
    sizes = ", ".join(f"{name}={value}" for name, value in zip(names, case.parameters, strict=True))
    sizes += "".join(f"; {array} on {device}" for array, device in case.places)
    if case.threads != maximum_threads():
        sizes += f"; on at most {case.threads} thread{'s' if case.threads != 1 else ''}"
    text = "\n".join([explain_statistics(sizes, tuner.best, tuner.statistics()), *explain_refused(tuner.refused)])
    return text if shared is None else f"{text}\n{explain_shares(*shared)}"


def explain_refused(refused: Mapping[str, Mapping[Value, str]]) -> list[str]:
    """What rules have rejected, a line per reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, values in refused.items():
        for value, reason in values.items():
            names.setdefault((str(value), reason), []).append(name)
    return [f"  rejected: {', '.join(listed)} = {value}: {reason}" for (value, reason), listed in names.items()]


def explain_shares(configuration: Configuration, outcome: Outcome) -> str:
    """What each platform did of a run that was shared, what was moved, and who waited for whom."""
    busy: dict[str, float] = {}
    for share in outcome.shares:
        busy[share.platform] = busy.get(share.platform, 0.0) + share.seconds
    ratios = "".join(f", {name}={value:.3g}" for name, value in configuration.items() if name.startswith("ratio_"))
    lines = [f"  last shared run: {_time(outcome.seconds)} with split={configuration['split']}{ratios}"]
    for share in outcome.shares:
        moved = ""
        if share.seconds > share.kernel_seconds or share.uploaded or share.downloaded:
            moved = (
                f" (transfers {_time(share.seconds - share.kernel_seconds)}: {share.uploaded / 1e6:.3g} MB there, "
                f"{share.downloaded / 1e6:.3g} MB back)"
            )
        lines.append(f"    partition {share.partition} on {share.platform}: {_time(share.seconds)}{moved}")
    lines += [
        f"    {platform} waited {_time(max(0.0, outcome.seconds - seconds))}"
        for platform, seconds in busy.items()
        if len(busy) > 1
    ]
    return "\n".join(lines)


def explain_statistics(sizes: str, best: tuple | None, statistics: Statistics) -> str:
    """What tuning has done for one problem size."""
    if best is None:
        return f"tuning for {sizes or 'all sizes'}: no call yet"
    configuration, seconds = best
    chosen = ", ".join(f"{name}={value}" for name, value in configuration.items())
    state = "converged" if statistics.converged else "still exploring" if statistics.paused is None else "pausing"
    reason = "" if statistics.paused is None else f": {statistics.paused}"
    lines = [
        f"tuning for {sizes or 'all sizes'}: {state} after {statistics.calls} calls{reason}",
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
        f"{_repayment(statistics)}"
    )
    return "\n".join(lines)


def _repayment(statistics: Statistics) -> str:
    """When tuning will have paid, where it has not yet."""
    if not statistics.repaid_after:
        return ""
    return f"; it will have paid after {statistics.repaid_after} more calls with the best"


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(seconds) * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError
