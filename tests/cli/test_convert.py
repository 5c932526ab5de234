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


def test_files_are_looked_at_before_anything_is_computed(run, tmp_path):
    missing = tmp_path / "missing" / "out.csv"
    written = tmp_path / "written"
    written.write_text("kept")
    remedy = f"error: {missing.parent}: No such file or directory; check how its name is written, or make it\n"
    for command in (
        ("convert", "example:atax", "--format", "ktt-csv", "-o"),
        ("simulate", "example:atax", "-o"),
        ("simulate", "example:atax", "--histogram"),
    ):
        ran = run(*command, missing)
        assert (ran.code, ran.out, ran.err) == (1, "", remedy)
    ran = run("convert", "example:atax", "--format", "t4", "-o", tmp_path)
    assert ran.code == 1 and ran.err == f"error: {tmp_path}: Is a directory; name a file in it\n"
    ran = run("transfer", "example:atax", "--plot", written)
    assert ran.code == 1 and ran.err == f"error: {written}: Not a directory; name a folder, or another place\n"
    ran = run("simulate", missing)
    assert ran.code == 1 and ran.err.startswith(f"error: {missing}: No such file or directory; check how")
    assert written.read_text() == "kept"
