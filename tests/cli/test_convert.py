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
