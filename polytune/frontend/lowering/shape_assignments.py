"""Assignments of shapes, ``A.shape = n, m``: the name means the array in another shape from there on.

An assignment of a shape changes the array itself, and so what all of its names mean, the caller's among them.
``A = A.reshape((n, m))`` has the same effect where the array was made in the function, and has no other name.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection

from polytune.errors import UnsupportedSourceError
from polytune.frontend.array_expressions.assigning import names_of
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ArrayBinding
from polytune.frontend.lowering.names import lookup
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.comprehensions import placed
from polytune.frontend.syntax.source import arguments_of
from polytune.syntax_trees import all_nodes


def assigned_shapes(targets: Collection[ast.expr], local: Collection[str]) -> list[str]:
    """The names of arrays whose shapes are what is assigned to; none where a target is anything else.

    Args:
        targets: what is assigned to.
        local: the names that the function assigns.
    """
    names = [
        target.value.id
        for target in targets
        if isinstance(target, ast.Attribute) and target.attr == "shape" and isinstance(target.value, ast.Name)
    ]
    return names if len(names) == len(targets) and all(name in local for name in names) else []


def reshapes(node: ast.Assign, names: Collection[str], fresh: Callable[[str], str]) -> list[ast.stmt]:
    """The statements that an assignment of a shape stands for, one for each array, in their order.

    Args:
        node: the assignment.
        names: the names of the arrays.
        fresh: gives a name that the function does not have, like the one given.
    """
    before: list[ast.stmt] = []
    shape = node.value
    if len(names) > 1 and any(isinstance(part, ast.Name) and part.id in names for part in all_nodes(shape)):
        name = fresh("shape")  # which is read before any of the arrays has another one
        before.append(placed(ast.Assign([ast.Name(name, ast.Store())], shape), node))
        shape = ast.Name(name, ast.Load())
    return [*before, *(_reshape(node, name, copy.deepcopy(shape)) for name in names)]


def _reshape(node: ast.Assign, name: str, shape: ast.expr) -> ast.stmt:
    """``name = name.reshape(shape)``, marked as an assignment of a shape."""
    method = ast.Attribute(ast.Name(name, ast.Load()), "reshape", ast.Load())
    made = placed(ast.Assign([ast.Name(name, ast.Store())], ast.Call(method, [shape], [])), node)
    made.is_of_shape = True  # type: ignore[attr-defined]
    return made


def require_own_shape(frame: Frame, node: ast.Assign) -> None:
    """See to it that the array of which an assignment changes the shape has no other name.

    Args:
        frame: where it stands.
        node: any assignment.

    Raises:
        UnsupportedSourceError: it may have one.
    """
    if not getattr(node, "is_of_shape", False):
        return
    target = node.targets[0]
    assert isinstance(target, ast.Name)
    binding = lookup(frame, target)
    arguments = {argument.arg for argument in arguments_of(frame.source.tree)}
    if (
        isinstance(binding, ArrayBinding)
        and frame.kernel.arrays[binding.array].role is ArrayRole.LOCAL
        and target.id not in arguments
        and names_of(frame, binding.array) == {target.id}
    ):
        return
    raise refused_shape(frame, node, target.id)


def refused_shape(frame: Frame, node: ast.AST, name: str) -> UnsupportedSourceError:
    """The error for an assignment of the shape of an array that others see.

    Args:
        frame: where it stands.
        node: the assignment, or its target.
        name: what the array is called.
    """
    return frame.source.refusal(
        node,
        f"the shape of {name} is assigned, which is not made in this function, or has another name",
        "all names of the array have the new shape then, also those of the caller and of parts of it",
        f"give the array in the other shape a name: y = {name}.reshape(...)",
    )
