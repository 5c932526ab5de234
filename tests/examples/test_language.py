"""The reference in docs/language.md: each row names a kernel of examples/language.py, and what it says of it is so."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from polytune.frontend.expression import LibraryCall, walk
from polytune.kernel import Kernel
from polytune.pipeline import Stages
from polytune.schedule.analysis.loop_report import report_loops
from polytune.signature import ArrayType, Signature

ROOT = Path(__file__).parent.parent.parent
EXAMPLES: dict[str, Any] = {}
exec(compile((ROOT / "examples" / "language.py").read_text(), str(ROOT / "examples" / "language.py"), "exec"), EXAMPLES)
KERNELS = {name: value for name, value in EXAMPLES.items() if isinstance(value, Kernel)}


class Row(NamedTuple):
    construct: str
    model: str
    loop: str
    cost: str
    example: str


def rows() -> list[Row]:
    """The rows of the reference."""
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    _, _, reference = text.partition("\n## Reference\n")
    found = []
    for line in reference.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and cells[0] != "Construct" and not set(cells[0]) <= set("-"):
            found.append(Row(*cells))
    return found


ROWS = rows()


def test_each_row_has_an_example_and_each_example_a_row() -> None:
    assert sorted(row.example.strip("`") for row in ROWS) == sorted(KERNELS)
    assert len({row.construct for row in ROWS}) == len(ROWS) > 30


def arguments_for(signature: Signature) -> list[Any]:
    """Six elements along each axis, seven numbers of 0 to 5 in order in each array of integers, and 6."""
    rng = np.random.default_rng(0)
    values: list[Any] = []
    for _, kind in signature.arguments:
        if not isinstance(kind, ArrayType):
            values.append(6 if kind.dtype == "int64" else 1.5)
        elif kind.dtype == "int64":
            values.append(np.sort(rng.integers(0, 6, 7)))
        else:
            values.append(rng.random((6,) * kind.ndim) * 2.0 - (0.3 if kind.ndim == 1 else 0.0))
    return values


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_an_example_computes_what_plain_python_does(name: str) -> None:
    kernel = KERNELS[name]
    wanted = arguments_for(kernel.stages().signature)
    found = copy.deepcopy(wanted)
    right = kernel.__wrapped__(*wanted)
    result = kernel(*found)
    assert isinstance(result, tuple) == isinstance(right, tuple)
    for one, other in zip((*found, result), (*wanted, right), strict=True):
        pairs = zip(one, other, strict=True) if isinstance(other, tuple) else [(one, other)]
        for value, reference in pairs:
            if reference is None:
                assert value is None
            else:
                np.testing.assert_allclose(value, reference, rtol=1e-12)


def facts(name: str) -> tuple[str, str]:
    """How an example is modelled, and what its outermost loop is."""
    stages: Stages = KERNELS[name].stages()
    scop = stages.scop
    operations = [part for statement in scop.statements for each in statement.operations for part in walk(each)]
    if any(isinstance(part, LibraryCall) for part in operations):
        model = "library call"
    elif any(statement.is_opaque for statement in scop.statements):
        model = "opaque"
    else:
        model = "exact"
    reports = report_loops(stages.dependences)
    if not reports:
        return model, "none"
    return model, "parallel" if reports[0].parallel else "serial"


@pytest.mark.parametrize("row", ROWS, ids=[row.example.strip("`") for row in ROWS])
def test_what_a_row_says_is_so(row: Row) -> None:
    assert (row.model, row.loop) == facts(row.example.strip("`"))
    assert row.cost
