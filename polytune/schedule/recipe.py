"""Recipes: what the versions of a kernel are made by.

    recipe = order transform*

An *order* is a schedule that is proven legal, a *transform* a rewrite of the plan that is made of it or of its loop IR.
Both are values, declared once where they are written; all that is said of a version, its name, its rank and what people
read of it, is computed from its recipe.
"""

from __future__ import annotations

from polytune.records import dataclass


@dataclass(frozen=True, kw_only=True)
class RecipePart:
    """An order or a transform.

    Attributes:
        name: one word, in lower case.
        meaning: what people are told of versions that have it, the end of a sentence.
        is_seen: whether what is told of the regions of a version says it already.
        includes: the parts that a recipe with this one has in any case: names of versions leave them out.
        unsaid_after: the parts after which this one goes without saying: where it does anything, no version is kept
            that has those alone.
        is_of_loops: whether it is a rewrite of the loop IR.
        is_whole: whether there are versions of which it is the last part.
        promise: how much versions with it gain by staying near the processor: those with more come first.
        along_rows: whether arrays lie as the versions with it walk them.
        starts_seldom: whether regions inside serial loops are started once for many iterations of those.
        is_needed: whether a version with it alone is made however long the kernel is, as nobody is to have fewer loops
            in parallel than by hand.
        stands_alone: whether it is one piece of serial work that no transform follows.
    """

    name: str
    meaning: str
    is_seen: bool = False
    includes: tuple[RecipePart, ...] = ()
    unsaid_after: tuple[RecipePart, ...] = ()
    is_of_loops: bool = False
    is_whole: bool = True
    promise: int = 0
    along_rows: bool = False
    starts_seldom: bool = False
    is_needed: bool = False
    stands_alone: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Recipe:
    """An order, and the transforms that follow it, the first one first."""

    order: RecipePart
    transforms: tuple[RecipePart, ...] = ()

    @property
    def parts(self) -> tuple[RecipePart, ...]:
        """The order and the transforms."""
        return (self.order, *self.transforms)

    @property
    def name(self) -> str:
        """The name of a version: its parts, joined by underscores, without those that go without saying."""
        return "_".join(part.name for part in self.own_parts if not self.has(*part.unsaid_after))

    @property
    def own_parts(self) -> tuple[RecipePart, ...]:
        """The parts that no other one includes."""
        included = [part for whole in self.parts for part in whole.includes]
        return tuple(part for part in self.parts if part not in included)

    @property
    def of_plan(self) -> Recipe:
        """Return what the plan was made by: the recipe without its transforms of the loop IR."""
        return Recipe(self.order, tuple(part for part in self.transforms if not part.is_of_loops))

    @property
    def of_loops(self) -> tuple[RecipePart, ...]:
        """The transforms of the loop IR."""
        return tuple(part for part in self.transforms if part.is_of_loops)

    @property
    def is_whole(self) -> bool:
        """Return whether there are versions of it, not only of what follows from it."""
        return self.parts[-1].is_whole

    @property
    def promise(self) -> int:
        """The greatest promise of any part."""
        return max(part.promise for part in self.parts)

    @property
    def along_rows(self) -> bool:
        """Return whether arrays lie as they are walked."""
        return any(part.along_rows for part in self.parts)

    @property
    def starts_seldom(self) -> bool:
        """Return whether regions inside serial loops are started once for many iterations of those."""
        return any(part.starts_seldom for part in self.parts)

    @property
    def before_last(self) -> Recipe:
        """The recipe without its last transform."""
        return Recipe(self.order, self.transforms[:-1])

    def has(self, *parts: RecipePart) -> bool:
        """Return whether any of some parts is in it."""
        return any(part in self.parts for part in parts)

    def then(self, *transforms: RecipePart) -> Recipe:
        """The recipe with more transforms."""
        return Recipe(self.order, (*self.transforms, *transforms))

    def __str__(self) -> str:
        return " -> ".join(map(str, self.parts))
