"""Smaller programs with the same failure, by delta debugging on Python's syntax tree."""

from __future__ import annotations

import ast
import copy
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.samples import Sample

_ARRAY = re.compile(r"\bnp\.(\w*(?:int|float)\d+)\b")


def minimised(sample: Sample, fails: Callable[[Sample], bool], seconds: float) -> Sample:
    """The smallest program found that still fails.

    Args:
        sample: one that fails.
        fails: whether a program fails in the same way.
        seconds: when to stop, on the clock.
    """
    end = time.monotonic() + seconds
    tried: set[Sample] = {sample}
    while True:
        for smaller in _smaller(sample):
            if time.monotonic() > end:
                return sample
            if smaller not in tried:
                tried.add(smaller)
                if fails(smaller):
                    sample = smaller
                    break
        else:
            return sample


def _smaller(sample: Sample) -> Iterator[Sample]:
    """Programs one step smaller, those first that leave out most."""
    for text in _smaller_sources(sample.source):
        yield _without_unused(replace(sample, source=text))
    for position, (name, text) in enumerate(sample.setup):
        for simpler in _simpler_arguments(text):
            setup = (*sample.setup[:position], (name, simpler), *sample.setup[position + 1 :])
            yield replace(sample, setup=setup)
    if sample.tolerance:
        yield replace(sample, tolerance=0.0, strict=True)


def _smaller_sources(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    edits = [*_statement_edits(tree), *_expression_edits(tree)]
    for edit in edits:
        changed = copy.deepcopy(tree)
        places = list(ast.walk(changed))
        edit(places)
        try:
            yield ast.unparse(ast.fix_missing_locations(changed)) + "\n"
        except (ValueError, AttributeError, TypeError):
            continue


_Edit = Callable[[list[ast.AST]], None]


def _statement_edits(tree: ast.AST) -> Iterator[_Edit]:
    """Statements left out, several at once first, and loops and conditions replaced by what is in them."""
    for number, node in enumerate(ast.walk(tree)):
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if not isinstance(body, list) or not body:
                continue
            length = len(body)
            size = length
            while size:
                for first in range(0, length, size):
                    # What is left empty has to go as a whole, but for the kernel and the other side of a condition.
                    if size < length or field == "orelse":
                        yield _leave_out(number, field, first, size)
                size //= 2
            for position, child in enumerate(body):
                if isinstance(child, ast.For | ast.While | ast.If) and isinstance(node, ast.stmt):
                    yield _unwrap(number, field, position, "body")
                    if child.orelse:
                        yield _unwrap(number, field, position, "orelse")
                if isinstance(child, ast.AugAssign):
                    yield _plain_assignment(number, field, position)


def _leave_out(number: int, field: str, first: int, size: int) -> _Edit:
    def edit(places: list[ast.AST]) -> None:
        body = getattr(places[number], field)
        del body[first : first + size]

    return edit


def _unwrap(number: int, field: str, position: int, side: str) -> _Edit:
    """A compound statement replaced by one side of it; a loop's variable becomes its first value."""

    def edit(places: list[ast.AST]) -> None:
        body = getattr(places[number], field)
        child = body[position]
        inside = getattr(child, side)
        if isinstance(child, ast.For) and isinstance(child.iter, ast.Call) and isinstance(child.target, ast.Name):
            bounds = child.iter.args
            first = bounds[0] if len(bounds) > 1 else ast.Constant(0)
            rename = _Replace(child.target.id, first)
            inside = [rename.visit(statement) for statement in inside]
        body[position : position + 1] = inside

    return edit


def _plain_assignment(number: int, field: str, position: int) -> _Edit:
    def edit(places: list[ast.AST]) -> None:
        body = getattr(places[number], field)
        child = body[position]
        body[position] = ast.Assign([child.target], child.value)

    return edit


class _Replace(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr):
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.value) if node.id == self.name and isinstance(node.ctx, ast.Load) else node


def _expression_edits(tree: ast.AST) -> Iterator[_Edit]:
    """Expressions replaced by a part of them, or by a constant."""
    for number, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            if field in ("targets", "target", "func", "ctx", "args") and not isinstance(node, ast.Call):
                if field == "targets" and isinstance(value[0], ast.Tuple):
                    for side in range(len(value[0].elts)):
                        yield _one_of_pair(number, side)
                continue
            values = value if isinstance(value, list) else [value]
            for position, child in enumerate(values):
                if not isinstance(child, ast.expr) or (isinstance(node, ast.Call) and field == "func"):
                    continue
                where = position if isinstance(value, list) else None
                if _is_range(node) and len(values) == 3 and position == 2:
                    yield _fewer_bounds(number)
                for part in _parts(child):
                    if not (isinstance(node, ast.Subscript) and field == "value"):
                        yield _replaced(number, field, where, part)


