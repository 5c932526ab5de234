"""What notebooks show of kernels and of what belongs to them."""

from __future__ import annotations

import io
import sys
import types
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import polytune
from polytune import notebook
from polytune.runtime.tuning.tuning_runs import ProgressLine
from polytune.tuner import Configuration, Integer, Is, Nominal, OnlineTuner, Space


@polytune.kernel(background=False)
def doubled(x, y):
    """Write twice x to y, where x < 1 & y is anything."""
    for i in range(len(x)):
        y[i] = 2.0 * x[i]


class Reader(HTMLParser):
    """Reads rows of tables and texts, and notes tags that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def called() -> polytune.Kernel:
    x = np.arange(5.0)
    for _ in range(3):
        doubled(x, np.zeros(5))
    return doubled


def test_a_kernel_shows_its_documentation_and_what_was_tuned(called) -> None:
    shown = read(called._repr_html_())
    assert "polytune kernel doubled(x, y)" in shown.texts
    assert "Write twice x to y, where x < 1 & y is anything." in shown.texts
    heads, row = shown.rows
    assert heads[0] == "calls with" and len(row) == len(heads) == 5
    assert row[0].startswith("(x: float64[::1], y: float64[::1]), sizes ")
    assert "version=" in row[2] and int(row[3]) >= 3


def test_a_kernel_that_was_not_called_is_not_compiled() -> None:
    kernel = polytune.Kernel(lambda x: None)
    assert "polytune kernel <lambda>(x)" in read(kernel._repr_html_()).texts


def test_an_explanation_is_shown_in_lines(called) -> None:
    found = called.explain()
    assert isinstance(found, str) and "\n" in found
    assert read(found._repr_html_()).texts == [str(found)]
    printer = types.SimpleNamespace(said=[], text=lambda text: printer.said.append(text))
    found._repr_pretty_(printer, False)
    assert printer.said == [str(found)]


SPACE = Space(
    [
        Nominal("version", ("source", "tiled")),
        Integer("tile", 8, 64, powers_of_two=True, when=Is("version", "tiled")),
        Integer("unroll", 1, 4, when=Is("version", "tiled") & ~Is("tile", 8, 16)),
    ]
)


def test_a_space_is_shown_as_a_table() -> None:
    rows = read(SPACE._repr_html_()).rows
    assert rows[0] == ["parameter", "values", "default", "where"]
    assert rows[1:3] == [
        ["version", "one of 'source', 'tiled'", "source", ""],
        ["tile", "a power of two from 8 to 64", str(SPACE["tile"].default), "version is tiled"],
    ]
    assert rows[3][3] == "(version is tiled) and (not (tile is one of 8, 16))"


def test_a_space_is_printed_in_lines() -> None:
    lines = str(SPACE).splitlines()
    assert lines[0] == "version: one of 'source', 'tiled', source by default"
    assert len(lines) == 3 and lines[1].endswith(", when version is tiled")
    assert repr(SPACE) == "<Space of version, tile, unroll>"


def test_a_configuration_is_shown_as_a_table() -> None:
    assert read(Configuration({"version": "<b>", "tile": 8})._repr_html_()).rows == [["version", "tile"], ["<b>", "8"]]


def test_trials_are_shown_as_a_table(called) -> None:
    tuner = OnlineTuner(SPACE)
    tuner.report(tuner.choose(), 2.0)
    tuner.fail(Configuration({"version": "tiled", "tile": 8}), "too large")
    rows = read(tuner.trials()._repr_html_()).rows
    assert rows == [
        ["call", "time", "configuration", "why"],
        ["1", "2 s", "version=source", "the first choice"],
        ["2", "", "version=tiled, tile=8", "failed: too large"],
    ]
    shown = read(called.trials()._repr_html_())
    assert shown.rows[0] == rows[0] and any("x: float64[::1]" in text for text in shown.texts)


def test_of_many_trials_the_first_and_the_last_are_shown() -> None:
    tuner = OnlineTuner(Space([Integer("n", 0, 99)]))
    for n in range(50):
        tuner.fail(Configuration({"n": n}), "too large")
    rows = read(tuner.trials()._repr_html_()).rows[1:]
    assert [row[2] for row in rows] == [
        *(f"n={n}" for n in range(10)),
        "and 30 more",
        *(f"n={n}" for n in range(40, 50)),
    ]


def test_what_tune_has_found_is_shown_as_a_table(called) -> None:
    found = called.tune(np.arange(5.0), np.zeros(5), seconds=0.2, progress=False)
    rows = dict(row for row in read(found._repr_html_()).rows if len(row) == 2)
    assert rows["configurations measured"] == str(found.configurations)
    assert rows["version"] == found.configuration["version"]


def test_progress_in_a_notebook_is_a_bar(monkeypatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, html: str) -> None:
            shown[-1] = html

    def display(html: str, display_id: bool) -> Handle:
        shown.append(html)
        return Handle()

    module = types.ModuleType("IPython.display")
    module.HTML, module.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    shell = types.ModuleType("IPython")
    shell.get_ipython = lambda: types.SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    line = ProgressLine(None)
    line.update("gemm: 3 of 10 s", 0.3, now=True)
    assert read(shown[-1]).texts == [" gemm: 3 of 10 s"]
    assert '<progress value="0.300" max="1">' in shown[-1]
    line.end("gemm: <done>")
    assert shown == ["<p>gemm: &lt;done&gt;</p>"]
    ProgressLine(False).update("nothing", 0.5, now=True)
    shell.get_ipython = lambda: None  # type: ignore[attr-defined]
    ProgressLine(None, io.StringIO()).update("nothing", 0.5, now=True)
    ProgressLine(None).update("nothing", 0.5, now=True)
    assert len(shown) == 1


def test_bars_are_never_more_than_full() -> None:
    assert 'value="1.000"' in notebook.progress_bar(7.0, "") and 'value="0.000"' in notebook.progress_bar(-1.0, "")
