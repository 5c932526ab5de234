"""Loops that read narrow elements where others say: LLVM is told to make no vectors of them, and of no others."""

from __future__ import annotations

import ast
import re
import textwrap

import numpy as np
import pytest

import polytune
from polytune.runtime.native.lowering import lower
from polytune.runtime.teams.context import attach, integer

HEAD = """
def run(context):
    image = attach(context, 0, "{kind}[::1]", "image", "image table out")
    table = attach(context, 1, "{kind}[::1]", "table", "image table out")
    out = attach(context, 2, "{kind}[::1]", "out", "image table out")
    n = integer(context, 3)
"""
NAMES = {"attach": attach, "integer": integer, "np": np, "range": range}

LOOKED_UP = "for k in range(n):\n    out[k] = table[np.int64(image[k])]"
BY_VARIABLE = "for k in range(n):\n    at = np.int64(image[k])\n    out[k] = table[at + 256 if at < 0 else at]"
COPIED = "for k in range(n):\n    out[k] = image[k] + table[k]"
SUMMED = """
total = 0
for k in range(n):
    total = total + np.int64(table[np.int64(image[k])])
out[0] = np.uint8(total)
"""


def forbidden(body: str, kind: str) -> int:
    """The number of loops that are to have no vectors."""
    text = HEAD.format(kind=kind) + textwrap.indent(body, "    ")
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return str(lower(function, NAMES, "symbol")).count("!llvm.loop !")


@pytest.mark.parametrize("kind", ["uint8", "int16"])
@pytest.mark.parametrize("body", [LOOKED_UP, BY_VARIABLE])
def test_tables_of_narrow_elements_have_no_vectors(body, kind):
    assert forbidden(body, kind) == 1


@pytest.mark.parametrize(
    "body, kind", [(LOOKED_UP, "int32"), (BY_VARIABLE, "int64"), (COPIED, "uint8"), (SUMMED, "uint8")]
)
def test_other_loops_may_have_vectors(body, kind):
    assert forbidden(body, kind) == 0


def test_each_loop_is_told_of_by_itself():
    """Loops that say the same are one for LLVM."""
    twice = LOOKED_UP + "\n" + LOOKED_UP.replace("out[k]", "out[k + 1]")
    text = HEAD.format(kind="uint8") + textwrap.indent(twice, "    ")
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    module = str(lower(function, NAMES, "symbol"))
    assert len(set(re.findall(r"!llvm\.loop (!\d+)", module))) == 2


def test_a_table_of_bytes_selects_what_numpy_selects():
    @polytune.kernel
    def looked_up(image, table):
        out = np.empty_like(image)
        for i in range(image.shape[0]):
            for j in range(image.shape[1]):
                out[i, j] = table[image[i, j]]
        return out

    rng = np.random.default_rng(3)
    image = rng.integers(0, 256, (37, 41)).astype(np.uint8)
    table = rng.permutation(256).astype(np.uint8)
    assert np.array_equal(looked_up(image, table), table[image])
