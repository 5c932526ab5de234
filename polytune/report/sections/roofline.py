"""The roofline of the machine, with the kernel on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass
from polytune.report.drawing import COLOURS, Canvas, legend_above, logarithmic, picture
from polytune.report.facts import Subject, TunedCase
from polytune.report.markup import Markup, element, joined, table
from polytune.report.roofs import Roofs, roofs
from polytune.report.section import Section
from polytune.runtime.machine import machine
from polytune.schedule.counting.traffic import least_bytes, operations_of

_MOST = 20  # classes of calls


@dataclass(frozen=True)
class _Point:
    """One class of calls: its work, and the seconds of the best configuration and of the first choice."""

    case: TunedCase
    operations: int
    bytes: int
    seconds: float
    first: float | None

    @property
    def intensity(self) -> float:
        return self.operations / self.bytes

    @property
    def rate(self) -> float:
        return self.operations / self.seconds


def _render(subject: Subject) -> Markup | None:
    measured = [case for case in subject.cases if case.best is not None and case.best[1] > 0][:_MOST]
    if not measured:
        return None
    scop = subject.stages.scop
    points = [point for case in measured if (point := _point(subject, case)) is not None]
    if not points:
        return element("p", "How much there is to compute and to move is not known: it depends on data.")
    limits = roofs(_dtype(scop))
    rows = [_row(point, limits) for point in points]
    headings = ("Sizes", "Operations", "Bytes", "Operations a byte", "Operations a second", "Of the roof", "Bound by")
    words = (
        f"This machine moves {_amount(limits.bandwidth)}B/s between memory and processor"
        + (
            f", and multiplies matrices of {_dtype(scop)} at {_amount(limits.operations)}op/s, as "
            "measured for this page."
            if limits.operations is not None
            else f", as measured for this page. What it computes with {_dtype(scop)} at best is not known: there is no "
            "BLAS for that."
        )
        + " Operations are those of the source, bytes those of the arrays' elements, "
        "each moved once: what no cache can save. More than 100 % of the roof is possible where versions need fewer "
        "operations than the source, as with common factors that are taken out, and where something else kept the "
        "machine busy while the roof was measured."
    )
    parts = [
        element("p", words, class_="muted"),
        _picture(points, limits),
        table(headings, rows, numbers=(1, 2, 3, 4, 5)),
    ]
    levels = [_traffic_row(point) for point in points if point.case.traffic is not None]
    if levels:
        caption = (
            "What the best configuration fetches in a call, as expected by the model that says which version to begin "
            "with: by what its loops use again, in the part of each cache that falls to a thread where all are at work."
        )
        shown = table(
            ("Sizes", "From the second cache", "From the third", "From memory"),
            levels,
            caption=caption,
            numbers=(1, 2, 3),
        )
        parts.append(shown)
    cache = machine().caches[-1]
    if any(point.bytes <= cache.size for point in points):
        parts.append(
            element(
                "p",
                f"Arrays that stay in the last cache ({cache.size / 2**20:.3g} MiB) from call to call need not come "
                "from memory: then the slope does not bind.",
                class_="muted",
            )
        )
    return joined(parts)


def _point(subject: Subject, case: TunedCase) -> _Point | None:
    """The work of a class of calls; None where it is not known."""
    scop = subject.stages.scop
    values = {parameter.name: value for parameter, value in zip(scop.parameters, case.parameters, strict=True)}
    operations = operations_of(scop, values)
    moved = least_bytes(scop, subject.stages.counts, values)
    if not operations or not moved or case.best is None:
        return None
    return _Point(case, operations, moved, case.best[1], case.statistics.default_seconds)


def _dtype(scop: Scop) -> str:
    """The type of what is computed: that of the arrays that are written."""
    written = {access.array for statement in scop.statements for access in statement.accesses if access.is_write}
    arrays = [each for each in scop.arrays if each.name in written and each.role is not ArrayRole.REPORT]
    inside = [each for each in arrays if each.role is not ArrayRole.SCALAR] or arrays
    return str(np.result_type(*(each.dtype for each in inside))) if inside else "float64"


def _row(point: _Point, limits: Roofs) -> tuple[object, ...]:
    roof = limits.at(point.intensity)
    is_memory = limits.operations is None or point.intensity * limits.bandwidth < limits.operations
    return (
        _sizes(point),
        _amount(point.operations),
        _amount(point.bytes),
        f"{point.intensity:.3g}",
        _amount(point.rate),
        f"{100 * point.rate / roof:.0f} %",
        "memory" if is_memory else "arithmetic",
    )


def _sizes(point: _Point) -> str:
    """The sizes of a class of calls, of which each stays in one line."""
    return point.case.label.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def _traffic_row(point: _Point) -> tuple[object, ...]:
    assert point.case.traffic is not None
    return (_sizes(point), *(f"{_amount(each)}B" if each else "nothing" for each in point.case.traffic))


def _picture(points: Sequence[_Point], limits: Roofs) -> Markup:
    ridge = None if limits.operations is None else limits.operations / limits.bandwidth
    intensities = [point.intensity for point in points] + ([] if ridge is None else [ridge])
    left, right = min(intensities) / 8, max(intensities) * 8

    def draw(canvas: Canvas) -> None:
        axes = canvas.axes
        steps = np.geomspace(left, right, 64)
        axes.plot(steps, [limits.at(each) for each in steps], color=COLOURS["ink"], linewidth=2)
        if canvas.is_wide:
            axes.annotate(
                f"memory, {_amount(limits.bandwidth)}B/s", (left, limits.at(left)), (10, -4),
                textcoords="offset points", color=COLOURS["muted"],
            )  # fmt: skip
        if limits.operations is not None:
            axes.annotate(
                f"product of matrices, {_amount(limits.operations)}op/s", (right, limits.operations), (0, 5),
                textcoords="offset points", ha="right", color=COLOURS["muted"],
            )  # fmt: skip
        for point in points:
            if point.first is not None:
                first = point.operations / point.first
                axes.plot([point.intensity] * 2, [first, point.rate], color=COLOURS["warm"], linewidth=1)
                tip = canvas.tip(f"the first choice, {point.case.label}: {_amount(first)}op/s")
                axes.plot([point.intensity], [first], "o", color=COLOURS["warm"], markerfacecolor="none", gid=tip)
            tip = canvas.tip(f"the best, {point.case.label}: {_amount(point.rate)}op/s")
            axes.plot([point.intensity], [point.rate], "o", color=COLOURS["accent"], markersize=8, gid=tip)
        axes.plot([], [], "o", color=COLOURS["accent"], markersize=8, label="the best")
        axes.plot([], [], "o", color=COLOURS["warm"], markerfacecolor="none", label="the first choice")
        logarithmic(axes, "x", lambda value: f"{value:g}")
        logarithmic(axes, "y", lambda value: _amount(value).strip())
        axes.set_xlabel("operations for each byte")
        axes.set_ylabel("operations a second")
        axes.margins(y=0.15)
        legend_above(canvas)

    said = "; ".join(
        f"for {point.case.label} {_amount(point.rate)}op/s at {point.intensity:.3g} operations a byte, "
        f"{100 * point.rate / limits.at(point.intensity):.0f} % of the roof"
        for point in points
    )
    return picture(draw, alternative=f"The roofline: {said}.", height=340)


def _amount(number: float) -> str:
    """A number with a prefix of the metric system, to which the unit is added."""
    for prefix, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g}\N{NO-BREAK SPACE}{prefix}"
    return f"{number:.3g}\N{NO-BREAK SPACE}"


SECTION = Section("roofline", "Roofline", 70, _render)
