"""Variables that hold tuples of numbers and are assigned again, in loops and branches: a variable for each item.

``p = Point(x, y)`` is ``p.x, p.y = Point(x, y)`` in which ``p.x`` is a variable, and so it is wherever it is read.
What a name is, is known when it is assigned a second time; the walk then starts again.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Hashable, Mapping, Sequence

from polytune.frontend.generated_names import generated
from polytune.frontend.lowering.frame import Frame, TupleVariableError
from polytune.frontend.lowering.meanings import (
    Meaning,
    ObjectBinding,
    ScalarBinding,
    ShapeBinding,
    TupleBinding,
    ValueBinding,
)
from polytune.frontend.syntax.source import definition_of
from polytune.records import dataclass
from polytune.syntax_trees import all_nodes, nodes_inside


@dataclass(frozen=True)
class TupleVariable:
    """The tuples that a variable holds.

    Attributes:
        size: how many numbers.
        fields: their names in a named tuple.
        kind: the class of the named tuple, where it is known.
    """

    size: int
    fields: tuple[str, ...]
    kind: type | None


Known = dict[tuple[Hashable, str], TupleVariable]
"""The variables of each function that hold tuples, and what is known of them."""


def note_variable(frame: Frame, name: str, binding: TupleBinding) -> None:
    """Note that a name holds more than one tuple, where each is of as many numbers.

    Args:
        frame: where it is assigned.
        name: the name.
        binding: what it is assigned.

    Raises:
        TupleVariableError: it was not known.
    """
    kernel = frame.kernel
    function = kernel.calls[-1]
    key = definition_of(function), name
    is_known = not binding.fields or binding.kind is not None
    is_flat = is_known and all(isinstance(item, ValueBinding | ScalarBinding) for item in binding.items)
    if key not in kernel.knowledge.tuples and is_flat and _is_plain(frame.source.tree, name):
        kernel.knowledge.tuples[key] = TupleVariable(len(binding.items), binding.fields, binding.kind)
        raise TupleVariableError


def _is_plain(tree: ast.FunctionDef, name: str) -> bool:
    """Return whether a name is only assigned tuples in lines of their own, and means nothing else in the function."""
    arguments = {each.arg for each in all_nodes(tree) if isinstance(each, ast.arg)}
    assigned = [each for each in nodes_inside(tree.body) if isinstance(each, ast.Assign)]
    places = [target for each in assigned for target in each.targets if _is_tuple(each.value)]
    stored = {id(part) for target in places for part in [target, *getattr(target, "elts", ())]}
    names = (each for each in all_nodes(tree) if isinstance(each, ast.Name) and each.id == name)
    return name not in arguments and all(isinstance(each.ctx, ast.Load) or id(each) in stored for each in names)


def _is_tuple(value: ast.expr) -> bool:
    """Return whether what is assigned may be a tuple."""
    return isinstance(value, ast.Tuple | ast.Call | ast.Name)


def with_items(
    statements: Sequence[ast.stmt], function: Hashable, known: Known, bind: Callable[[str, Meaning], None]
) -> list[ast.stmt]:
    """The statements of a function with variables for the items of the tuples that variables hold.

    Args:
        statements: the statements, which stay as they are.
        function: the definition that they are of.
        known: what is known of variables.
        bind: gives a name a meaning.
    """
    here = {name: each for (owner, name), each in known.items() if owner == function}
    if not here:
        return list(statements)
    for name, variable in here.items():
        if variable.kind is not None:
            bind(_maker(name), ObjectBinding(variable.kind))
    items = _Items(here)
    return [items.visit(copy.deepcopy(each)) for each in statements]


def _maker(name: str) -> str:
    """The name of the class of a variable's named tuples."""
    return generated(name, "class")


class _Items(ast.NodeTransformer):
    """Puts variables in place of items, and tuples of them in place of whole tuples."""

    def __init__(self, variables: Mapping[str, TupleVariable]):
        self.variables = variables

    def visit_Name(self, node: ast.Name) -> ast.expr:
        variable = self.variables.get(node.id)
        if variable is None:
            return node
        items: list[ast.expr] = [_item(node, place, node.ctx) for place in range(variable.size)]
        if isinstance(node.ctx, ast.Load) and variable.kind is not None:
            made: ast.expr = ast.Call(ast.copy_location(ast.Name(_maker(node.id), ast.Load()), node), items, [])
        else:
            made = ast.Tuple(items, node.ctx)
        made.variable = variable  # type: ignore[attr-defined]
        return ast.copy_location(made, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        variable = self.of(node.value)
        if variable is None or node.attr not in variable.fields:
            self.generic_visit(node)
            return node
        return _item(node.value, variable.fields.index(node.attr), node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        variable = self.of(node.value)
        place = _constant(node.slice)
        if variable is None or place is None or not -variable.size <= place < variable.size:
            self.generic_visit(node)
            return node
        return _item(node.value, place % variable.size, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(ast.Name("len"), [argument], []) if (variable := self.of(argument)) is not None:
                return ast.copy_location(ast.Constant(variable.size), node)
        self.generic_visit(node)
        return node

    def of(self, node: ast.expr) -> TupleVariable | None:
        return self.variables.get(node.id) if isinstance(node, ast.Name) else None


def _item(node: ast.expr, place: int, context: ast.expr_context) -> ast.Name:
    """The variable of an item of the tuple that a name holds."""
    assert isinstance(node, ast.Name)
    return ast.copy_location(ast.Name(generated(node.id, str(place)), context), node)


def _constant(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(int(place)):
            return int(place)
        case ast.UnaryOp(ast.USub(), ast.Constant(int(place))):
            return -place
    return None


def fits(target: ast.expr, meaning: Meaning) -> bool:
    """Return whether what is assigned is a tuple as the others that a variable holds, if it holds tuples."""
    variable: TupleVariable | None = getattr(target, "variable", None)
    if variable is None:
        return True
    match meaning:
        case ShapeBinding(extents):
            return not variable.fields and len(extents) == variable.size
        case TupleBinding(items, fields, kind):
            return (len(items), fields, kind) == (variable.size, variable.fields, variable.kind)
    return False
