"""Versions of kernels that are broken on purpose, one node of the loop IR at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from polytune.codegen.loops import Block, For, If, Let, Node, Program, RegionCode, walk_nodes
from polytune.frontend.expression import Binary, Constant

TRAP = Let("trap", Binary("//", Constant(1, "int64"), Constant(0, "int64"), "int64"))
"""Fails where it is executed: so it is known what is."""

Change = Callable[[Node], Node]


def nodes_of(program: Program, kind: type | tuple[type, ...]) -> int:
    """How many nodes of a kind the regions of a version have."""
    return sum(isinstance(node, kind) for region in program.regions for node in walk_nodes(region.body))


def broken_nodes(program: Program, kind: type | tuple[type, ...], change: Change) -> Iterator[Program]:
    """The version with its first node of a kind changed, with its second one, and so on."""
    for number in range(nodes_of(program, kind)):
        yield broken_node(program, kind, change, number)


def broken_node(program: Program, kind: type | tuple[type, ...], change: Change, number: int) -> Program:
    """The version with the node of a kind changed that has a number, counted from zero."""
    rest = [number]

    def visit(node: Node) -> Node:
        if isinstance(node, kind):
            if rest[0] == 0:
                rest[0] -= 1
                return change(node)
            rest[0] -= 1
        match node:
            case Block(children):
                return replace(node, children=tuple(map(visit, children)))
            case For(body=body):
                return replace(node, body=visit(body))
            case If(then=then, otherwise=otherwise):
                return replace(node, then=visit(then), otherwise=None if otherwise is None else visit(otherwise))
        return node

    return replace(program, regions=tuple(replace(region, body=visit(region.body)) for region in program.regions))


def with_region(program: Program, number: int, region: RegionCode) -> Program:
    """The version with another region in the place of one."""
    return replace(program, regions=(*program.regions[:number], region, *program.regions[number + 1 :]))


def dropped(node: Node) -> Node:
    """Nothing in place of a node."""
    return Block(())


def doubled(node: Node) -> Node:
    """A node executed twice."""
    return Block((node, node))


def swapped(node: Node) -> Node:
    """A block with its first two nodes exchanged."""
    assert isinstance(node, Block)
    first, second, *others = node.children
    return Block((second, first, *others))


def shortened(node: Node) -> Node:
    """A loop without its last iteration, if it goes by steps of one."""
    assert isinstance(node, For)
    return replace(node, stop=Binary("-", node.stop, Constant(1, "int64"), "int64"))


def begun_late(node: Node) -> Node:
    """A loop without its first iteration."""
    assert isinstance(node, For)
    return replace(node, start=Binary("+", node.start, Constant(node.step, "int64"), "int64"))
