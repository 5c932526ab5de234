"""Comparisons that a benchmark goes on with."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.cpu.comparison import Comparison, Plan
from benchmarks.cpu.kept import KeptComparisons
from polybench.datasets import Dataset


def compared(kernel):
    made = object.__new__(Comparison)
    object.__setattr__(made, "kernel", kernel)
    return made


def test_what_was_compared_alike_is_kept(tmp_path):
    plan = Plan(Dataset.MINI, 1.0, 2, ("numpy",))
    folder = tmp_path / "new" / "kept"
    kept = KeptComparisons(folder, plan, {"threads": 2})
    assert kept.get("atax") is None
    kept.put(compared("atax"))
    again = KeptComparisons(folder, plan, {"threads": 2})
    assert again.get("atax").kernel == "atax" and again.get("mvt") is None
    assert KeptComparisons(folder, replace(plan, turns=3), {"threads": 2}).get("atax") is None
    assert KeptComparisons(folder, plan, {"threads": 4}).get("atax") is None
    assert [file.name for file in folder.iterdir()] == ["atax.pickle"]
    (folder / "atax.pickle").write_bytes(b"cut off")
    assert again.get("atax") is None
