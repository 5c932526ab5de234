"""Functions that only compute a number, as expressions: variables stand for values, branches for choices."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from polytune.frontend import promotion
from polytune.frontend.array_expressions.sizes import supposing
from polytune.frontend.lowering.frame import Frame, assigned_names
from polytune.frontend.lowering.meanings import Meaning, ObjectBinding, ValueBinding
from polytune.frontend.lowering.names import outside_object
from polytune.frontend.promotion import Value, negation
from polytune.frontend.scalars.numbers import condition, read
from polytune.frontend.scalars.objects import known_object
from polytune.frontend.scalars.operators import combined, operator_symbol
from polytune.frontend.scalars.tuples import inlined_call
from polytune.syntax_trees import all_nodes


def is_expression(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements only compute a value: assignments to names, branches, and a return at every end."""
    for statement in body:
        match statement:
            case ast.Return(value) if _is_number(value):
                return True
            case ast.Expr(ast.Constant()) | ast.Pass():
                continue
            case ast.Assign([ast.Name()]) | ast.AnnAssign(ast.Name()) | ast.AugAssign(ast.Name()):
                continue
            case ast.If(_, then, otherwise):
                if not (_is_pure(then) and _is_pure(otherwise)):
                    return False
                if is_expression(then) and is_expression(otherwise):
                    return True
            case _:
                return False
    return False


def assigns_before_reading(body: Sequence[ast.stmt], given: Collection[str]) -> bool:
    """Return whether pure statements read no name of theirs where some way may not have assigned it.

    Args:
        body: statements of which ``is_expression`` holds.
        given: the names that have a value before.
    """
    return _assigned(body, frozenset(given), assigned_names(body).keys()) is not None


def _assigned(body: Sequence[ast.stmt], known: frozenset[str], own: Collection[str]) -> frozenset[str] | None:
    """The names that have a value after statements, all of them where these return; None where one is read that may
    have none.

    Args:
        body: the statements.
        known: the names that have a value before.
        own: the names that the function assigns anywhere.
    """
    for statement in body:
        looked_at = statement.test if isinstance(statement, ast.If) else statement
        names = [node for node in all_nodes(looked_at) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load) or isinstance(statement, ast.AugAssign)}
        if (read & set(own)) - known:
            return None
        if isinstance(statement, ast.If):
            then, otherwise = (_assigned(side, known, own) for side in (statement.body, statement.orelse))
            if then is None or otherwise is None:
                return None
            known = then & otherwise
        elif isinstance(statement, ast.Return):
            return frozenset(own) | known
        else:
            known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return known


def _is_number(value: ast.expr | None) -> bool:
    """Return whether what is returned may be a number."""
    return value is not None and not isinstance(value, ast.Tuple | ast.List)


def _is_pure(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements only assign names, branch and return."""
    for statement in body:
        match statement:
            case ast.Return(value) if _is_number(value):
                pass
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Assign([ast.Name()]) | ast.AnnAssign(ast.Name()) | ast.AugAssign(ast.Name()):
                pass
            case ast.If(_, then, otherwise) if _is_pure(then) and _is_pure(otherwise):
                pass
            case _:
                return False
    return True


def evaluate(frame: Frame, body: Sequence[ast.stmt]) -> Value | None:
    """The value that pure statements return, or None where they end without; assignments change the bindings."""
    for position, statement in enumerate(body):
        match statement:
            case ast.Return(value) if value is not None:
                return read(frame, value)
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value) if value is not None:
                frame.bindings[name] = _object(frame, value) or _given(frame, value) or ValueBinding(read(frame, value))
            case ast.AugAssign(ast.Name(name) as target, operator, value):
                old = read(frame, ast.copy_location(ast.Name(name, ast.Load()), target))
                symbol = operator_symbol(frame, statement, operator)
                frame.bindings[name] = ValueBinding(combined(frame, statement, symbol, old, read(frame, value)))
            case ast.If(test, then, otherwise):
                chosen = condition(frame, test)
                rest = body[position + 1 :]
                if chosen.constant is not None:
                    return evaluate(frame, [*(then if chosen.constant else otherwise), *rest])
                if _returns([*then, *otherwise]):
                    return _choose(frame, chosen, [*then, *rest], [*otherwise, *rest])
                _assign_choices(frame, chosen, then, otherwise)
    return None


def _object(frame: Frame, value: ast.expr) -> ObjectBinding | None:
    """None, a text, or the type of a number; None for any other expression."""
    known = known_object(frame, value)
    if known is not None:
        return ObjectBinding(known.value)
    kind = outside_object(frame, value) if isinstance(value, ast.Call) else None
    return ObjectBinding(kind) if isinstance(kind, type) else None


def _given(frame: Frame, value: ast.expr) -> Meaning | None:
    """Return what a call of a function of the user's gives, as a tuple; None for any other expression."""
    return inlined_call(frame, value) if isinstance(value, ast.Call) else None


def _returns(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for statement in body for node in all_nodes(statement))


def _branches(frame: Frame, chosen: Value) -> tuple[Frame, Frame]:
    """Return where a condition holds, and where it does not, each with its own copy of the bindings."""
    return supposing(frame, chosen).inside(), supposing(frame, negation(chosen)).inside()


def _choose(frame: Frame, chosen: Value, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> Value | None:
    """A branch that returns: a choice between what both ways return."""
    where, elsewhere = _branches(frame, chosen)
    left, right = evaluate(where, then), evaluate(elsewhere, otherwise)
    return None if left is None or right is None else promotion.select(chosen, left, right)


def _assign_choices(frame: Frame, chosen: Value, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
    """Evaluate a branch that only assigns: names become choices, without a value where a side leaves them so."""
    left, right = _branches(frame, chosen)
    evaluate(left, then)
    evaluate(right, otherwise)
    for name in assigned_names([*then, *otherwise]):
        sides = left.bindings.get(name), right.bindings.get(name)
        if isinstance(sides[0], ValueBinding) and isinstance(sides[1], ValueBinding):
            frame.bindings[name] = ValueBinding(promotion.select(chosen, sides[0].value, sides[1].value))
        else:
            frame.bindings.pop(name, None)
