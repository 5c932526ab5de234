"""Tables and lines of progress, on terminals and elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from polytune.cli import console

NAME = "a_kernel_with_a_name_that_is_longer_than_most_and_than_its_column"


def made() -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("kernel", no_wrap=True)
    table.add_column("shape")
    table.add_column("best ms", justify="right", no_wrap=True)
    table.add_row(Text(NAME), Text("n=1000,m=2000,tile_0=4096"), "123.456")
    return table


@pytest.mark.parametrize("width", [30, 50, 80, 200])
def test_nothing_of_a_table_is_cut_off(monkeypatch, capsys, width) -> None:
    monkeypatch.setattr(console, "results", Console(force_terminal=True, width=width, color_system=None))
    console.print_table(made())
    printed = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed
    for text in (NAME, "n=1000,m=2000,tile_0=4096", "123.456"):
        for character in set(text):
            assert printed.count(character) >= text.count(character)
    letters = sum(map(len, printed.split()))
    assert letters == len(NAME) + len("n=1000,m=2000,tile_0=4096" + "123.456" + "kernel" + "shape" + "best" + "ms")


def test_columns_that_do_not_wrap_are_whole_where_there_is_room(monkeypatch, capsys) -> None:
    monkeypatch.setattr(console, "results", Console(force_terminal=True, width=150, color_system=None))
    console.print_table(made())
    assert NAME in capsys.readouterr().out


def test_a_table_that_goes_elsewhere_is_as_wide_as_it_is(capsys) -> None:
    console.print_table(made())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line == line.rstrip() for line in lines)


def test_progress_on_a_terminal_is_a_line_that_vanishes(monkeypatch, capsys) -> None:
    monkeypatch.setattr(console, "progress", Console(stderr=True, force_terminal=True, width=60))
    with console.progress_text("first") as line:
        line.update("second")
    assert "\n\n" not in capsys.readouterr().err


def test_progress_elsewhere_says_nothing_twice(monkeypatch, capsys) -> None:
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    with console.progress_text("first") as line:
        for text in ("first", "second", "second", "third"):
            line.update(text)
    assert capsys.readouterr().err.splitlines() == ["first", "second", "third"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal that a program makes")
def test_a_cell_of_a_notebook_is_no_terminal() -> None:
    """Though it seems to be one: what is drawn over stays there."""
    import pty

    shown = "from polytune.cli import console; print(console.progress.is_terminal, console.results.is_terminal)"
    for variable, expected in (("JPY_PARENT_PID", b"False False"), ("OTHER", b"True True")):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-color", variable: "77"}
        if variable == "OTHER":
            environment.pop("JPY_PARENT_PID", None)
        program = [sys.executable, "-c", shown]
        subprocess.run(program, stdout=theirs, stderr=theirs, env=environment, timeout=60, check=True)
        assert os.read(ours, 1000).strip() == expected
        os.close(theirs)
        os.close(ours)
