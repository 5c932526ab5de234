"""The blocks of code on a page of the documentation, as steps of one program.

A block of ``python`` runs in the module that all blocks of a page share; one with a title is written to the file of
that name instead.  A block of ``sh`` is run by Bash in the same folder.  What a block needs and readers know already is
in a comment of HTML right before it:

    <!-- before: -->      lines of Python that run before the block
    <!-- around: -->      Python in which a line BLOCK stands for the block, at that indentation
    <!-- each line: -->   the same for each of its lines on its own

Of a block of decorators alone each one decorates a kernel, which is called.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<how>before|around|each line):\n(?P<given>.*?)-->\n\n?)?"
    r"^```(?P<kind>python|sh)(?: title=\"(?P<title>[\w.]+)\")?\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

PREAMBLE = """\
import numpy as np

import polytune


@polytune.kernel
def gemm(alpha, beta, C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(m):
                C[i, j] += alpha * A[i, k] * B[k, j]


rng = np.random.default_rng(0)
A, B, C = (rng.random((40, 40)) for _ in range(3))
"""
"""The code that pages take for known: the kernel of the start page."""

DECORATED = """\
BLOCK
def scaled(x):
    for i in range(len(x)):
        x[i] *= 2.0

x = np.ones(3)
scaled(x)
assert x[0] == 2.0
"""
"""The function below a decorator that stands on its own."""

SHORTER = {r"\bseconds=\d+": "seconds=0.3", r"--seconds \d+": "--seconds 0.3", r"\brange\(1000?\)": "range(3)"}
"""The numbers that make a block take long, and do not show more for it, with those that replace them."""


class Step(NamedTuple):
    """A block: its line on the page, what runs it, and what that runs."""

    line: int
    kind: str
    text: str


def steps_of(page: str) -> list[Step]:
    """The blocks of a page, in order."""
    found = []
    for match in _BLOCK.finditer(page):
        line = page.count("\n", 0, match.start("code")) + 1
        code, given = match["code"], match["given"] or ""
        if match["title"]:
            found.append(Step(line, "file", f"{match['title']}\n{code}"))
            continue
        for pattern, short in SHORTER.items():
            code = re.sub(pattern, short, code)
        if match["how"] == "around":
            code = _placed(given, code)
        lines = [line for line in code.splitlines() if line.strip()]
        if match["how"] == "each line" or all(line.startswith("@") for line in lines):
            around = given if match["how"] == "each line" else DECORATED
            code = "\n".join(_placed(around, line) for line in lines)
        if match["how"] == "before":
            code = given + code
        if match["kind"] == "sh":
            kept = (line for line in lines if not re.match(r"pip |python -m venv|git clone", line))
            code = "\n".join(kept)
        found.append(Step(line, match["kind"], code))
    return found


def blocks_in(page: str) -> int:
    """How many blocks of Python a page has, however they are read."""
    return len(re.findall(r"^\s*```\s*(?:python|py|sh)\b", page, re.MULTILINE))


def _placed(around: str, code: str) -> str:
    """Code in the place of the line that says BLOCK, as far to the right as that."""

    def indented(found: re.Match[str]) -> str:
        return "".join(f"{found[1]}{line}\n" for line in code.splitlines())

    return re.sub(r"^([ \t]*)BLOCK\n", indented, around, flags=re.MULTILINE)


RUNNER = '''\
"""Runs the steps of a page: a JSON list of lines, kinds and texts on the standard input."""
import json, linecache, os, subprocess, sys

page, steps = json.load(sys.stdin)
shown = {"__name__": "page"}
for line, kind, text in steps:
    try:
        if kind == "python":
            name = f"{page}:{line}"
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)  # kernels read their source
            exec(compile(text, name, "exec"), shown)
        elif kind == "sh":
            subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True)
        else:
            name, _, content = text.partition("\\n")
            with open(name, "w", encoding="utf-8") as file:
                file.write(content)
    except BaseException as error:
        print(f"{page}, the block at line {line}: {type(error).__name__}: {error}", file=sys.stderr)
        raise
'''
