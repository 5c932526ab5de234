"""The omissions of the language, by the kind of syntax: why, and what to write instead."""

from __future__ import annotations

import ast

from polytune.errors import UnsupportedSourceError
from polytune.frontend.syntax.source import Source

_OUTSIDE = "compute it before the kernel is called and pass it as an argument"

_EXPRESSIONS: tuple[tuple[tuple[type[ast.expr], ...], str, str, str], ...] = (
    (
        (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
        "a comprehension",
        "it makes a Python collection, which compiled code has not",
        "make an array with np.empty at the top of the kernel and fill it in a loop",
    ),
    (
        (ast.List, ast.Set, ast.Dict, ast.Tuple),
        "a list, tuple, set or dictionary",
        "compiled code works on numbers and NumPy arrays",
        "use one variable for each value, or an array; several results go into the elements of an array argument",
    ),
    ((ast.Lambda,), "a lambda", "functions are not values in compiled code", "write a function with def, and call it"),
    (
        (ast.NamedExpr,),
        "an assignment inside an expression (:=)",
        "a statement assigns after everything in it has been read",
        "assign the variable in a line of its own",
    ),
    ((ast.JoinedStr,), "a formatted string", "compiled code works on numbers", _OUTSIDE),
    ((ast.Await, ast.Yield, ast.YieldFrom), "await or yield", "a kernel runs from start to end at once", _OUTSIDE),
    ((ast.Starred,), "a starred expression", "the number of values must be seen in the source", "write each value"),
    (
        (ast.Slice,),
        "a slice",
        "work on whole rows hides the loop that is to be scheduled",
        "write the loop over the elements: for j in range(...)",
    ),
)

_STATEMENTS: tuple[tuple[tuple[type[ast.stmt], ...], str, str, str], ...] = (
    (
        (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
        "a definition inside the kernel",
        "functions and classes are not values in compiled code",
        "define it outside; calls of plain functions are inlined",
    ),
    (
        (ast.Global, ast.Nonlocal),
        "a global or nonlocal declaration",
        "a kernel writes to its array arguments only",
        "pass the variable as an array of one element",
    ),
    ((ast.Delete,), "del", "variables live as long as the kernel runs", "leave the line out"),
    (
        (ast.With, ast.AsyncWith),
        "a with block",
        "entering and leaving run Python code, which cannot be scheduled",
        "put the block around the call of the kernel",
    ),
    (
        (ast.Try, ast.TryStar),
        "a try statement",
        "compiled code raises no exceptions that could be caught: what fails gives NaN, or ends the kernel",
        "check the arguments at the top of the kernel, before anything but assignments of variables, or before it is "
        "called",
    ),
    (
        (ast.Import, ast.ImportFrom),
        "an import inside the kernel",
        "of modules other than math, cmath, random and numpy it may run any Python code",
        "import it outside",
    ),
    ((ast.Match,), "a match statement", "it is not compiled", "use if, elif and else"),
    ((ast.AsyncFor,), "an async for", "a kernel runs from start to end at once", "use a plain for over range"),
)


def counted(number: int, noun: str) -> str:
    """A number of things, with the noun in singular or plural: ``1 subscript``, ``2 subscripts``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def refuse_expression(source: Source, node: ast.expr) -> UnsupportedSourceError:
    """The error for an expression outside the language."""
    for kinds, what, reason, remedy in _EXPRESSIONS:
        if isinstance(node, kinds):
            return source.refusal(node, what, reason, remedy)
    return source.refusal(node, f"{type(node).__name__} in an expression", "it is not compiled", _OUTSIDE)


def refuse_statement(source: Source, node: ast.stmt) -> UnsupportedSourceError:
    """The error for a statement outside the language."""
    for kinds, what, reason, remedy in _STATEMENTS:
        if isinstance(node, kinds):
            return source.refusal(node, what, reason, remedy)
    return source.refusal(node, f"the statement {type(node).__name__}", "it is not compiled", _OUTSIDE)
