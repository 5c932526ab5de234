"""README shows what is in the kept result, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.front_page import BEGIN, END, PICTURE, RESULTS, in_readme, picture_of, rows

ROOT = Path(__file__).parents[2]

KEPT = """| Kernel | polytune | NumPy | Numba | best C compiler |
|---|---:|---:|---:|---:|
| gemm | 10 | 5.5 | 400 | 25.5 (gcc) |
| nussinov | 2 | 1.2e+04 | | 3 (clang) |

Milliseconds of a call, medians, PolyBench at LARGE, after tuning; 2026-01-01, a machine, 2 threads; python 3.11.
"""


def test_readme_and_picture_are_those_of_the_kept_result():
    """Where nothing is kept, README shows nothing."""
    kept, picture = ROOT / RESULTS, ROOT / PICTURE
    text = kept.read_text(encoding="utf-8") if kept.exists() else ""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == in_readme(readme, text)
    assert picture.exists() == bool(text)
    if text:
        assert picture.read_text(encoding="utf-8") == picture_of(rows(text))
        assert {"gemm", "2mm", "atax", "jacobi-2d", "floyd-warshall", "nussinov"} == {row.kernel for row in rows(text)}


def test_the_command_writes_all_of_it(tmp_path):
    (tmp_path / "README.md").write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nThe rest.\n")
    (tmp_path / "given.md").write_text(KEPT)
    program = [sys.executable, "-m", "benchmarks.front_page", str(tmp_path / "given.md"), "--folder", str(tmp_path)]
    ran = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert ran.returncode == 0, ran.stderr
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith(f"# Title\n\n{BEGIN}\n\n| Kernel") and readme.endswith(f"{END}\n\nThe rest.\n")
    assert "| gemm | 10 | 5.5 | 400 | 25.5 (gcc) |" in readme and "old" not in readme
    assert "2026-01-01, a machine" in readme and f"]({PICTURE.as_posix()})" in readme
    assert (tmp_path / RESULTS).read_text() == KEPT
    assert (tmp_path / PICTURE).read_text() == picture_of(rows(KEPT))
    assert in_readme(readme, KEPT) == readme and in_readme(readme, "") != readme


def test_the_picture_has_a_bar_for_each_time_in_its_place():
    picture = ElementTree.fromstring(picture_of(rows(KEPT)))
    tag = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in picture.iter(f"{tag}text")]
    assert "gemm" in texts and "nussinov" in texts
    assert {"0.55", "40", "2.55", "6,000", "1.5"} <= set(texts)
    bars = [bar for bar in picture.iter(f"{tag}rect") if bar.get("height") == "11" and bar.get("y") != "34"]
    assert len(bars) == 5  # Numba has no time for nussinov
    (line,) = picture.iter(f"{tag}line")
    one = float(line.get("x1", 0))
    slower, *faster = bars
    assert float(slower.get("x", 0)) + float(slower.get("width", 0)) == pytest.approx(one, abs=0.2)
    assert all(float(bar.get("x", 0)) == pytest.approx(one, abs=0.1) for bar in faster)
    style = next(picture.iter(f"{tag}style")).text
    assert style is not None and "prefers-color-scheme: dark" in style


def test_other_files_are_refused():
    with pytest.raises(ValueError, match="expected a table with the columns Kernel, polytune"):
        rows("| a | b |\n|---|---|\n| 1 | 2 |\n")
    with pytest.raises(ValueError, match="README has no lines"):
        in_readme("# Title\n", KEPT)
