"""``match`` on numbers as branches, in the syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from polytune.frontend.syntax.comprehensions import placed, replaced

Test = tuple[list[ast.expr], dict[str, ast.expr]]
"""The conditions under which a pattern matches, and what the names in it then mean."""


def branches(node: ast.Match, fresh: Callable[[str], str]) -> list[ast.stmt] | None:
    """The branches that a ``match`` stands for, and assignments of its subjects before them; None where a pattern is
    neither of numbers and names nor a tuple of such.

    Args:
        node: the statement.
        fresh: gives a name that the function does not have, like the one given.
    """
    before: list[ast.stmt] = []
    given = node.subject.elts if isinstance(node.subject, ast.Tuple) else [node.subject]
    if any(isinstance(each, ast.Starred) for each in given):
        return None
    subjects: list[ast.expr] = []
    for each in given:
        if not isinstance(each, ast.Name | ast.Constant):
            name = fresh("subject")
            before.append(placed(ast.Assign([ast.Name(name, ast.Store())], each), each))
            each = placed(ast.Name(name, ast.Load()), each)
        subjects.append(each)
    rest: list[ast.stmt] = []
    for case in reversed(node.cases):
        found = (
            _tuple(case.pattern, subjects) if isinstance(node.subject, ast.Tuple) else _test(case.pattern, *subjects)
        )
        if found is None:
            return None
        tests, names = found
        if case.guard is not None:
            tests = [*tests, replaced(case.guard, names)]
        bound: list[ast.stmt] = [
            placed(ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(value)), case.pattern)
            for name, value in names.items()
        ]
        body = [*bound, *case.body]
        if not tests:
            rest = body
            continue
        test = tests[0] if len(tests) == 1 else placed(ast.BoolOp(ast.And(), tests), case.pattern)
        rest = [ast.copy_location(ast.If(test, body, rest), case.pattern)]
    return [*before, *rest]


def _tuple(pattern: ast.pattern, subjects: Sequence[ast.expr]) -> Test | None:
    """Return when a pattern matches a tuple of subjects."""
    match pattern:
        case ast.MatchAs(None, None):
            return [], {}
        case ast.MatchSequence(patterns) if not any(isinstance(each, ast.MatchStar) for each in patterns):
            if len(patterns) != len(subjects):
                return [placed(ast.Constant(False), pattern)], {}
            return _all([_test(inner, each) for inner, each in zip(patterns, subjects, strict=True)])
        case ast.MatchOr(patterns):
            return _any(pattern, [_tuple(inner, subjects) for inner in patterns])
    return None


def _test(pattern: ast.pattern, subject: ast.expr) -> Test | None:
    """Return when a pattern matches a number."""
    match pattern:
        case ast.MatchValue(value):
            return [placed(ast.Compare(copy.deepcopy(subject), [ast.Eq()], [value]), pattern)], {}
        case ast.MatchAs(None, None):
            return [], {}
        case ast.MatchAs(inner, str(name)):
            found: Test | None = ([], {}) if inner is None else _test(inner, subject)
            return None if found is None else (found[0], {**found[1], name: subject})
        case ast.MatchOr(patterns):
            return _any(pattern, [_test(inner, subject) for inner in patterns])
    return None


def _all(found: Sequence[Test | None]) -> Test | None:
    tests: list[ast.expr] = []
    names: dict[str, ast.expr] = {}
    for each in found:
        if each is None:
            return None
        tests += each[0]
        names |= each[1]
    return tests, names


def _any(pattern: ast.pattern, found: Sequence[Test | None]) -> Test | None:
    sides: list[ast.expr] = []
    for each in found:
        if each is None or each[1]:
            return None
        tests = each[0] or [placed(ast.Constant(True), pattern)]
        sides.append(tests[0] if len(tests) == 1 else placed(ast.BoolOp(ast.And(), tests), pattern))
    return [placed(ast.BoolOp(ast.Or(), sides), pattern)], {}
