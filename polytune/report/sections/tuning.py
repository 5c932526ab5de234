"""The tuning as it went."""

from __future__ import annotations

from collections.abc import Sequence

from polytune.records import dataclass
from polytune.report.drawing import COLOURS, Canvas, legend_above, logarithmic, picture
from polytune.report.facts import Subject, TunedCase, configuration_text
from polytune.report.markup import Markup, definitions, element, folded, joined, listed, table
from polytune.report.section import Section
from polytune.tuner import OnlineTrial
from polytune.tuner.budget import seconds_text

_DRAWN = 200  # trials of which each is drawn
_LISTED = 150  # trials in the table


@dataclass(frozen=True)
class _Mark:
    """The way to draw trials of one kind."""

    label: str
    shape: str
    colour: str


_FIRST = _Mark("code not run before", "^", COLOURS["warm"])
_NUMBERS = _Mark("other numbers", "o", COLOURS["accent"])
_AGAIN = _Mark("measured again", ".", COLOURS["muted"])


def _render(subject: Subject) -> Markup | None:
    cases = [case for case in subject.main_cases if case.statistics.calls or case.ranking]
    return joined(_case(case) for case in cases) if cases else None


def _case(case: TunedCase) -> Markup:
    parts: list[object] = [element("h3", f"For {case.label}"), _account(case)]
    measured = [trial for trial in case.trials if trial.seconds]
    if len(measured) >= 2:
        parts.append(_picture(case, measured))
    elif case.ranking:
        parts.append(element("p", "What was tried was tried by earlier processes, which leave what they measured."))
    if case.statistics.paused is not None and not case.statistics.converged:
        parts.append(element("p", f"Nothing is tried for now: {case.statistics.paused}."))
    if case.trials:
        parts.append(_table(case.trials))
    if case.refused:
        parts.append(folded("What rules have rejected", listed(case.refused)))
    return joined(parts)


def _account(case: TunedCase) -> Markup:
    """Return what tuning has cost and saved."""
    told = case.statistics
    pairs: list[tuple[object, object]] = [
        ("calls that tried something", f"{told.trials} of {told.calls}"),
        ("time of all calls", seconds_text(told.total_seconds)),
        ("cost of tuning", seconds_text(told.lost_seconds)),
        ("of it compiling", seconds_text(told.compile_seconds)),
    ]
    if told.saved_seconds < 0:
        pairs.append(("on balance", f"{seconds_text(-told.saved_seconds)} behind"))
        if told.repaid_after:
            pairs.append(("will have paid after", f"{told.repaid_after} more calls"))
    elif told.default_seconds is not None:
        pairs.append(("saved on balance", seconds_text(told.saved_seconds)))
    return definitions(pairs)


def _picture(case: TunedCase, trials: Sequence[OnlineTrial]) -> Markup:
    best = _best_so_far(trials)
    drawn = _thinned(trials, best)
    first = case.statistics.default_seconds

    def draw(canvas: Canvas) -> None:
        axes = canvas.axes
        labelled: set[str] = set()
        for trial in drawn:
            mark = _mark(trial)
            assert trial.seconds is not None
            values = configuration_text(trial.configuration)
            tip = f"call {trial.call}: {seconds_text(trial.seconds)}, {trial.why}; {values}"
            axes.plot(
                [trial.call],
                [trial.seconds],
                mark.shape,
                color=mark.colour,
                markersize=5 if canvas.is_wide else 4,
                markeredgewidth=0,
                label=None if mark.label in labelled else mark.label,
                gid=canvas.tip(tip),
            )
            labelled.add(mark.label)
        calls = [call for call, _ in best] + [trials[-1].call]
        seconds = [each for _, each in best]
        axes.step(calls, [*seconds, seconds[-1]], where="post", color=COLOURS["cool"], linewidth=2, label="best so far")
        if first is not None:
            axes.axhline(first, color=COLOURS["muted"], linewidth=1, linestyle="--", label="the first choice")
        logarithmic(axes, "y", seconds_text)
        axes.set_xlabel("call of this process")
        axes.xaxis.get_major_locator().set_params(integer=True)
        if canvas.is_wide:
            axes.set_ylabel("time of the call")
        legend_above(canvas)

    least, most = min(best, key=lambda pair: pair[1]), max(trial.seconds or 0.0 for trial in trials)
    alternative = (
        f"The time of each of {len(trials)} calls that tried something, by the number of the call: from "
        f"{seconds_text(trials[0].seconds or 0.0)} at first to {seconds_text(least[1])} at call {least[0]}; the "
        f"slowest took {seconds_text(most)}."
    )
    left_out = len(trials) - len(drawn)
    caption = (
        "Calls between those that are shown ran the best configuration known by then. The best so far is the shortest "
        "single time; which configuration is best is decided by times that were measured side by side."
        + (f" {left_out} of {len(trials)} trials are left out of the picture." if left_out else "")
    )
    return picture(draw, alternative=alternative, height=330, caption=caption)


def _mark(trial: OnlineTrial) -> _Mark:
    if trial.why.startswith("other numbers"):
        return _NUMBERS
    return _FIRST if trial.why in ("code that has not been run before", "the first choice") else _AGAIN


def _best_so_far(trials: Sequence[OnlineTrial]) -> list[tuple[int, float]]:
    """The calls that were faster than all before, with their seconds."""
    found: list[tuple[int, float]] = []
    for trial in trials:
        if trial.seconds is not None and (not found or trial.seconds < found[-1][1]):
            found.append((trial.call, trial.seconds))
    return found


def _thinned(trials: Sequence[OnlineTrial], best: Sequence[tuple[int, float]]) -> list[OnlineTrial]:
    """The trials that are drawn: those that were the best, and of many others every so many."""
    if len(trials) <= _DRAWN:
        return list(trials)
    kept = {call for call, _ in best}
    stride = -(-len(trials) // _DRAWN)
    return [trial for k, trial in enumerate(trials) if k % stride == 0 or trial.call in kept]


def _table(trials: Sequence[OnlineTrial]) -> Markup:
    shown = trials[:_LISTED]
    rows = [
        (
            trial.call,
            "failed" if trial.seconds is None else seconds_text(trial.seconds),
            trial.why,
            element("code", configuration_text(trial.configuration)),
        )
        for trial in shown
    ]
    more = "" if len(shown) == len(trials) else f", the first {len(shown)}; the method trials() has all"
    title = f"The {len(trials)} trials{more}" if len(trials) > 1 else "The trial"
    return folded(title, table(("Call", "Time", "Why", "Configuration"), rows, numbers=(0, 1)))


SECTION = Section("tuning", "Tuning", 50, _render)
