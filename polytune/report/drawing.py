"""Pictures for the page: SVG drawn by Matplotlib, in the page's own colours and once for each width.

A picture takes its colours from the style sheet, so that it follows the reader's choice of light or dark, and its text
is text, which is read out and found.  Each is drawn twice, for narrow and for wide pages, of which one is shown: a
picture that is only scaled down cannot be read.
"""

from __future__ import annotations

import io
import itertools
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from polytune.records import dataclass
from polytune.report.markup import Markup, element, escaped
from polytune.tuner.extras import library

__all__ = ["COLOURS", "SCALE", "Canvas", "legend_above", "logarithmic", "picture"]

_NAMES = ("ink", "muted", "grid", "accent", "warm", "cool", "paper")
COLOURS = {name: f"#0101{number:02x}" for number, name in enumerate(_NAMES)}
"""The colours of pictures, by the names of the style sheet's variables: colours that nothing else has, which are
replaced by those variables."""

SCALE = tuple(f"#0102{number:02x}" for number in range(8))
"""The same for a scale, from the fastest to the slowest."""

WIDTHS = {"narrow": 340, "wide": 860}
"""The widths of a picture, in the style sheet's pixels, by the class that shows it."""

_TEXT = 11  # pixels
_DPI = 72  # of an SVG: a point is a pixel
_VARIABLES = {
    **{colour: f"var(--{name})" for name, colour in COLOURS.items()},
    **{colour: f"var(--scale-{number})" for number, colour in enumerate(SCALE)},
}
_FEW_TICKS = 300.0  # times the least value, up to which an axis would have few powers of ten
_drawing = threading.Lock()
"""Matplotlib's settings are the process's: one page at a time changes them."""

_numbers = itertools.count()


@dataclass
class Canvas:
    """A picture at one width.

    Attributes:
        axes: Matplotlib's axes.
        is_wide: whether there is room for more than the least.
        tips: by the group of an artist (`tip`), what is shown where a pointer rests on it.
        attributes: by the group, further attributes.
    """

    axes: Any
    is_wide: bool
    tips: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, dict[str, object]] = field(default_factory=dict)

    def tip(self, text: str, **attributes: object) -> str:
        """The group to give to an artist (``gid``), so that a pointer on it shows a text."""
        group = f"tip{len(self.tips)}"
        self.tips[group] = text
        self.attributes[group] = attributes
        return group


def picture(
    draw: Callable[[Canvas], None], *, alternative: str, height: float = 300.0, caption: object = None
) -> Markup:
    """A picture with what it says in words.

    Args:
        draw: draws it; called once for each width.
        alternative: what it shows, for those who do not see it.
        height: in pixels.
        caption: what stands below it.

    Raises:
        MissingLibraryError: Matplotlib is not installed.
    """
    drawn = [_svg(draw, kind, width, height, alternative) for kind, width in WIDTHS.items()]
    return element("figure", *drawn, "" if caption is None else element("figcaption", caption))


def logarithmic(axes: Any, which: str, text: Callable[[float], str]) -> None:
    """Make an axis logarithmic, with enough numbers on it to read a value.

    Args:
        axes: the axes of a canvas.
        which: ``"x"`` or ``"y"``.
        text: writes a number.
    """
    ticker = library("matplotlib.ticker", "the report", extra="report")
    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, f"{which}axis")
    low, high = sorted(axis.get_data_interval())
    subs = (1, 2, 5) if low > 0 and high / low < _FEW_TICKS else (1,)
    axis.set_major_locator(ticker.LogLocator(subs=subs))
    axis.set_major_formatter(lambda value, _: text(value))
    axis.set_minor_formatter(ticker.NullFormatter())


def legend_above(canvas: Canvas) -> None:
    """Say what is what above the axes, where nothing is covered."""
    canvas.axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=5 if canvas.is_wide else 2,
        handletextpad=0.4,
        columnspacing=1.2,
        borderaxespad=0.2,
    )


def _svg(draw: Callable[[Canvas], None], kind: str, width: float, height: float, alternative: str) -> Markup:
    matplotlib = library("matplotlib", "the report", extra="report")
    figure_module = library("matplotlib.figure", "the report", extra="report")
    number = next(_numbers)
    text = io.StringIO()
    with _drawing, matplotlib.rc_context({**matplotlib.rcParamsDefault, **_settings(), "svg.hashsalt": f"p{number}"}):
        figure = figure_module.Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI, layout="constrained")
        canvas = Canvas(figure.subplots(), kind == "wide")
        canvas.axes.set_facecolor("none")
        draw(canvas)
        figure.savefig(
            text, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
    return _on_page(text.getvalue(), canvas, kind, alternative)


def _settings() -> Mapping[str, object]:
    return {
        "svg.fonttype": "none",
        "text.parse_math": False,
        "text.color": COLOURS["ink"],
        "axes.labelcolor": COLOURS["ink"],
        "axes.edgecolor": COLOURS["muted"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": COLOURS["grid"],
        "grid.linewidth": 0.8,
        "xtick.color": COLOURS["ink"],
        "ytick.color": COLOURS["ink"],
        "font.size": _TEXT,
        "axes.titlesize": _TEXT,
        "axes.labelsize": _TEXT,
        "xtick.labelsize": _TEXT - 1,
        "ytick.labelsize": _TEXT - 1,
        "legend.fontsize": _TEXT - 1,
        "legend.frameon": False,
    }


_FONT = re.compile(r"font-family: [^;\"]+;?\s*|(?<=px )'[^;\"]+")
_TIP = re.compile(r'<g id="(tip\d+)">')
_LEFT_OUT = re.compile(
    r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|(?<=<g) id=\"(?!tip)[^\"]*\"|^\s+", re.DOTALL | re.MULTILINE
)


def _on_page(text: str, canvas: Canvas, kind: str, alternative: str) -> Markup:
    """An SVG document as an element of the page, in its colours and its font."""
    head, _, body = text[text.index("<svg") :].partition(">")
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    body = _FONT.sub("", _LEFT_OUT.sub("", body))
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, variable)

    def titled(found: re.Match[str]) -> str:
        group = found[1]
        extra = {f"data_{key}": value for key, value in canvas.attributes[group].items()}
        opening = element("g", class_="tip", **extra).removesuffix("</g>")
        return f"{opening}{element('title', canvas.tips[group])}"

    body = _TIP.sub(titled, body)
    return Markup(f'<svg {box[0]} role="img" class="{kind}" aria-label="{escaped(alternative)}">{body}')
