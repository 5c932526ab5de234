"""The variables that share a name: the webs of its definitions, each of which gets a name of its own.

A *web* is a largest set of definitions of a name that uses have in common (Muchnick, Advanced Compiler Design and
Implementation, 16.3.3).  Two webs have nothing to do with each other: in ``k = n // 2; A[k] = 1; k = 0.5; B[0] = k`` an
integer and a float.  One variable for both would hold floats, and Python's integer is none.

More definitions are taken to reach a use than do where that is simpler: all those in a loop that has a ``break`` or a
``continue`` reach its beginning and its end.  So webs are at most too large, which is sound: one variable for two webs
is what there was before.
"""

from __future__ import annotations

import ast
import copy
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from polytune.frontend.generated_names import MARK, generated
from polytune.syntax_trees import all_nodes, nodes_inside

__all__ = ["has_webs", "name_in_source", "with_webs"]

_WEB = "web"

_Definition = int | str
"""The node that defines a name, by its identity; the name itself for its value when the function begins."""

_State = dict[str, frozenset[_Definition]]
"""The definitions of each name that may have been the last one; those that are missing have their first value."""


def has_webs(tree: ast.FunctionDef, name: str) -> bool:
    """Return whether a name stands for several variables.

    Args:
        tree: a function.
        name: the name.
    """
    return len(_Webs(tree.body, {name}, _parameters(tree)).of(name)) > 1


def with_webs(tree: ast.FunctionDef, statements: Sequence[ast.stmt], names: Collection[str]) -> list[ast.stmt]:
    """The statements of a function with a variable for each web of some names.

    The web of an argument's value, or else the first one, keeps the name.

    Args:
        tree: the function.
        statements: what its body has become, which stays as it is.
        names: the names.
    """
    if not names:
        return list(statements)
    own = [_copied(each) for each in statements]
    webs = _Webs(own, names, _parameters(tree))
    for name in names:
        for number, web in enumerate(webs.of(name)[1:], start=1):
            for node in web:
                node.id = generated(name, _WEB, str(number))
    return own


def _parameters(tree: ast.FunctionDef) -> set[str]:
    return {node.arg for node in all_nodes(tree.args) if isinstance(node, ast.arg)}


def name_in_source(name: str) -> str:
    """The name that a variable has in the source: that of its web, or its own."""
    parts = name.split(MARK)
    return parts[1] if len(parts) == 4 and parts[2] == _WEB else name


def _copied(node: ast.stmt) -> ast.stmt:
    """A copy in which no node stands at two places, as one may in a tree that was rewritten."""

    def copied(value: object) -> object:
        if isinstance(value, list):
            return [copied(each) for each in value]
        if not isinstance(value, ast.AST):
            return value
        made = copy.copy(value)
        for field, part in ast.iter_fields(value):
            setattr(made, field, copied(part))
        return made

    made = copied(node)
    assert isinstance(made, ast.stmt)
    return made


