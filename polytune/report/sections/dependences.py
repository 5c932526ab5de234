"""The dependences of the kernel, in words: which line waits for which, and over how many iterations of their loops."""

from __future__ import annotations

from functools import partial

import islpy as isl

from polytune.frontend.generated_names import plain
from polytune.frontend.polyhedral.budget import ARRAY_BUDGET, within_budget
from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass
from polytune.report.facts import Subject
from polytune.report.markup import Markup, element, folded, joined, table
from polytune.report.section import Section
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.unions import maps_of

__all__ = ["dependences_in_words"]

_SHOWN = 12  # rows


def _render(subject: Subject) -> Markup | None:
    found = dependences_in_words(subject.stages.dependences)
    if not found:
        return element("p", "No iteration needs anything of another one: nothing has to keep its order.")
    words = element(
        "p",
        "Which line has to wait for which. The distance says in which iteration of the loops around both the line is "
        "that waits: ",
        element("code", "i+1"),
        " is the one in which ",
        element("code", "i"),
        " is greater by 1; loops that are not named are in the same iteration. Every order of execution below "
        "respects what binds, which is proven before code is made of it.",
        class_="muted",
    )
    if len(found) <= _SHOWN + 3:
        return joined([words, _table(found)])
    rest = found[_SHOWN:]
    return joined([words, _table(found[:_SHOWN]), folded(f"{len(rest)} more", _table(rest))])


def _table(rows: tuple[DependenceInWords, ...]) -> Markup:
    cells = [
        (
            element("code", each.array),
            each.sentence,
            element("code", each.distance),
            each.binds,
        )
        for each in rows
    ]
    return table(("Array", "Dependence", "Distance", "Binds"), cells)


SECTION = Section("dependences", "Dependences", 30, _render)


_READS = "reads what line {} computed"
_OVERWRITES = "overwrites what line {} used"
_AGAIN = "updates what line {} updated"
_UPDATES = "unless sums are reassociated"
_COPIES = "unless each thread has a copy"


@dataclass(frozen=True)
class DependenceInWords:
    """The dependences between two lines over one array.

    Attributes:
        array: its name.
        sentence: which line waits, and for which other one.
        distance: over how many iterations, loop by loop.
        binds: when it binds: always, or unless something undoes it.
    """

    array: str
    sentence: str
    distance: str
    binds: str


def dependences_in_words(dependences: Dependences) -> tuple[DependenceInWords, ...]:
    """All dependences, array by array: those of values first, then those that only reuse the place."""
    scop = dependences.scop
    reports = {array.name for array in scop.arrays if array.role is ArrayRole.REPORT}
    found: dict[DependenceInWords, None] = {}
    for array in dependences.flow:
        if array in reports:
            continue
        for relations, verb in (
            (dependences.flow, _READS),
            (dependences.order, _OVERWRITES),
        ):
            is_copied = relations is dependences.order and array in dependences.privatisable
            for relation in maps_of(relations[array]) if array in relations else ():
                updates, others = _apart(relation, dependences)
                for part in updates:
                    found[_in_words(part, scop, array, _AGAIN, "always" if scop.strict else _UPDATES)] = None
                for part in others:
                    found[_in_words(part, scop, array, verb, _COPIES if is_copied else "always")] = None
    return tuple(found)


def _apart(relation: isl.Map, dependences: Dependences) -> tuple[list[isl.Map], list[isl.Map]]:
    """The dependences among updates that may come in any order, and the others; all are others where isl gives up."""

    def parts() -> tuple[list[isl.Map], list[isl.Map]]:
        whole = isl.UnionMap.from_map(relation)
        updates, others = whole.intersect(dependences.reductions), whole.subtract(dependences.reductions)
        return _not_empty(updates), _not_empty(others)

    return within_budget(relation.get_ctx(), 2 * ARRAY_BUDGET, parts) or ([], [relation])


def _not_empty(relations: isl.UnionMap) -> list[isl.Map]:
    return [each for each in maps_of(relations) if not each.is_empty()]


def _in_words(relation: isl.Map, scop: Scop, array: str, verb: str, binds: str) -> DependenceInWords:
    source = scop.statement(relation.get_tuple_name(isl.dim_type.in_))
    sink = scop.statement(relation.get_tuple_name(isl.dim_type.out))
    loops = [loop for loop in scop.loops if {source.name, sink.name} <= set(loop.statements)]
    names = [plain(loop.variable) for loop in sorted(loops, key=lambda loop: loop.depth)]
    if not names:
        distance = "once"
    else:
        ranges = within_budget(relation.get_ctx(), 2 * ARRAY_BUDGET, partial(_ranges, relation, len(names)))
        distance = "not known" if ranges is None else _distance(names, ranges)
    sentence = f"line {sink.location.line} {verb.format(source.location.line)}"
    return DependenceInWords(plain(array), sentence, distance, binds)


Range = tuple[int | None, int | None]


def _ranges(relation: isl.Map, depth: int) -> list[Range]:
    """The least and the greatest distance in each of the first loops; None where there is no bound."""
    for side in (isl.dim_type.in_, isl.dim_type.out):
        relation = relation.project_out(side, depth, relation.dim(side) - depth).set_tuple_name(side, "common")
    deltas = relation.deltas()
    return [(_number(deltas.dim_min_val(k)), _number(deltas.dim_max_val(k))) for k in range(depth)]


def _number(value: isl.Val) -> int | None:
    return int(value.to_python()) if value.is_int() else None


def _distance(names: list[str], ranges: list[Range]) -> str:
    """The distances loop by loop, without the loops that both are in the same iteration of."""
    parts = []
    for name, (low, high) in zip(names, ranges, strict=True):
        if (low, high) == (0, 0):
            continue
        if low is None and high is None:
            parts.append(f"any {name}")
        elif low is not None and high is not None:
            ends = dict.fromkeys((_moved(name, low), _moved(name, high)))
            parts.append(" to ".join(ends))
        elif low is not None:
            parts.append(f"{_moved(name, low)} or more")
        elif high is not None:
            parts.append(f"{_moved(name, high)} or less")
    return ", ".join(parts) or "the same iteration"


def _moved(name: str, distance: int) -> str:
    """A loop variable plus a distance."""
    return f"{name}{distance:+d}" if distance else name
