"""The loop IR: what isl's AST becomes, what transforms rewrite, and what every backend prints.

The grammar, in ASDL style:

    program    = Program(recipe, skeleton, regions, team, tiles, part, outer, shares)
    region     = RegionCode(index, kind, shared, ..., body, outer, members, windows, private, local, ...)

    skeleton   = Block(skeleton*)
               | For(variable, index, index, step, skeleton, ending?)
               | If(condition, skeleton, skeleton?)
               | RegionCall(region, index*)            -- a region, for these values of the loops around it

    node       = Block(node*)                          -- one after another; no Block right below a Block
               | For(variable, index, index, step, node, ending?)
                                                       -- start <= variable < stop, step > 0
               | If(condition, node, node?)
               | Compute(statement, operation*, location, index*)
                                                       -- operations of a statement, its iterators replaced
               | Let(name, value)                      -- a variable of the generated code
               | Store(element, value, mask?, apart?)  -- a vector, or a scalar, to memory
               | Prefetch(element)                     -- brings what is near an element, which need not exist, into
                                                          the first cache

    index      = expression                            -- of type int64; a loop variable is an Iterator in it
    condition  = expression                            -- of type bool
    value      = expression | vector
    expression, operation, element                     -- of ``polytune.frontend.expression``
    vector, apart                                      -- of ``polytune.codegen.vectors.expressions``

``skeleton`` is what every worker of a team runs, ``node`` the body of a region.  What the grammar does not say, as that
variables are defined before they are used, is in ``polytune.codegen.verify``, which holds programs to both;
``polytune.codegen.loop_text`` prints them for people.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from collections.abc import Iterator as Iteration
from dataclasses import replace
from typing import assert_never

from polytune.codegen.vectors.expressions import VECTOR, Apart, VectorExpression
from polytune.errors import SourceLocation
from polytune.frontend.expression import (
    MATRIX_PRODUCT,
    Compare,
    Constant,
    Element,
    Expression,
    LibraryCall,
    Logical,
    Operation,
    walk,
)
from polytune.records import dataclass
from polytune.schedule.recipe import Recipe
from polytune.schedule.regions import RegionTraits

LARGEST_TILE = 4096
"""The greatest size of a tile along one member."""

MOST_INNER_TILES = 64
"""The most tiles that an outer tile has along one member."""


@dataclass(frozen=True)
class Block:
    children: tuple[Node, ...]


@dataclass(frozen=True)
class EndTest:
    """The test at the beginning of an iteration whether an earlier one has ended the loop.

    Attributes:
        flag: the scalar that says which one has, from 1; 0 where none has.
        number: how many iterations of the source's loop come before this one, an expression of the loop's variable.
    """

    flag: Element
    number: Expression

    @property
    def condition(self) -> Expression:
        """Return what is true where the loop has ended."""
        zero = Constant(0, "int64")
        return Logical("and", (Compare("!=", self.flag, zero), Compare("<=", self.flag, self.number)))


@dataclass(frozen=True)
class For:
    variable: str
    start: Expression
    stop: Expression
    step: int
    body: Node
    ending: EndTest | None = None


@dataclass(frozen=True)
class If:
    condition: Expression
    then: Node
    otherwise: Node | None = None


@dataclass(frozen=True)
class Compute:
    """An instance of a statement; ``instance`` gives its coordinates, the values of the statement's iterators.

    No code is printed for the coordinates: they say what is executed, so that it can be held against the source.
    """

    statement: str
    operations: tuple[Operation, ...]
    location: SourceLocation
    instance: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Let:
    name: str
    value: VectorExpression


@dataclass(frozen=True)
class Store:
    element: Element
    value: VectorExpression
    mask: str | None = None
    apart: Apart | None = None

    @property
    def is_vector(self) -> bool:
        """Return whether several elements are stored, the given one first: neighbours in memory, or along an axis."""
        return self.value.dtype == VECTOR


@dataclass(frozen=True)
class Prefetch:
    """A hint: what lies where an element is, or would be if the array went on there, is used soon."""

    element: Element


@dataclass(frozen=True)
class RegionCall:
    region: int
    prefix: tuple[Expression, ...]


Node = Block | For | If | Compute | Let | Store | Prefetch | RegionCall


def block(*children: Node) -> Node:
    """A block, flattened; a single child stands for itself."""
    flat = [part for child in children for part in (child.children if isinstance(child, Block) else (child,))]
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def map_nodes(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with each node right below it changed; the one visitor, which all rewrites are made of."""
    match node:
        case Block(children):
            return block(*map(change, children))
        case For(body=body):
            return replace(node, body=change(body))
        case If(then=then, otherwise=otherwise):
            return replace(node, then=change(then), otherwise=None if otherwise is None else change(otherwise))
        case Compute() | Let() | Store() | Prefetch() | RegionCall():
            return node
        case _:
            assert_never(node)