class _Webs:
    """A walk over the statements of a function that unites the definitions which reach a use.

    Args:
        statements: of a function.
        names: the names of which webs are looked for; those that other scopes may read or define have one only.
        parameters: those that have a value when the function begins.
    """

    def __init__(self, statements: Sequence[ast.stmt], names: Collection[str], parameters: Collection[str]):
        self._names, self._parameters = set(names) - _shared(statements), parameters
        self._mentions: dict[str, list[ast.Name]] = defaultdict(list)
        self._reaching: dict[int, _Definition] = {}
        self._united: dict[_Definition, _Definition] = {}
        self._is_trial = False
        self._block(statements, {})

    def of(self, name: str) -> list[list[ast.Name]]:
        """The mentions of a name by its webs: first those of the value that it begins with, if they read it."""
        if name not in self._names:
            return []
        found: dict[_Definition, list[ast.Name]] = defaultdict(list)
        for node in self._mentions[name]:
            found[self._root(self._reaching[id(node)])].append(node)
        first = self._root(name)
        is_assigned = name in self._parameters or any(isinstance(node.ctx, ast.Store) for node in found.get(first, ()))
        if first in found and not is_assigned:
            # Where it has no value yet Python raises an error, as long as it is assigned anywhere.
            return [self._mentions[name]]
        return [found[root] for root in sorted(found, key=lambda root: root != first)]

    def _root(self, definition: _Definition) -> _Definition:
        while (following := self._united.get(definition, definition)) != definition:
            definition = following
        return definition

    def _unite(self, first: _Definition, second: _Definition) -> None:
        one, other = self._root(first), self._root(second)
        if one != other:
            self._united[one] = other

    def _block(self, statements: Iterable[ast.stmt], state: _State) -> _State:
        """Walk over statements; return what reaches their end.

        Args:
            statements: the statements.
            state: what reaches their beginning.
        """
        for each in statements:
            state = self._statement(each, state)
        return state

    def _statement(self, node: ast.stmt, state: _State) -> _State:
        match node:
            case ast.Assign(targets, value):
                return self._assigned(targets, self._read(value, state))
            case ast.AnnAssign(target, _, value):
                return self._assigned([target], self._read(value, state)) if value is not None else state
            case ast.AugAssign(ast.Name() as target, _, value):
                before = self._read(value, state)
                after = self._assigned([target], before)
                for definition in () if self._is_trial else before.get(target.id, {target.id}):
                    self._unite(id(target), definition)
                return after
            case ast.If(test, body, orelse):
                state = self._read(test, state)
                return _joined(self._block(body, state), self._block(orelse, state))
            case ast.For(target, iterable, body, orelse):
                state = self._read(iterable, state)
                around = self._around([target], body, state)
                self._block(body, self._assigned([target], around))
                return self._block(orelse, around)
            case ast.While(test, body, orelse):
                around = self._around([], body, state)
                self._block(body, self._read(test, around))
                return self._block(orelse, around)
            case ast.With(items, body):
                for item in items:
                    targets = [] if item.optional_vars is None else [item.optional_vars]
                    state = self._assigned(targets, self._read(item.context_expr, state))
                return self._block(body, state)
        # What other statements define may have been defined before each of their parts.
        return self._read(node, _with(state, _defined([node])))

    def _around(self, targets: list[ast.expr], body: list[ast.stmt], state: _State) -> _State:
        """The definitions that reach the beginning of each iteration of a loop, and its end.

        Args:
            targets: what the loop assigns in each.
            body: its statements.
            state: what reaches the loop.
        """
        if any(isinstance(node, ast.Break | ast.Continue) for node in nodes_inside(body)):
            return _with(state, _defined([*targets, *body]))
        is_trial, self._is_trial = self._is_trial, True
        # What an iteration defines last does not depend on what reaches it.
        after = self._block(body, self._assigned(targets, state))
        self._is_trial = is_trial
        return _joined(state, after)

    def _assigned(self, targets: Iterable[ast.expr], state: _State) -> _State:
        """Assign to targets from left to right, as Python does; return what is known after that."""
        for target in targets:
            for node in _names_in(target):
                if isinstance(node.ctx, ast.Store):
                    if node.id in self._names and not self._is_trial:
                        self._mentions[node.id].append(node)
                        self._reaching[id(node)] = id(node)
                    state = {**state, node.id: frozenset({id(node)})}
                else:
                    self._use(node, state)
        return state

    def _read(self, expression: ast.AST, state: _State) -> _State:
        for node in _names_in(expression):
            self._use(node, state)
        return state

    def _use(self, node: ast.Name, state: _State) -> None:
        if node.id in self._names and not self._is_trial:
            definitions = list(state.get(node.id, {node.id}))
            for each in definitions[1:]:
                self._unite(definitions[0], each)
            self._mentions[node.id].append(node)
            self._reaching[id(node)] = definitions[0]


def _names_in(tree: ast.AST) -> list[ast.Name]:
    """The names in a tree, in the order in which Python comes to them."""
    return (
        [tree]
        if isinstance(tree, ast.Name)
        else [each for part in ast.iter_child_nodes(tree) for each in _names_in(part)]
    )


def _defined(trees: Iterable[ast.AST]) -> dict[str, frozenset[_Definition]]:
    """All definitions in some trees, by the names that have any."""
    found: dict[str, set[_Definition]] = defaultdict(set)
    for node in (node for tree in trees for node in _names_in(tree)):
        if not isinstance(node.ctx, ast.Load):
            found[node.id].add(id(node))
    return {name: frozenset(definitions) for name, definitions in found.items()}


def _with(state: _State, definitions: Mapping[str, frozenset[_Definition]]) -> _State:
    """The last definitions there may have been, where some others may have been, too."""
    return {**state, **{name: state.get(name, frozenset({name})) | found for name, found in definitions.items()}}


def _joined(first: _State, second: _State) -> _State:
    """The last definitions there may have been where one or the other was reached."""
    return {
        name: first.get(name, frozenset({name})) | second.get(name, frozenset({name})) for name in {**first, **second}
    }


def _shared(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that functions and comprehensions inside have to do with, and those that are deleted, declared, or
    assigned in an expression or a pattern."""
    found: set[str] = set()
    for node in (node for each in statements for node in all_nodes(each)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                found |= {each.id for each in all_nodes(node) if isinstance(each, ast.Name)}
                found |= {node.name} if not isinstance(node, ast.Lambda) else set()
            case ast.comprehension(target) | ast.NamedExpr(target):
                found |= {each.id for each in _names_in(target)}
            case ast.Delete() | ast.Match() | ast.Try():
                found |= {each.id for each in _names_in(node)}
            case ast.Global(names) | ast.Nonlocal(names):
                found |= set(names)
    return found
