"""``python -m benchmarks.front_page FILE``: the table and the picture on the first screen of README.

The file is what ``python -m benchmarks.cpu --markdown FILE`` has written; a copy of it is kept, and what README shows
is made of that alone.

Exit code 0: done; 1: the file holds no such table; 2: the command line makes no sense.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from xml.sax.saxutils import escape

import typer

from benchmarks import program

ROOT = Path(__file__).parents[1]
RESULTS = Path("benchmarks/results/six_kernels.md")
PICTURE = Path("docs/pictures/six_kernels.svg")
BEGIN, END = "<!-- times of six kernels -->", "<!-- end of times -->"
"""Between them is README's table, or nothing before anything is kept."""

_CONTENDERS = ("polytune", "NumPy", "Numba", "best C compiler")

app = program.application("front_page", "Write the table and the picture of README anew, from a kept result.")


@dataclass(frozen=True)
class Row:
    """The times of a kernel.

    Attributes:
        kernel: the suite's name of it.
        milliseconds: of a call, by contender; without those that were not measured.
    """

    kernel: str
    milliseconds: dict[str, float]


@app.command()
def front_page(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What benchmarks.cpu --markdown has written.")],
    folder: Annotated[Path, typer.Option(help="The checkout.")] = ROOT,
    debug: program.Debug = False,
) -> None:
    """Keep a result, and write README's table and picture from it."""
    if not file.is_file():
        program.fail(f"there is no file {file}", 2)
    text = file.read_text(encoding="utf-8")
    found = rows(text)
    kept, picture, readme = folder / RESULTS, folder / PICTURE, folder / "README.md"
    for path in (kept, picture):
        path.parent.mkdir(parents=True, exist_ok=True)
    written = in_readme(readme.read_text(encoding="utf-8"), text)
    kept.write_text(text, encoding="utf-8")
    picture.write_text(picture_of(found), encoding="utf-8")
    readme.write_text(written, encoding="utf-8")
    for path in (kept, picture, readme):
        print(path)


def rows(text: str) -> tuple[Row, ...]:
    """The lines of the table in a kept result.

    Raises:
        ValueError: it holds no such table.
    """
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    if len(cells) < 3 or tuple(cells[0]) != ("Kernel", *_CONTENDERS):
        raise ValueError(f"expected a table with the columns Kernel, {', '.join(_CONTENDERS)}")
    found = []
    for kernel, *times in cells[2:]:
        numbers = {name: re.match(r"[\d.e+-]+", time) for name, time in zip(_CONTENDERS, times, strict=True)}
        found.append(Row(kernel, {name: float(number[0]) for name, number in numbers.items() if number}))
    return tuple(found)


def in_readme(readme: str, text: str) -> str:
    """README with a kept result in its place.

    Args:
        readme: its text, with both marks.
        text: the kept result; empty for none.

    Raises:
        ValueError: it has no place for it.
    """
    begin, end = readme.find(BEGIN), readme.find(END)
    if begin < 0 or end < begin:
        raise ValueError(f"README has no lines {BEGIN} and {END}")
    shown = [BEGIN]
    if text:
        picture = f"![How many times as fast as each of them polytune is, on six kernels]({PICTURE.as_posix()})"
        command = "python -m benchmarks.cpu KERNEL... --peers numpy,numba,gcc,clang --markdown FILE"
        shown += ["", text.strip(), "", f"Measured by `{command}`.", "", picture, ""]
    return readme[:begin] + "\n".join(shown) + "\n" + readme[end:]


_WIDTH, _LEFT, _RIGHT, _BAR, _GAP, _TOP = 760, 128, 64, 13, 16, 62
_STYLE = """
    .paper { fill: #ffffff } text { fill: #1f2328; font: 13px sans-serif } .small { font-size: 12px }
    .line { stroke: #818b98; stroke-width: 1 } .b0 { fill: #b35900 } .b1 { fill: #0969da } .b2 { fill: #1a7f37 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 } text { fill: #f0f6fc } .line { stroke: #6e7681 }
      .b0 { fill: #f0883e } .b1 { fill: #58a6ff } .b2 { fill: #56d364 }
    }"""


def picture_of(found: Sequence[Row]) -> str:
    """A picture, SVG, of how many times as fast as the other contenders polytune is, on a logarithmic scale; light or
    dark as the reader's system is.

    Args:
        found: the kernels.
    """
    others = _CONTENDERS[1:]
    speedups = [
        [
            (k, row.milliseconds[name] / row.milliseconds[_CONTENDERS[0]])
            for k, name in enumerate(others)
            if name in row.milliseconds
        ]
        for row in found
    ]
    every = [value for group in speedups for _, value in group] or [1.0]
    low = min(0.5, 2.0 ** math.floor(math.log2(min(every))))
    high = max(4.0, 2.0 ** math.ceil(math.log2(max(every))))

    def at(value: float) -> float:
        span = math.log2(high / low)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log2(value / low) / span

    parts = []
    y = float(_TOP)
    for row, group in zip(found, speedups, strict=True):
        middle = y + len(group) * _BAR / 2 + 4
        parts.append(f'<text x="{_LEFT - 10}" y="{middle:.1f}" text-anchor="end">{escape(row.kernel)}</text>')
        for k, value in group:
            start, stop = sorted((at(1.0), at(value)))
            place = f'x="{start:.1f}" y="{y:.1f}" width="{max(1.0, stop - start):.1f}" height="{_BAR - 2}"'
            parts.append(f'<rect class="b{k}" {place}/>')
            parts.append(f'<text class="small" x="{stop + 5:.1f}" y="{y + _BAR - 2.5:.1f}">{_number(value)}</text>')
            y += _BAR
        y += _GAP
    legend, x = [], float(_LEFT)
    for k, name in enumerate(others):
        legend.append(f'<rect class="b{k}" x="{x:.0f}" y="34" width="11" height="11"/>')
        legend.append(f'<text class="small" x="{x + 16:.0f}" y="44">over {escape(name)}</text>')
        x += 40 + 8 * len(f"over {name}")
    height = y + 8
    title = "How many times as fast polytune is, tuned (logarithmic scale; the line is 1)"
    one = at(1.0)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" role="img">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}\n</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height:.0f}"/>',
            f'<text x="16" y="22">{title}</text>',
            *legend,
            *parts,
            f'<line class="line" x1="{one:.1f}" x2="{one:.1f}" y1="{_TOP - 6}" y2="{height - 8:.1f}"/>',
            "</svg>",
            "",
        ]
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.front_page")
