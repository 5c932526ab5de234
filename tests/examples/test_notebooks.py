"""The notebooks of the documentation run from their first cell to their last, and show what they are there to show."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
FAILS = "raises-exception"
"""The tag of cells that are there for the error that they raise."""

SHOWN = {
    "first_kernel": ("array 'B': ", "why: entering and leaving run Python code"),
    "why_not_parallel": ("for i: not parallel", "each worker adds up sums by itself first", "flow: "),
    "tuning_keeping_shipping": ('<td style="text-align: left">version</td>', "configurations measured", "True"),
}
"""Some of what the outputs of each have to have."""


def outputs_of(cell: dict[str, Any]) -> str:
    """The texts that a cell shows, as HTML where it has that."""
    found = []
    for output in cell["outputs"]:
        data = output.get("data", {})
        shown = output.get("text") or data.get("text/html") or data.get("text/plain") or output.get("traceback", "")
        found.append(shown if isinstance(shown, str) else "\n".join(shown))
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(found))


def check(name: str, cells: list[dict[str, Any]]) -> None:
    """Hold the outputs of a notebook that has run against what it is there for."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for cell in code:
        errors = [output["ename"] for output in cell["outputs"] if output["output_type"] == "error"]
        assert bool(errors) == (FAILS in cell["metadata"].get("tags", [])), errors
    text = "\n".join(map(outputs_of, code))
    assert all(part in text for part in SHOWN[name])
    assert "polytune/runtime" not in text and "polytune/kernel.py" not in text  # of no error


def test_there_are_three() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(SHOWN)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_as_it_has_run(path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    check(path.stem, notebook["cells"])
    for cell in notebook["cells"]:
        for link in re.findall(r"\]\(([^)#:]+)\)", "".join(cell["source"])):
            assert (path.parent / link).exists(), link


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder for sockets, whose names have at most 107 characters."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, short_path, monkeypatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    manager = pytest.importorskip("jupyter_client").AsyncKernelManager(kernel_name="python3")
    # Ports that are looked up as free may be taken by another program until the notebook's interpreter binds them.
    manager.transport, manager.ip = "ipc", str(short_path / "sockets")
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell["source"] = cell["source"].replace("seconds=5", "seconds=1")
        if cell.cell_type == "code":
            cell["outputs"] = []
    place = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(notebook, km=manager, timeout=300, startup_timeout=300, resources=place)
    client.execute()
    check(path.stem, notebook.cells)
