"""Small recordings in memory, and the recorded spaces of other projects where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from polytune.lab.place import Line
from polytune.lab.recording import RecordedSpace, Recorder

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def shared() -> Path:
    """The folder with recordings that are not part of the project, next to the checkout."""
    if not SHARED.is_dir():
        pytest.skip("the recorded spaces of other projects are not here")
    return SHARED


@pytest.fixture
def recorded() -> RecordedSpace:
    """64 configurations of two numbers with one optimum, 2 ms at (3, 5), and the last row, a = 7, failing."""
    recorder = Recorder("bowl", "paper", ("a", "b"))
    for a in range(8):
        for b in range(8):
            times = [2e-3 + 1e-3 * ((a - 3) ** 2 + (b - 5) ** 2)] if a < 7 else []
            recorder.add({"a": a, "b": b}, times, "ok" if times else "failed", place=Line("bowl", 1))
    return recorder.build("bowl")


@pytest.fixture
def write(tmp_path):
    """A function that writes a file and gives its path."""

    def write(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write
