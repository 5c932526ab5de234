"""The knowledge of the tuner of one problem size, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polytune.runtime.calls.invocation import Outcome
from polytune.runtime.teams.threads import maximum_threads
from polytune.runtime.tuning.tunable import Case
from polytune.tuner import Configuration, OnlineTrial, OnlineTuner
from polytune.tuner.budget import seconds_text
from polytune.tuner.ledger import Statistics
from polytune.tuner.spaces.condition import Value
from polytune.tuner.trials import values_text

Tried = tuple[Configuration, float]

_LISTED = 8  # configurations

__all__ = ["explain_refused", "explain_shares", "explain_statistics", "explain_tuner"]


def explain_tuner(
    names: Sequence[str], case: Case, tuner: OnlineTuner | None, shared: tuple[Configuration, Outcome] | None = None
) -> str:
    """Return what a tuner has done for the calls of one size, and the platforms in a run that was shared.

    Args:
        names: the kernel's parameters.
        case: their values, and which arrays are on devices.
        tuner: the tuner; None where there were no calls, but runs in a configuration that was given.
        shared: the last run that was shared among platforms, if any was.
    """
    sizes = ", ".join(f"{name}={value}" for name, value in zip(names, case.parameters, strict=True))
    sizes += "".join(f"; {array} on {device}" for array, device in case.places)
    if case.threads != maximum_threads():
        sizes += f"; on at most {case.threads} thread{'s' if case.threads != 1 else ''}"
    if tuner is None:
        lines = [f"runs for {sizes or 'all sizes'}:"]
    else:
        explained = explain_statistics(sizes, tuner.best, tuner.statistics(), tuner.ranking(), tuner.trials())
        lines = [explained, *explain_refused(tuner.refused)]
    return "\n".join(lines if shared is None else [*lines, explain_shares(*shared)])


def explain_refused(refused: Mapping[str, Mapping[Value, str]]) -> list[str]:
    """Return what rules have rejected, a line per reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, values in refused.items():
        reasons: dict[str, list[str]] = {}
        for value, reason in values.items():
            reasons.setdefault(reason, []).append(str(value))
        for reason, alike in reasons.items():
            names.setdefault((" or ".join(alike), reason), []).append(name)
    return [f"  rejected: {', '.join(listed)} = {value}: {reason}" for (value, reason), listed in names.items()]


def explain_shares(configuration: Configuration, outcome: Outcome) -> str:
    """Return what each platform did of a run that was shared, what was moved, and who waited for whom."""
    busy: dict[str, float] = {}
    for share in outcome.shares:
        busy[share.platform] = busy.get(share.platform, 0.0) + share.seconds
    ratios = "".join(f", {name}={value:.3g}" for name, value in configuration.items() if name.startswith("ratio_"))
    lines = [f"  last shared run: {seconds_text(outcome.seconds)} with split={configuration['split']}{ratios}"]
    for share in outcome.shares:
        moved = ""
        if share.seconds > share.kernel_seconds or share.uploaded or share.downloaded:
            moved = (
                f" (transfers {seconds_text(share.seconds - share.kernel_seconds)}: "
                f"{share.uploaded / 1e6:.3g} MB there, {share.downloaded / 1e6:.3g} MB back)"
            )
        lines.append(f"    partition {share.partition} on {share.platform}: {seconds_text(share.seconds)}{moved}")
    lines += [
        f"    {platform} waited {seconds_text(max(0.0, outcome.seconds - seconds))}"
        for platform, seconds in busy.items()
        if len(busy) > 1
    ]
    return "\n".join(lines)


