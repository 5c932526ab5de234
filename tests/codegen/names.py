"""Kernels whose names are chosen: what generated code is called, words of languages, and letters that few expect."""

from __future__ import annotations

import ast
import builtins
import keyword
import linecache
import re
import unicodedata
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


KERNEL = """
def kernel({n}, {s}, {X}, {Y}, {v}):
    {W} = ARRAYS.zeros({X}.shape[1])
    {t} = 0.0
    for {i} in LOOP({n}):
        for {j} in LOOP({X}.shape[1]):
            {W}[{i}] += {X}[{i}, {j}] * {s}
            {v}[{j}] += {Y}[{j}, {i}]
            {t} += {Y}[{j}, {i}]
    for {i} in LOOP({n}):
        for {j} in LOOP({X}.shape[1]):
            {W}[{j}] = {X}[{i}, {j}] + {s}
        for {j} in LOOP({X}.shape[1]):
            {Y}[{j}, {i}] = {W}[{j}] + {v}[{j}] * 0.25
    return {t}
"""
"""A kernel with an integer, a number, three arrays, a local array, a scalar and two loops: its versions have teams,
copies and sums of workers, and regions for devices."""

ROLES = ("n", "s", "X", "Y", "v", "W", "t", "i", "j")

C_WORDS = words(
    "int double float char const void register restrict volatile signed unsigned struct union typedef extern static "
    "auto case default do enum goto inline switch short long sizeof bool half uint ulong kernel global local constant "
    "private image2d_t size_t int32_t f64 i64 __global __kernel __local __global__ __shared__ __restrict__ __device__ "
    "threadIdx blockIdx blockDim gridDim warpSize get_global_id barrier template typename class namespace operator new "
    "delete this virtual public friend true false nullptr asm main printf malloc free calloc exit signbit isnan NULL "
    "INT_MAX NAN INFINITY M_PI linux unix errno stdin BLOCK_X BLOCK_Y POINTS_X DEPTH SHARED PT_GLOBAL pt_least"
)
"""Words of C, of CUDA and of OpenCL, and what headers and the texts' own macros define."""

ISL_WORDS = words("exists and_ infty NaN min max mod floor ceil floord ceild rat cap implies lexmin domain child")
"""Words of isl's language, as far as they are names in Python."""

ODD = (
    *("_", "__", "___", "_0", "_x_", "__init__", "__name__", "__file__", "__builtins__", "__debug"),
    *(
        "é",
        "ß",
        "λ",
        "变量",
        "ñ_é",
        "_e9_",
        "v__e9_",
        "u_",
        "v_",
        "x·y",
        "ℯ",
        "𝔘",
        "x₁" if "x₁".isidentifier() else "ꙮ",
    ),
    "n" * 300,
    "n" * 299 + "m",
)


NUMBERS = 8
"""The number of arrays, of numbers, and of loops and variables of its own that ``wide_kernel`` has."""


def wide_kernel(names: Sequence[str]) -> str:
    """A kernel that does little with many names: ``4 * NUMBERS`` of them, a quarter each of arrays, of numbers, of loop
    variables and of variables of its own."""
    arrays, numbers, loops, scalars = (names[NUMBERS * part : NUMBERS * (part + 1)] for part in range(4))
    lines = [f"def kernel({', '.join([*arrays, *numbers])}):"]
    for array, number, loop, scalar in zip(arrays, numbers, loops, scalars, strict=True):
        lines += [f"    for {loop} in LOOP(1, {array}.shape[0]):"]
        lines += [f"        {scalar} = {array}[{loop}] * {number}", f"        {array}[{loop}] = {scalar} + {scalar}"]
    first, second, *_ = arrays
    lines += [f"    for {loops[0]} in LOOP({first}.shape[0]):"]
    lines += [f"        {second}[0] += {first}[{loops[0]}]"]
    return "\n".join([*lines, ""])


def adversarial(texts: Iterable[str]) -> list[str]:
    """Every name in texts that a kernel may have, words of languages, and odd ones."""
    found: dict[str, None] = {}
    for text in texts:
        found |= dict.fromkeys(used for node in ast.walk(ast.parse(text)) for used in _named(node))
    # Of the names that are numbered the first ones stand for all.
    numbered = [name for name in found if re.fullmatch(r"\D+([2-9]|\d\d+)", name)]
    usual = (name for name in dir(builtins) if not name.endswith(("Error", "Warning")))
    found |= dict.fromkeys((*usual, *C_WORDS, *ISL_WORDS, *ODD, *keyword.softkwlist))
    found |= dict.fromkeys(("A_shape_0", "X_shape_1", "X_0", "X_1", "S0_iterator0", "kernel"))
    return [name for name in found if may_be_a_name(name) and name not in numbered]


def _named(node: ast.AST) -> list[str]:
    """The names that a node of a module has, and those in it if it is a text for devices."""
    match node:
        case ast.Name(name) | ast.arg(name) | ast.alias(name) | ast.FunctionDef(name) | ast.Attribute(attr=name):
            return name.split(".")
        case ast.keyword(arg="text", value=ast.Constant(text)):
            return re.findall(r"[^\W\d]\w*", text)
    return []


def may_be_a_name(name: str) -> bool:
    """Whether a variable of Python can have a name, which the templates do not need."""
    if not name.isidentifier() or keyword.iskeyword(name) or name in ("__debug__", "ARRAYS", "LOOP"):
        return False
    return unicodedata.normalize("NFKC", name) == name


def function_of(source: str, filename: str = "") -> FunctionType:
    """The function ``kernel`` of a source, which has ``LOOP`` for range and ``ARRAYS`` for NumPy."""
    filename = filename or f"<kernel of names {abs(hash(source))}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    found: dict[str, Any] = {"ARRAYS": np, "LOOP": range}
    exec(compile(source, filename, "exec"), found)
    return found["kernel"]


def arguments() -> list[Any]:
    """Arguments of ``KERNEL``, the same each time."""
    return [4, 1.5, *(np.arange(20.0).reshape(shape) % 7 for shape in ((4, 5), (5, 4))), np.arange(5.0)]


def wide_arguments() -> list[Any]:
    """Arguments of ``wide_kernel``, the same each time."""
    return [*(np.arange(3.0 + number % 2) for number in range(NUMBERS)), *(0.5 + number for number in range(NUMBERS))]
