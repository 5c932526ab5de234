"""The result of it all at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from polytune.report.facts import Subject, TunedCase, configuration_text
from polytune.report.markup import Markup, definitions, element, folded, joined, table
from polytune.report.section import Section
from polytune.tuner.budget import seconds_text

_LISTED, _MOST = 20, 500  # rows


def _render(subject: Subject) -> Markup | None:
    if not subject.cases:
        return joined(
            [
                element("p", f"{len(subject.stages.programs)} versions; no call so far, so nothing was measured."),
                element(
                    "p",
                    "To have times here, call the kernel, or ",
                    element("code", f"{subject.name}.tune(...)"),
                    ", before the report is written; or give ",
                    element("code", "polytune report"),
                    " a ",
                    element("code", "--size"),
                    " for each size.",
                ),
            ]
        )
    others = subject.cases[len(subject.main_cases) :]
    parts = [_case(case) for case in subject.main_cases]
    if others:
        parts += [element("h3", f"For {len(others)} other sizes"), _brief(others)]
    return joined(parts)


def _case(case: TunedCase) -> Markup:
    told = case.statistics
    heading = element("h3", f"For {case.label}")
    if case.best is None:
        return joined([heading, element("p", f"{told.calls} calls, and nothing measured yet.")])
    configuration, seconds = case.best
    pairs: list[tuple[object, object]] = [("a call takes", seconds_text(seconds))]
    if told.default_seconds is not None:
        pairs.append(("the first choice", seconds_text(told.default_seconds)))
        if seconds > 0:
            pairs.append(("faster by tuning", f"{told.default_seconds / seconds:.2f} ×"))
    pairs += [("calls", told.calls), ("configurations measured", told.explored), ("state", _state(case))]
    return joined(
        [heading, definitions(pairs), element("p", "Best: ", element("code", configuration_text(configuration)))]
    )


def _brief(cases: Sequence[TunedCase]) -> Markup:
    """A table of the cases that have no pictures, the last ones folded."""
    rows = []
    for case in cases:
        seconds = None if case.best is None else case.best[1]
        first = case.statistics.default_seconds
        gain = f"{first / seconds:.2f} ×" if first and seconds else ""
        rows.append((case.label, seconds_text(seconds) if seconds else "", gain, case.statistics.calls, _state(case)))
    headings = ("Sizes", "A call takes", "Faster by tuning", "Calls", "State")
    shown = table(headings, rows[:_LISTED], numbers=(1, 2, 3))
    if len(rows) <= _LISTED:
        return shown
    rest = table(headings, rows[_LISTED:_MOST], numbers=(1, 2, 3))
    return joined([shown, folded(f"{len(rows) - _LISTED} more", rest)])


def _state(case: TunedCase) -> str:
    told = case.statistics
    return "settled" if told.converged else "exploring" if told.paused is None else "pausing"


SECTION = Section("overview", "Overview", 10, _render)
