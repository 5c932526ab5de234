"""Lists that grow, in the syntax tree: as arrays that have room for their elements, and variables that count these.

``out = []``, ``out.append(x)`` and ``out[-1]`` become ``count = 0``, ``items[count] = x`` with ``count += 1``, and an
element of ``items[:count]``.  A list of tuples has an array for each of their places.  What reads the tree further on
finds ordinary statements, some of which are marked: what an array holds, and how long it is, is only known when the
function has been walked (``growing.py``).

A list is left as it is, and refused later, where anything else is done with it: where it has another name, is passed
on, or is an operand.  One that is made at once, ``[0.0] * n``, is first made by a loop that appends
(``list_displays.py``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from polytune.frontend.syntax.comprehensions import Meaning, placed
from polytune.frontend.syntax.list_copies import with_copies_as_loops
from polytune.frontend.syntax.list_displays import made_by_loops, with_displays_as_loops
from polytune.frontend.syntax.list_uses import ListRewriter, UnsupportedUseError
from polytune.frontend.syntax.lists import GrowingList, initial_elements
from polytune.syntax_trees import all_nodes, copied

__all__ = ["with_lists_as_arrays"]

_METHODS = ("append", "extend", "pop", "clear", "reverse")


def with_lists_as_arrays(
    body: Sequence[ast.stmt], arguments: Iterable[str], meaning: Meaning, fresh: Callable[[str], str]
) -> list[ast.stmt]:
    """The statements of a function with arrays in place of lists that grow.

    Args:
        body: the statements, which stay as they are.
        arguments: the names that have a value before.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
    """
    statements, arguments = list(body), list(arguments)
    names, known = _lists(statements, meaning), 0
    while len(names) > known:  # what a list is copied to may be one that is known by nothing else
        known = len(names)
        own = [name for name in names if name not in arguments]
        statements = with_copies_as_loops(statements, own, meaning, fresh)
        names = _lists(statements, meaning)
    if names:
        split = _Splitter(names)
        statements = [made for each in statements for made in split.several(each)]
    for name in names:
        if name not in arguments:
            statements = _without_list(statements, name, meaning, fresh) or statements
    return _with_named_results(statements, meaning, fresh)


def _without_list(
    body: list[ast.stmt], name: str, meaning: Meaning, fresh: Callable[[str], str]
) -> list[ast.stmt] | None:
    """The statements with arrays in place of one list; None where arrays do not do all that is done with it."""
    statements = _with_new_name_later(with_displays_as_loops(body, name, meaning, fresh), name, meaning, fresh)
    elements = _elements(statements, name, meaning)
    if elements is None:
        return None
    size, kind = elements
    arrays = tuple(fresh(f"{name}_items") for _ in range(size))
    growing = GrowingList(arrays, fresh(f"{name}_count"), kind)
    try:
        changed = ListRewriter(name, growing, meaning, fresh).block(copied(statements))
    except UnsupportedUseError:
        return None
    made = placed(ast.Pass(), statements[0])
    made.lists_made = growing  # type: ignore[attr-defined]
    statements = [made, *changed]
    if kind == "number":  # it is what messages speak of
        _rename(statements, arrays[0], name)
        made.lists_made = replace(growing, items=(name,))  # type: ignore[attr-defined]
    return statements


def _with_named_results(body: list[ast.stmt], meaning: Meaning, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """The statements with arrays in place of lists that are returned where they are made, ``return [0.0] * n``."""
    statements = body
    for node in [each for statement in body for each in all_nodes(statement)]:
        if isinstance(node, ast.Return) and node.value is not None and made_by_loops(node.value, meaning):
            name = fresh("result")
            named = _ResultNamer(node, name)
            changed = [made for each in statements for made in named.several(each)]
            statements = _without_list(changed, name, meaning, fresh) or statements
    return statements


class _ResultNamer(ast.NodeTransformer):
    """Gives a name to what one ``return`` returns."""

    def __init__(self, node: ast.Return, name: str):
        self.place, self.name = (node.lineno, node.col_offset), name

    def several(self, node: ast.stmt) -> list[ast.stmt]:
        made = self.visit(copied(node))
        return made if isinstance(made, list) else [made]

    def visit_Return(self, node: ast.Return) -> list[ast.stmt] | ast.stmt:
        if (node.lineno, node.col_offset) != self.place or node.value is None:
            return node
        made = ast.Assign([ast.Name(self.name, ast.Store())], node.value)
        return [placed(made, node), placed(ast.Return(ast.Name(self.name, ast.Load())), node)]


def _lists(body: Sequence[ast.stmt], meaning: Meaning) -> list[str]:
    """The names of what may be lists that grow, in the order of the source."""
    found = []
    for statement in body:
        for node in all_nodes(statement):
            match node:
                case ast.Call(ast.Attribute(ast.Name(name), method)) if method in _METHODS:
                    found.append(name)
                case ast.Assign([ast.Name(name)], value) if made_by_loops(value, meaning):
                    found.append(name)
    return list(dict.fromkeys(found))


class _Splitter(ast.NodeTransformer):
    """Makes several assignments of ``above, below = [], []``."""

    def __init__(self, names: Sequence[str]):
        self.names = names

    def several(self, node: ast.stmt) -> list[ast.stmt]:
        is_concerned = any(isinstance(each, ast.Assign) and self.is_several(each) for each in all_nodes(node))
        made = self.visit(copied(node)) if is_concerned else node
        return made if isinstance(made, list) else [made]

    def is_several(self, node: ast.Assign) -> bool:
        match node:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                names = [each.id for each in targets if isinstance(each, ast.Name)]
                read = {part.id for value in values for part in all_nodes(value) if isinstance(part, ast.Name)}
                is_plain = not read & set(names)  # so that one may come after the other
                return is_plain and len(names) == len(targets) and any(name in self.names for name in names)
        return False

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.Assign]:
        if not self.is_several(node):
            return node
        (target,), value = node.targets, node.value
        assert isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        pairs = zip(target.elts, value.elts, strict=True)
        return [ast.copy_location(ast.Assign([name], element), node) for name, element in pairs]


def _with_new_name_later(
    body: list[ast.stmt], name: str, meaning: Meaning, fresh: Callable[[str], str]
) -> list[ast.stmt]:
    """The statements with another name for what a list's name means at last, as after ``out = np.array(out)``."""
    for place, statement in enumerate(body):
        match statement:
            case ast.Assign([ast.Name(target)], value) if target == name and initial_elements(value, meaning) is None:
                if not any(_makes_list(part, name, meaning) for each in body[:place] for part in all_nodes(each)):
                    return body  # it is no list to begin with
                later = fresh(f"{name}_array")
                changed = copied(statement)
                assert isinstance(changed.targets[0], ast.Name)
                changed.targets[0].id = later
                rest = copied(body[place + 1 :])
                _rename(rest, name, later)
                return [*body[:place], changed, *rest]
    return body


