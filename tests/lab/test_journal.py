"""Polytune's own recordings: written line by line, stopped anywhere, gone on with."""

from __future__ import annotations

import json
import math

import pytest

from polytune.errors import RecordingError, RecordingWarning
from polytune.lab import load
from polytune.lab.journal import Header, Journal

HEADER = Header("gemm", "some processor", ("version", "tile"), {"sizes": {"n": 100}})


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "gemm.jsonl"
    with Journal(path, HEADER) as journal:
        journal.measured({"version": "tiled", "tile": 8}, [0.25, 0.5, 0.75])
        journal.failed({"version": "tiled", "tile": 16}, "CompilationError: too large")
        journal.measured({"version": "source"}, [1.0])
    return path


def test_what_is_written_is_read(path):
    recorded = load(path)
    assert (recorded.name, recorded.device) == ("gemm", "some processor")
    assert recorded.optimum == 0.5
    assert recorded.measurements[recorded.best] == (0.25, 0.5, 0.75)
    assert recorded.space.configuration(recorded.best) == {"version": "tiled", "tile": 8}
    assert sorted(recorded.seconds) == [0.5, 1.0, math.inf]


def test_each_line_is_there_at_once(path):
    with Journal(path, HEADER) as journal:
        journal.measured({"version": "tiled", "tile": 32}, [0.125])
        assert load(path).optimum == 0.125


def test_going_on(path):
    with Journal(path, HEADER) as journal:
        assert journal.recorded[0] == {"version": "tiled", "tile": 8}
        assert len(journal.recorded) == 3
        journal.measured({"version": "tiled", "tile": 32}, [2.0])
    assert len(load(path)) == 4


def test_a_cut_line_is_warned_of_and_replaced(path):
    text = path.read_text()
    path.write_text(text[: text.rindex('"times"')])
    with pytest.warns(RecordingWarning, match=r"gemm\.jsonl:4: the file ends within this entry; the 2 before it"):
        assert len(load(path)) == 2
    with Journal(path, HEADER) as journal:
        assert len(journal.recorded) == 2
        journal.measured({"version": "source"}, [1.0])
    assert path.read_text() == text


def test_a_missing_newline_is_added(path):
    text = path.read_text()
    path.write_text(text.rstrip("\n"))
    with Journal(path, HEADER) as journal:
        journal.measured({"version": "tiled", "tile": 32}, [2.0])
    assert len(load(path)) == 4


def test_another_recording_is_not_written_to(path):
    before = path.read_text()
    with pytest.raises(RecordingError, match=r"recording of something else \(about: .*100.*not .*200"):
        Journal(path, Header("gemm", "some processor", ("version", "tile"), {"sizes": {"n": 200}}))
    assert path.read_text() == before


def test_a_file_of_something_else_is_not_written_to(write):
    path = write("notes.txt", '{"a": 1}\n')
    with pytest.raises(RecordingError, match="no recording of polytune's"):
        Journal(path, HEADER)
    assert path.read_text() == '{"a": 1}\n'


@pytest.mark.parametrize(
    ("number", "line", "message"),
    [
        (2, '{"configuration": {"tile": 1}, "times": [NaN]}', r"j\.jsonl:2, field 'times': nan is no time"),
        (3, '{"configuration": {"tile": 1}, "times": [-1]}', r"j\.jsonl:3, field 'times': -1 is negative"),
        (3, '{"configuration": {"tile": 1}, "times": ["1 ms"]}', "'1 ms' stands where a number belongs"),
        (3, '{"configuration": {"tile": 1}, "times": 1}', "must be a list"),
        (3, '{"configuration": {"tyle": 1}, "times": [1]}', "field 'tyle': there is no such parameter"),
        (3, '{"times": [1]}', r"j\.jsonl:3, field 'configuration'"),
        (3, '{"configuration": {"tile": 1}, "ti', r"j\.jsonl:3: this is no JSON.*remove the line"),
        (1, '{"polytune_recording": 9}', "the format is 9, and this polytune reads 1"),
        (1, '{"polytune_recording": 1, "parameters": "tile"}', "must be a list of names"),
        (1, '{"polytune_recording": 1, "parameters": [], "unit": "h"}', r"j\.jsonl:1, field 'unit': 'h' is no unit"),
    ],
)
def test_bad_lines(path, write, number, line, message):
    lines = path.read_text().splitlines()
    lines[number - 1] = line
    with pytest.raises(RecordingError, match=message):
        load(write("j.jsonl", "\n".join(lines) + "\n"))


def test_the_unit_of_the_file_counts(path, write):
    header, *rows = path.read_text().splitlines()
    text = "\n".join([json.dumps({**json.loads(header), "unit": "ms"}), *rows]) + "\n"
    assert load(write("ms.jsonl", text)).optimum == pytest.approx(0.5e-3)


def test_two_may_write_to_one_file(tmp_path):
    """Whoever began the file does not write over the lines of whoever came later."""
    path = tmp_path / "gemm.jsonl"
    with Journal(path, HEADER) as first, Journal(path, HEADER) as second:
        second.measured({"version": "tiled", "tile": 8}, [0.25])
        first.measured({"version": "tiled", "tile": 16}, [0.5])
        second.measured({"version": "source"}, [1.0])
    assert sorted(load(path).seconds) == [0.25, 0.5, 1.0]


def test_a_file_of_another_kind_is_not_touched(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text("import polytune\n")
    with pytest.raises(RecordingError, match=r"kernels\.py:1: this is no recording of polytune's"):
        Journal(path, HEADER)
    assert path.read_text() == "import polytune\n"