def explain_statistics(
    sizes: str,
    best: tuple[Configuration, float] | None,
    statistics: Statistics,
    tried: Sequence[Tried] = (),
    trials: Sequence[OnlineTrial] = (),
) -> str:
    """Return what tuning has done for one problem size.

    Args:
        sizes: the size, for people.
        best: the best configuration and its seconds.
        statistics: what tuning has done.
        tried: what has been measured, with its seconds, the fastest first.
        trials: the calls of this process that ran anything but the best, in the order of time.
    """
    head = f"tuning for {sizes or 'all sizes'}: "
    if best is None:
        return head + _before_the_first_measurement(statistics)
    configuration, seconds = best
    state = "converged" if statistics.converged else "still exploring" if statistics.paused is None else "pausing"
    lines = [f"{head}{state} after {_calls(statistics.calls)}"]
    if statistics.disturbed_calls:
        lines.append(
            f"  of these, {_calls(statistics.disturbed_calls)} taught nothing: "
            "something was compiled beside them, or arrays were moved first"
        )
    if statistics.history:
        lines.append(f"  history: {statistics.history}")
    if statistics.paused is not None:
        lines.append(f"  nothing is tried for now: {statistics.paused}")
    if statistics.preparing is not None:
        lines.append(f"  next: {values_text(statistics.preparing)}, when it has been compiled")
    lines.append(f"  best: {values_text(configuration)}: {seconds_text(seconds)}")
    if statistics.default_seconds:
        lines.append(f"  first choice: {seconds_text(statistics.default_seconds)}{_compared(statistics, seconds)}")
    lines += _tried(tried, seconds)
    lines += _trials(trials)
    count = "1 configuration" if statistics.explored == 1 else f"{statistics.explored} configurations"
    lines.append(f"  {count} measured, {statistics.failed} failed; {_balance(statistics)}{_repayment(statistics)}")
    return "\n".join(lines)


def _before_the_first_measurement(statistics: Statistics) -> str:
    if not statistics.calls:
        return "no call measured yet"
    return (
        f"{_calls(statistics.calls)}, {seconds_text(statistics.total_seconds)} in all, and nothing learned yet: "
        "something was compiled beside each of them, so that their times say little; they ran the first choice, or, "
        "while that is compiled, what took the shortest time to compile"
    )


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _compared(statistics: Statistics, seconds: float) -> str:
    default = statistics.default_seconds or 0.0
    if default == seconds:
        return ", which is the best"
    return f" ({default / seconds if seconds else 1:.2f} x the best)"


def _tried(tried: Sequence[Tried], best: float) -> list[str]:
    """Return what was tried, the fastest first.

    Args:
        tried: the configurations, with their seconds.
        best: those of the best that is believed.
    """
    if len(tried) < 2:
        return []
    unconfirmed = "; what is faster than the best has yet to be confirmed" if tried[0][1] < best else ""
    lines = [f"  tried, the fastest first{unconfirmed}:"]
    lines += [
        f"    {seconds_text(seconds)}: {values_text(configuration)}" for configuration, seconds in tried[:_LISTED]
    ]
    if len(tried) > _LISTED:
        lines.append(f"    and {len(tried) - _LISTED} more, of up to {seconds_text(tried[-1][1])}")
    return lines


def _trials(trials: Sequence[OnlineTrial]) -> list[str]:
    """Return what was tried in this process, in the order of time: the first calls and the last ones."""
    if len(trials) < 2:
        return []
    shown = list(trials) if len(trials) <= _LISTED else [*trials[: _LISTED // 2], None, *trials[-_LISTED // 2 :]]
    lines = ["  in the order of time:"]
    for trial in shown:
        if trial is None:
            lines.append(f"    and {len(trials) - _LISTED} more, of which the method trials() tells, until")
            continue
        took = "" if trial.seconds is None else f"{seconds_text(trial.seconds)}, "
        lines.append(f"    call {trial.call}: {values_text(trial.configuration)}: {took}{trial.why}")
    return lines


def _balance(statistics: Statistics) -> str:
    """Return what tuning has cost and saved, in words that need no sign."""
    compiling = f" (of it compiling {seconds_text(statistics.compile_seconds)})" if statistics.compile_seconds else ""
    saved = statistics.saved_seconds
    if saved < 0:
        return f"tuning has cost {seconds_text(-saved)} more than it has saved so far{compiling}"
    cost = f"tuning has cost {seconds_text(statistics.lost_seconds)}{compiling}"
    return f"{cost}, and saved {seconds_text(saved)} more than that" if saved else f"{cost}, and saved nothing so far"


def _repayment(statistics: Statistics) -> str:
    """Return when tuning will have paid, where it has not yet."""
    if not statistics.repaid_after:
        return ""
    return f"; it will have paid after {statistics.repaid_after} more calls with the best"
