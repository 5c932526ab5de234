"""Running the program in this process, and a file of kernels to run it on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from polytune.cli.main import main

KERNELS = '''
import polytune


@polytune.kernel
def scale(alpha, A):
    """Multiply a matrix by a number."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= alpha


@polytune.kernel
def shift(n: "int", x: "float32[::1]"):
    for i in range(n - 1):
        x[i] = x[i + 1]


def not_a_kernel():
    pass
'''


@dataclass(frozen=True)
class Ran:
    """What a run of the program left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys, monkeypatch):
    """A function that runs one command line; the terminal is wide, so that no message is wrapped."""
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(ended.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture
def kernels_file(tmp_path) -> Path:
    file = tmp_path / "some_kernels.py"
    file.write_text(KERNELS)
    return file
