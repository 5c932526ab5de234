"""Where stores of generated functions stand among the loads of the same block."""

from __future__ import annotations

import ast
import math
import textwrap

import pytest

from polytune.runtime.native.lowering import lower
from polytune.runtime.teams.context import attach, number

HEAD = """
def run(context):
    a = attach(context, 0, "float64[::1]", "a", "a b out")
    b = attach(context, 1, "float64[::1]", "b", "a b out")
    out = attach(context, 2, "float64[::1]", "out", "a b out")
    level = number(context, 3, "float64")
"""
ARRAYS = {"a": 0, "b": 8, "out": 16}
NAMES = {"attach": attach, "number": number, "math": math}


def accesses(body: str) -> list[str]:
    """The loads and stores of elements of a function, in their order, block by block: ``load out``, say."""
    text = HEAD + textwrap.indent(textwrap.dedent(body), "    ")
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    module = lower(function, NAMES, "symbol")
    found = []
    for block in next(each for each in module.functions if not each.is_declaration).blocks:
        for instruction in block.instructions:
            scope = instruction.metadata.get("alias.scope")
            if scope is not None:
                name = str(scope.operands[0].operands[0].string).removeprefix("polytune array ")
                found.append(f"{instruction.opname} {name}")
    return found


def test_stores_stand_behind_loads_from_other_arrays():
    """Rows that are computed side by side: else the loop over them is none of vectors."""
    found = accesses(
        """
        for k in range(9):
            out[k] = math.sqrt(a[k + 1] - a[k])
            out[k + 10] = 1.0 if a[k + 11] - a[k + 10] > level else 0.0
            out[k + 20] = a[k + 21] - b[k + 20]
        """
    )
    assert found == ["load a"] * 5 + ["load b"] + ["store out"] * 3


@pytest.mark.parametrize(
    "body, order",
    [
        (
            "out[0] = a[0]\nout[1] = out[0] + a[1]\nout[2] = b[2]",
            ["load a", "store out", "load out", "load a", "load b", "store out", "store out"],
        ),
        (
            "out[0] = a[0]\nb[1] = out[2]\nout[3] = b[3]",
            ["load a", "store out", "load out", "store b", "load b", "store out"],
        ),
        (
            "out[0] = a[0]\nb[0] = a[1]\nout[0] = a[2]\nb[0] = a[3]",
            ["load a"] * 4 + ["store out", "store b"] * 2,
        ),
        (
            "out[0] = math.tan(a[0])\nout[1] = math.tan(a[1])\nout[2] = a[2]",
            ["load a", "load a", "store out", "load a", "store out", "store out"],
        ),
    ],
    ids=["what is stored is loaded", "two arrays", "stores keep their order", "calls"],
)
def test_stores_stand_before_what_may_look_at_them(body, order):
    assert accesses(body) == order
