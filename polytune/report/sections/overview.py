"""The result of it all at a glance."""

from __future__ import annotations

from polytune.report.facts import Subject, TunedCase, configuration_text
from polytune.report.markup import Markup, definitions, element, joined
from polytune.report.section import Section
from polytune.tuner.budget import seconds_text


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
    return joined(_case(case) for case in subject.cases)


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


def _state(case: TunedCase) -> str:
    told = case.statistics
    return "settled" if told.converged else "exploring" if told.paused is None else "pausing"


SECTION = Section("overview", "Overview", 10, _render)
