"""Docstrings of the package begin as sentences do that say what something does or is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("polytune", "polybench")

CLAUSE_WORDS = frozenset({"How", "That", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "Why"})
"""The words that clauses begin with, and docstrings do not: they begin with a verb or a noun, "Return whether ..."."""


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """The line and the docstring of a module, and of each class and function in it, that has one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = ast.get_docstring(node)
            if found is not None:
                yield node.body[0].lineno, found


def wrong(text: str) -> list[int]:
    """The lines of the docstrings of a module that begin with a clause, or have nothing in them."""
    firsts = ((line, found.split(maxsplit=1)) for line, found in docstrings(text))
    return sorted(line for line, words in firsts if not words or words[0].strip("`,:.") in CLAUSE_WORDS)


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_begin_with_a_verb_or_a_noun_phrase(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    places = [f"{file.relative_to(ROOT)}:{line}" for file in files for line in wrong(file.read_text(encoding="utf-8"))]
    assert not places


def test_clauses_are_found():
    """The check sees docstrings wherever they are: what it would miss could break the rule."""
    text = (
        '"""What it is."""\n'
        "class A:\n"
        '    """Where: it is."""\n'
        "    def f(self):\n"
        '        """Return whether it is so."""\n'
        "        async def g():\n"
        '            """\n            Whether it is so.\n            """\n'
        "def h():\n"
        '    """ """\n'
        "def i():\n"
        "    return 'What is no docstring'\n"
    )
    assert wrong(text) == [1, 3, 7, 11]