def nodes_below(node: Node) -> tuple[Node, ...]:
    """The nodes right below a node, in order."""
    match node:
        case Block(children):
            return children
        case For(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case Compute() | Let() | Store() | Prefetch() | RegionCall():
            return ()
        case _:
            assert_never(node)


def walk_nodes(node: Node) -> Iteration[Node]:
    """The node and every node below it, in order."""
    yield node
    for child in nodes_below(node):
        yield from walk_nodes(child)


def children_of(body: Node) -> tuple[Node, ...]:
    """The nodes of a loop's body, in order."""
    return body.children if isinstance(body, Block) else (body,)


def is_innermost(loop: For) -> bool:
    """Return whether there are no loops in a loop."""
    return not any(isinstance(part, For) for part in walk_nodes(loop.body))


def perfect_nest(node: Node, band: Set[str]) -> list[For]:
    """The loops of a perfect nest that are all of a band, by steps of one, if it ends in an innermost loop; else
    nothing.

    Args:
        node: where it begins.
        band: the variables of the band's loops.
    """
    loops: list[For] = []
    while isinstance(node, For) and node.variable in band and node.step == 1:
        loops.append(node)
        node = node.body
    return loops if loops and is_innermost(loops[-1]) else []


@dataclass(frozen=True)
class TiledMember:
    """The range of one member of a tiled band, or of the elements of an array: ``lower <= member < upper``, expressions
    of parameters and outer loops."""

    lower: Expression
    upper: Expression


@dataclass(frozen=True)
class Buffer:
    """Memory of a worker for copies: an array of two dimensions with the extents of a tile along two members of the
    band."""

    name: str
    dtype: str
    members: tuple[int, int]


@dataclass(frozen=True)
class PrivateSum:
    """An array, or a scalar, of which every worker has a copy to add up in, the operator (``+`` or an extremum),
    and the elements that are added to: ``lower <= a < upper``, expressions of parameters and outer loops; None for a
    scalar."""

    array: str
    operator: str
    elements: TiledMember | None


@dataclass(frozen=True)
class Strip:
    """Memory of a worker in place of an array, for the points that are computed side by side: what they alone use of
    it, with the points next to one another.  ``shape`` has expressions of parameters."""

    name: str
    dtype: str
    shape: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class RegionCode(RegionTraits):
    """The code of one region, with loop variables for members, depths and time.

    Private arrays of an ``expansion`` have, in ``body``, a first subscript more: which of the copies is meant, one for
    each value of a member of the band in the tile.

    Attributes:
        outer: names of the loop variables around the region.
        members: the ranges of the tiled members; empty for serial work.
        windows: per tiled member, the names of the tile's lower (included) and upper (excluded) bound in ``body``.
        body: the work of one tile, or all of a serial region.
        private: arrays of which each worker has a copy; ``local``: scalars that are variables of ``body``.
        independent: variables of loops inside the tiled ones that carry no dependence, as far as that is known.
        buffers: memory that each worker has for copies of what a tile reads.
        sums: the arrays that each worker adds up in a copy of, which begins with zeros and is added to them at the end.
        nested: names of the loop variables of the band, and of loops inside that are of one permutable band with it.
        strips: memory that each worker has in place of some of the resident arrays.
        descends: whether workers go through their tiles from the last to the first.
        unrolling: the variable of a loop of which consecutive iterations may run statement by statement, each of whose
            instances in them then carry no dependence, and how many at most; None where there is no such one.
    """

    body: Node
    outer: tuple[str, ...] = ()
    members: tuple[TiledMember, ...] = ()
    windows: tuple[tuple[str, str], ...] = ()
    private: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()
    independent: frozenset[str] = frozenset()
    buffers: tuple[Buffer, ...] = ()
    sums: tuple[PrivateSum, ...] = ()
    nested: frozenset[str] = frozenset()
    strips: tuple[Strip, ...] = ()
    descends: bool = False
    unrolling: tuple[str, int] | None = None

    @property
    def copies(self) -> frozenset[str]:
        """The arrays of which the code uses copies of the worker's in memory."""
        return (self.private - self.local if self.kind != "serial" else frozenset()) | self.summed

    @property
    def summed(self) -> frozenset[str]:
        """The arrays that workers add up in copies of their own."""
        return frozenset(each.array for each in self.sums)

    @property
    def expanded(self) -> frozenset[str]:
        """The arrays of which there are so many copies as a tile has values of a member."""
        return frozenset() if self.expansion is None else self.expansion.arrays


@dataclass(frozen=True)
class Program:
    """One version of a kernel in the loop IR.

    ``tiles`` gives per tiled member, over all regions, the tile size to start from, that of the region that does most
    of the work.
    ``skeleton`` is what every worker of the team runs: loops, conditions and region calls.  Without ``team`` it is a
    single call of the only region.  ``part`` names the integers that say which part of a region to run, for a program
    that is one region of another.
    ``outer`` gives, where tiles lie in outer tiles, per tiled member how many of them an outer tile has to start from;
    it is empty where there is one level of tiles.  ``shares`` names the version whose function runs this one too, with
    other sizes; it has a function of its own where that is empty.
    """

    recipe: Recipe
    skeleton: Node
    regions: tuple[RegionCode, ...]
    team: bool
    tiles: tuple[int, ...]
    part: tuple[str, ...] = ()
    outer: tuple[int, ...] = ()
    shares: str = ""

    @property
    def name(self) -> str:
        """The name of the version: its recipe's."""
        return self.recipe.name

    @property
    def function(self) -> str:
        """The version whose function runs it."""
        return self.shares or self.name

    @property
    def has_sums(self) -> bool:
        """Return whether workers have copies to add up in."""
        return any(region.sums for region in self.regions)

    @property
    def has_products(self) -> bool:
        """Return whether products of matrices in it are calls of NumPy's library."""
        nodes = (node for region in self.regions for node in walk_nodes(region.body) if isinstance(node, Compute))
        operations = (operation for node in nodes for operation in node.operations)
        return any(isinstance(each, LibraryCall) and each.function == MATRIX_PRODUCT for each in operations)

    @property
    def has_vectors(self) -> bool:
        """Return whether anything in it is computed in vectors."""
        return any(_has_vectors(region.body) for region in self.regions)

    @property
    def has_vectors_apart(self) -> bool:
        """Return whether lanes of some vectors do not lie next to one another in memory."""
        nodes = (node for region in self.regions for node in walk_nodes(region.body))
        values = (part for node in nodes if isinstance(node, Let | Store) for part in walk(node))
        return any(isinstance(part, Apart) for part in values)

    @property
    def has_other_tiles(self) -> bool:
        """Return whether some tiles of a region are computed in vectors, and others are not."""
        bodies = [region.body for region in self.regions]
        choices = [body for body in bodies if isinstance(body, If) and body.otherwise is not None]
        return any(_has_vectors(body.then) and not _has_vectors(body.otherwise) for body in choices if body.otherwise)

    @property
    def flags(self) -> frozenset[str]:
        """Return the flags that say of loops in it whether they have ended."""
        roots = (self.skeleton, *(region.body for region in self.regions))
        loops = (node for root in roots for node in walk_nodes(root) if isinstance(node, For))
        return frozenset(loop.ending.flag.array for loop in loops if loop.ending is not None)

    @property
    def tile_depth(self) -> int:
        """The number of tile sizes."""
        return len(self.tiles)


def _has_vectors(node: Node) -> bool:
    return any(isinstance(part, Let | Store) for part in walk_nodes(node))