def _is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _parts(expression: ast.expr) -> Iterator[ast.expr]:
    """Simpler expressions in the place of one."""
    match expression:
        case ast.BinOp(left, _, right):
            yield left
            yield right
        case ast.UnaryOp(_, operand) if not isinstance(operand, ast.Constant):
            yield operand
        case ast.BoolOp(_, values):
            yield from values
        case ast.IfExp(_, body, orelse):
            yield body
            yield orelse
        case ast.Call(ast.Name("range"), _, _):
            return
        case ast.Call(_, arguments, _):
            yield from arguments
        case ast.Compare(left, [first, _], [middle, _]):
            yield ast.Compare(left, [first], [middle])
    if isinstance(expression, ast.BinOp | ast.Call | ast.IfExp | ast.Subscript) and not _is_range(expression):
        yield ast.Constant(1.0)
        yield ast.Constant(0)
    elif isinstance(expression, ast.Constant) and isinstance(expression.value, int) and expression.value > 1:
        yield ast.Constant(expression.value // 2)
        yield ast.Constant(expression.value - 1)
    elif isinstance(expression, ast.Name) and expression.id not in ("np", "math"):
        yield ast.Constant(0)


def _replaced(number: int, field: str, position: int | None, part: ast.expr) -> _Edit:
    part = copy.deepcopy(part)

    def edit(places: list[ast.AST]) -> None:
        if position is None:
            setattr(places[number], field, copy.deepcopy(part))
        else:
            getattr(places[number], field)[position] = copy.deepcopy(part)

    return edit


def _fewer_bounds(number: int) -> _Edit:
    def edit(places: list[ast.AST]) -> None:
        places[number].args.pop()  # type: ignore[attr-defined]

    return edit


def _one_of_pair(number: int, side: int) -> _Edit:
    def edit(places: list[ast.AST]) -> None:
        node = places[number]
        assert isinstance(node, ast.Assign)
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            node.targets, node.value = [node.targets[0].elts[side]], node.value.elts[side]

    return edit


def _simpler_arguments(text: str) -> Iterator[str]:
    """Simpler numbers, and arrays without a view."""
    if re.fullmatch(r"\d+", text):
        for smaller in {0, 1, 2, int(text) // 2, int(text) - 1}:
            if 0 <= smaller < int(text):
                yield str(smaller)
        return
    if text.startswith("np.int") and text.endswith(")"):
        yield text[text.index("(") + 1 : -1]
        return
    dtypes = _ARRAY.findall(text)
    if "random" in text and dtypes:
        import numpy as np

        shape = eval(text, {"np": np}).shape
        yield f"np.ones({shape}, np.{dtypes[-1]})"
        yield f"np.arange(1, {int(np.prod(shape)) + 1}).reshape({shape}).astype(np.{dtypes[-1]})"


def _without_unused(sample: Sample) -> Sample:
    """Without arguments that nothing uses, and functions that nothing calls."""
    try:
        tree = ast.parse(sample.source)
    except SyntaxError:
        return sample
    kernel = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "kernel"), None)
    if kernel is None:
        return sample
    used = {node.id for statement in kernel.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    tree.body = [
        node
        for node in tree.body
        if node is kernel
        or (isinstance(node, ast.FunctionDef) and node.name in used)
        or (
            isinstance(node, ast.Assign)
            and any(name in sample.source.split("def kernel")[0] for name in ("FACTOR",))
            and _calls(tree, used)
        )
    ]
    call = ast.parse(f"f({sample.call})", mode="eval").body
    assert isinstance(call, ast.Call)
    parameters = [argument.arg for argument in kernel.args.args]
    given = dict(zip(parameters, call.args, strict=False)) | {str(each.arg): each.value for each in call.keywords}
    defaults = dict(zip(reversed(parameters), reversed(kernel.args.defaults), strict=False))
    kept = [name for name in parameters if name in used]
    kernel.args.args = [argument for argument in kernel.args.args if argument.arg in kept]
    kernel.args.defaults = [defaults[name] for name in kept if name in defaults]
    texts = [
        f"{name}={ast.unparse(given[name])}" if name in defaults else ast.unparse(given[name])
        for name in kept
        if name in given
    ]
    passed = {
        node.id
        for text in texts
        for node in ast.walk(ast.parse(text.partition("=")[2] or text))
        if isinstance(node, ast.Name)
    }
    setup: list[tuple[str, str]] = []
    for name, text in reversed(sample.setup):
        if name in passed:
            setup.insert(0, (name, text))
            passed |= {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return replace(sample, source=ast.unparse(tree) + "\n", setup=tuple(setup), call=", ".join(texts))


def _calls(tree: ast.Module, used: set[str]) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name in used for node in tree.body)
