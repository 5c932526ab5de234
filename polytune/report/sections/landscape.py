"""The landscape of the space: what was measured, and which parameters the time depends on.

A parameter is as important as the share of the differences between times that goes with it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.report.drawing import COLOURS, SCALE, Canvas, picture
from polytune.report.facts import Subject, TunedCase, configuration_text
from polytune.report.markup import Markup, element, joined, named, table
from polytune.report.section import Section
from polytune.tuner import Configuration, Nominal, Space
from polytune.tuner.budget import seconds_text
from polytune.tuner.spaces.parameters import Parameter

__all__ = ["importance_of"]

_LEAST = 3  # configurations
_DRAWN = 150  # configurations
_TICKS = 4
_CROWDED = 8  # axes, the names of which stand aslant
_NOT_THERE = -0.12
"""The place where a configuration is drawn that does not have a parameter."""


def _render(subject: Subject) -> Markup | None:
    cases = [case for case in subject.main_cases if len(case.ranking) >= _LEAST]
    return joined(_case(case) for case in cases) if cases else None


def _case(case: TunedCase) -> Markup:
    parts = [element("h3", f"For {case.label}"), element("div", _picture(case), data_fastest=True)]
    found = importance_of(case.space, case.ranking)
    if found:
        rows = [
            (
                named(each.parameter),
                f"{100 * each.share:.0f} %",
                each.configurations,
                element("span", class_="bar", style=f"width: {100 * each.share:.1f}%"),
            )
            for each in found
        ]
        caption = (
            "How much of the differences between the measured times goes with each parameter (analysis of variance of "
            "their logarithms; sizes within a version). What is left to 100 % goes with several at once, or with "
            "chance."
        )
        shown = table(("Parameter", "Share", "Measured with it", ""), rows, caption=caption, numbers=(1, 2))
        parts.append(element("div", shown, class_="bars"))
    else:
        parts.append(element("p", "Too little was measured to tell the importance of parameters."))
    return joined(parts)


@dataclass(frozen=True)
class _Axis:
    """An axis of the picture: where each value lies on it, from 0 to 1, and the values that are written beside it."""

    name: str
    places: dict[object, float]
    ticks: tuple[tuple[float, str], ...]


def _axis(parameter: Parameter, ranking: Sequence[tuple[Configuration, float]]) -> _Axis | None:
    values = {configuration[parameter.name] for configuration, _ in ranking if parameter.name in configuration}
    if not values:
        return None
    if isinstance(parameter, Nominal):
        ordered = [value for value in parameter.values if value in values]
        step = 1 / max(1, len(ordered) - 1)
        places: dict[object, float] = {value: 1 - k * step for k, value in enumerate(ordered)}
        return _Axis(parameter.name, places, tuple((places[value], str(value)) for value in ordered))
    numbers = sorted(float(value) for value in values)
    is_logarithmic = numbers[0] > 0 and numbers[-1] / numbers[0] > 8

    def scaled(value: float) -> float:
        return math.log(value) if is_logarithmic else value

    low, high = scaled(numbers[0]), scaled(numbers[-1])
    span = (high - low) or 1.0
    places = {value: (scaled(float(value)) - low) / span for value in values}
    wanted = numbers
    if len(numbers) > _TICKS:
        between = [low + span * k / (_TICKS - 1) for k in range(_TICKS)]
        wanted = [math.exp(place) if is_logarithmic else place for place in between]
    are_whole = all(number.is_integer() for number in numbers)
    ticks = ((max(0.0, scaled(number) - low) / span, _number_text(number, are_whole)) for number in wanted)
    return _Axis(parameter.name, places, tuple(ticks))


def _number_text(number: float, is_whole: bool) -> str:
    return f"{number:.0f}" if is_whole or abs(number) >= 100 else f"{number:.3g}"


def _picture(case: TunedCase) -> Markup:
    ranking = case.ranking
    every = [axis for parameter in case.space.parameters if (axis := _axis(parameter, ranking)) is not None]
    axes = [axis for axis in every if len(axis.places) > 1] or every[:1]
    constant = [axis for axis in every if axis not in axes]
    stride = max(1, -(-len(ranking) // _DRAWN))
    drawn = [(rank, *entry) for rank, entry in enumerate(ranking) if rank % stride == 0]

    def draw(canvas: Canvas) -> None:
        plot = canvas.axes
        for rank, configuration, seconds in reversed(drawn):
            heights = [axis.places.get(configuration.get(axis.name), _NOT_THERE) for axis in axes]
            place = min(len(SCALE) - 1, rank * len(SCALE) // len(ranking))
            plot.plot(
                range(len(axes)),
                heights,
                color=SCALE[place],
                linewidth=2.5 if rank == 0 else 1.2,
                gid=canvas.tip(f"{seconds_text(seconds)}: {configuration_text(configuration)}", rank=rank),
            )
        for position, axis in enumerate(axes):
            plot.axvline(position, color=COLOURS["muted"], linewidth=1, ymin=0.02)
            is_named = isinstance(case.space[axis.name], Nominal)
            for height, text in axis.ticks:
                if (position == 0 and is_named) or not (canvas.is_wide or height in (0.0, 1.0)):
                    continue
                plot.text(
                    position + 0.04,
                    height,
                    text,
                    va="center",
                    fontsize=9,
                    zorder=3,
                    bbox={"facecolor": COLOURS["paper"], "edgecolor": "none", "alpha": 0.75, "pad": 1},
                )
        is_first_named = isinstance(case.space[axes[0].name], Nominal)
        plot.set_yticks(*zip(*(axes[0].ticks if is_first_named else ((0.0, ""),)), strict=True))
        plot.set_xticks(
            range(len(axes)),
            [axis.name for axis in axes],
            rotation=0 if canvas.is_wide and len(axes) < _CROWDED else 60,
        )
        plot.tick_params(length=0)
        plot.tick_params(axis="y", labelsize=9 if canvas.is_wide else 7)
        plot.grid(visible=False)
        for spine in plot.spines.values():
            spine.set_visible(False)
        plot.set_ylim(_NOT_THERE - 0.04, 1.04)
        plot.set_xlim(-0.05, len(axes) - 1 + (0.35 if canvas.is_wide else 0.5))

    (best, fastest), (_, slowest) = ranking[0], ranking[-1]
    alternative = (
        f"{len(ranking)} measured configurations as lines across an axis for each of "
        f"{', '.join(axis.name for axis in axes)}; from {seconds_text(fastest)} with {configuration_text(best)} to "
        f"{seconds_text(slowest)}."
    )
    caption = (
        f"Each line is a configuration that was measured, {len(ranking)} in all"
        + (f", of which every {stride}th is drawn" if stride > 1 else "")
        + ". The strongest colour is the fastest eighth; a line below an axis has no such parameter."
        + "".join(f" {axis.name} was {next(iter(axis.places))} wherever it matters." for axis in constant)
    )
    return picture(draw, alternative=alternative, height=max(300, 24 * len(axes[0].ticks) + 60), caption=caption)


SECTION = Section("landscape", "Landscape", 60, _render)


_LEAST_MEASURED = 8  # configurations
_GROUPS = 4  # of the values of a number


@dataclass(frozen=True)
class Importance:
    """The part of the variance of the logarithm of the time that a parameter explains.

    Attributes:
        parameter: its name.
        share: the part, from 0 to 1.
        configurations: of how many measured configurations it is a parameter.
    """

    parameter: str
    share: float
    configurations: int


def importance_of(space: Space, ranking: Sequence[tuple[Configuration, float]]) -> tuple[Importance, ...]:
    """The importance of the parameters of a space, the greatest first.

    An analysis of variance (omega squared, which allows for chance) in two steps: of the parameter that decides which
    others there are, and then of each other one, of what is left of the differences within the values of that.  Numbers
    are cut at quantiles.  What was measured is what a search has chosen, so this tells of those times and is no
    property of the whole space.

    Args:
        space: the space.
        ranking: what was measured, with its seconds.

    Returns:
        Nothing where too little was measured to tell.
    """
    measured = [(configuration, math.log(seconds)) for configuration, seconds in ranking if seconds > 0]
    if len(measured) < _LEAST_MEASURED:
        return ()
    logarithms = np.array([seconds for _, seconds in measured])
    total = float(((logarithms - logarithms.mean()) ** 2).sum())
    if total <= 0:
        return ()
    first, *others = space.parameters
    everywhere = [first.name in configuration for configuration, _ in measured]
    left = logarithms - logarithms.mean()
    found = []
    if all(everywhere) and isinstance(first, Nominal):
        groups: list[Hashable] = [configuration[first.name] for configuration, _ in measured]
        found.append(Importance(first.name, _omega_squared(logarithms, groups, total), len(measured)))
        left = logarithms - _means(logarithms, groups)
    else:
        others = list(space.parameters)
    for parameter in others:
        rows = [k for k, (configuration, _) in enumerate(measured) if parameter.name in configuration]
        values = [measured[k][0][parameter.name] for k in rows]
        if len(rows) < _LEAST_MEASURED or len(set(values)) < 2:
            continue
        groups = list(values) if isinstance(parameter, Nominal) else _quantiles(values)
        found.append(Importance(parameter.name, _omega_squared(left[rows], groups, total), len(rows)))
    return tuple(sorted(found, key=lambda each: -each.share))


def _quantiles(values: Sequence[Any]) -> list[Hashable]:
    numbers = np.array([float(value) for value in values])
    distinct = np.unique(numbers)
    if len(distinct) <= _GROUPS:
        return list(numbers)
    edges = np.quantile(numbers, np.linspace(0, 1, _GROUPS + 1)[1:-1])
    return [int(k) for k in np.searchsorted(edges, numbers, side="right")]


def _groups(values: np.ndarray, groups: Sequence[Hashable]) -> Mapping[Hashable, np.ndarray]:
    found: dict[Hashable, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        found.setdefault(group, []).append(float(value))
    return {group: np.array(each) for group, each in found.items()}


def _means(values: np.ndarray, groups: Sequence[Hashable]) -> np.ndarray:
    means = {group: each.mean() for group, each in _groups(values, groups).items()}
    return np.array([means[group] for group in groups])


def _omega_squared(values: np.ndarray, groups: Sequence[Hashable], total: float) -> float:
    """The part of a total that lies between groups, less what chance alone puts there."""
    parts = _groups(values, groups)
    degrees = len(values) - len(parts)
    if len(parts) < 2 or degrees < 1:
        return 0.0
    mean = float(values.mean())
    between = sum(len(each) * (float(each.mean()) - mean) ** 2 for each in parts.values())
    within = sum(float(((each - each.mean()) ** 2).sum()) for each in parts.values()) / degrees
    return min(1.0, max(0.0, (between - (len(parts) - 1) * within) / (total + within)))
