"""The nodes of syntax trees, and copies of trees, against what Python's own functions give."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from polytune.syntax_trees import all_nodes, copied, nodes_inside
from tests.frontend import accepted, interpreter
from tests.package_syntax import statements

MODULES = [accepted, interpreter, inspect, ast]


def of(module: Any) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def is_no_context(node: ast.AST) -> bool:
    return not isinstance(node, ast.expr_context)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_all_nodes_are_those_of_python_but_for_contexts(module: Any) -> None:
    tree = of(module)
    assert all_nodes(tree) == [node for node in ast.walk(tree) if is_no_context(node)]


def in_source_order(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return [node]
    return [
        node,
        *(each for child in ast.iter_child_nodes(node) if is_no_context(child) for each in in_source_order(child)),
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_nodes_inside_leave_out_what_is_defined_there(module: Any) -> None:
    blocks = [[of(module)], *(node.body for node in statements(of(module)) if isinstance(node, ast.FunctionDef))]
    for block in blocks:
        assert nodes_inside(block) == [each for node in block for each in in_source_order(node)]


def test_python_s_patterns_and_types_are_looked_into() -> None:
    tree = ast.parse("match x:\n case {'a': [b, *_], **c} | P(d=-1.5) as e if (f := 3): y: int = f'{x!r:{f}}'")
    assert all_nodes(tree) == [node for node in ast.walk(tree) if is_no_context(node)]


@pytest.mark.parametrize("copy_of", [copied, copy.deepcopy])
def test_copies_share_nothing_that_may_be_changed(copy_of: Callable[[Any], Any]) -> None:
    tree = of(accepted)
    twin = copy_of(tree.body)
    assert [ast.dump(each, include_attributes=True) for each in twin] == [
        ast.dump(each, include_attributes=True) for each in tree.body
    ]
    own = {id(node) for each in tree.body for node in ast.walk(each) if isinstance(node, ast.stmt | ast.expr)}
    assert not own & {id(node) for each in twin for node in ast.walk(each)}


def test_marks_and_nodes_at_two_places_stay_so() -> None:
    name = ast.Name("x", ast.Load())
    pair = ast.Tuple([name, name], ast.Load())
    pair.mark = mark = object()  # type: ignore[attr-defined]
    pair.instead = [name]  # type: ignore[attr-defined]
    twin = copied(pair)
    assert twin.elts[0] is twin.elts[1] is twin.instead[0] is not name  # type: ignore[attr-defined]
    assert twin.mark is mark  # type: ignore[attr-defined]
    first, second = copied((name, pair))
    assert second.elts[0] is first is not name  # type: ignore[attr-defined]
