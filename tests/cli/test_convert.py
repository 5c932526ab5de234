"""``polytune convert``."""

from __future__ import annotations

from polytune.lab import load


def test_a_recording_becomes_anothers_cache(run, tmp_path):
    file = tmp_path / "atax.json"
    ran = run("convert", "example:atax", "--format", "kernel-tuner", "-o", file, "--json")
    assert ran.code == 0, ran.err
    again, recorded = load(file), load("example:atax")
    assert ran.json["configurations"] == len(again) == len(recorded)
    assert abs(again.optimum / recorded.optimum - 1) < 1e-12


def test_bad_usage(run, tmp_path):
    ran = run("convert", "example:atax", "--format", "xml", "-o", tmp_path / "atax.xml")
    assert ran.code == 2
    assert "none of kernel-tuner, ktt-csv, ktt-json, t4" in ran.err


def test_an_output_that_cannot_be_written_is_told_before_anything_is_read(run, tmp_path):
    file = tmp_path / "nowhere" / "x.json"
    ran = run("convert", tmp_path / "absent.csv", "--format", "t4", "-o", file)
    assert ran.code == 1
    assert f"{file} cannot be written: there is no folder {file.parent}; make it, or name another file" in ran.err


def test_a_recording_that_is_not_there_and_one_of_no_format(run, tmp_path):
    ran = run("convert", tmp_path / "absent.csv", "--format", "t4", "-o", tmp_path / "x.json")
    assert ran.code == 1 and "absent.csv: No such file or directory; see whether the path is written right" in ran.err
    (tmp_path / "odd.json").write_text('{"odd": 1}')
    ran = run("convert", tmp_path / "odd.json", "--format", "t4", "-o", tmp_path / "x.json")
    assert ran.code == 1 and "See whether this is the file that was meant" in ran.err
