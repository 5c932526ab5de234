"""What the README shows runs as it stands there, on smaller arrays."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_first_example_runs(tmp_path):
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block
    program = block[1].replace("(800, 800)", "(40, 40)").replace("range(100)", "range(3)")
    assert program != block[1]
    file = tmp_path / "readme.py"
    file.write_text(program + "\nassert np.isfinite(C).all()\n")
    ran = subprocess.run([sys.executable, "-c", RUN, str(file)], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "gemm(" in ran.stdout


RUN = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
"""Runs a file with the project's own folder on the import path, whether or not polytune is installed."""