def _makes_list(node: ast.AST, name: str, meaning: Meaning) -> bool:
    """Return whether a statement assigns a list to a name."""
    match node:
        case ast.Assign([ast.Name(target)], value):
            return target == name and initial_elements(value, meaning) is not None
    return False


def _rename(body: Sequence[ast.stmt], name: str, other: str) -> None:
    for node in (part for each in body for part in all_nodes(each)):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = other


def _elements(body: Sequence[ast.stmt], name: str, meaning: Meaning) -> tuple[int, str] | None:
    """The number of numbers in an element of a list, and what it is; None where elements differ, or there are none."""
    elements: list[ast.expr] = []
    is_made = False
    for node in (part for statement in body for part in all_nodes(statement)):
        match node:
            case ast.Assign([ast.Name(target)], value) | ast.AnnAssign(ast.Name(target), _, ast.expr() as value) if (
                target == name
            ):
                initial = initial_elements(value, meaning)
                if initial is None:
                    return None
                is_made = True
                elements += initial
            case ast.Call(ast.Attribute(ast.Name(owner), "append"), [element], []) if owner == name:
                elements.append(element)
            case ast.Call(ast.Attribute(ast.Name(owner), "extend"), [ast.List(several) | ast.Tuple(several)], []) if (
                owner == name
            ):
                elements += several
    kinds = {
        (len(each.elts), type(each).__name__.lower()) if isinstance(each, ast.Tuple | ast.List) else (1, "number")
        for each in elements
    }
    return kinds.pop() if is_made and len(kinds) == 1 and (0, "list") not in kinds else None
