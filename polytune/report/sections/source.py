"""The kernel's source, with what was found of each loop in its margin, and which loops each version shares out among
workers.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path

import islpy as isl

from polytune.frontend.generated_names import is_generated, plain, without_marks
from polytune.frontend.scop import ReportedLoop
from polytune.pipeline import Stages
from polytune.report.facts import Subject
from polytune.report.markup import Markup, element, folded, joined, listed
from polytune.report.section import Section
from polytune.schedule.analysis.loop_report import LoopReport, obstacle_text, report_loops
from polytune.schedule.recipe import Recipe
from polytune.schedule.regions import Plan, Region, RegionKind

__all__ = ["sharing_of"]

_LISTED = 3  # versions that are named where a loop is shared out in more

_HOW = {RegionKind.PARALLEL: "in tiles", RegionKind.WAVEFRONT: "along diagonals of tiles"}


def _render(subject: Subject) -> Markup | None:
    stages, source = subject.stages, subject.source
    reports = report_loops(stages.dependences)
    sharing = sharing_of(stages)
    notes: dict[int, list[LoopReport]] = {}
    elsewhere: list[LoopReport] = []
    lines = range(source.first, source.first + len(source.lines))
    for report in reports:
        place = report.loop.location
        is_here = place.file == source.file and place.line in lines
        (notes.setdefault(place.line, []) if is_here else elsewhere).append(report)
    versions = len(stages.programs)

    def note(report: LoopReport, *, is_placed: bool) -> Markup:
        return _note(report, sharing[report.loop], subject, versions, is_placed=is_placed)

    shown = []
    for number, text in zip(lines, _highlighted(source.lines), strict=True):
        about = notes.get(number, [])
        kind = "" if not about else "parallel" if all(report.parallel for report in about) else "serial"
        shown.append(
            element(
                "li",
                element("span", number, class_="place"),
                element("pre", element("code", text)),
                element("div", *(note(report, is_placed=False) for report in about), class_=f"note {kind}".strip()),
                class_="noted" if about else None,
            )
        )
    parts = [
        element(
            "p",
            f"{Path(source.file).name}. Beside each loop: whether its iterations are independent, what stands in the "
            "way if they are not, and the versions that share it out among threads.",
            class_="muted",
        ),
        element("ol", *shown, class_="listing"),
    ]
    if elsewhere:
        parts.append(element("h3", "Loops of functions that it calls"))
        parts.append(listed(note(report, is_placed=True) for report in elsewhere))
    parts += [element("p", without_marks(sentence)) for sentence in stages.dependences.approximations]
    return joined(parts)


def _note(report: LoopReport, sharing: Sharing, subject: Subject, versions: int, *, is_placed: bool) -> Markup:
    """Return what was found of a loop, in words."""
    loop = report.loop
    where = f"{loop.location}: " if is_placed else ""
    head = element("p", where, _name(loop), element("strong", _verdict(report)), _copies(report))
    reasons = dict.fromkeys(obstacle_text(each, subject.stages.scop) for each in report.obstacles)
    parts = [head, *(element("p", without_marks(reason)) for reason in reasons)]
    for kind, names in sharing.items():
        parts.append(element("p", f"shared out {_HOW[kind]}: ", _versions(names, subject.best_versions, versions)))
    return joined(parts)


def _name(loop: ReportedLoop) -> str:
    variable = plain(loop.variable) if is_generated(loop.variable) else loop.variable
    return f"{variable}: "


def _verdict(report: LoopReport) -> str:
    if report.parallel is None:
        return "not known to be parallel"
    return "parallel" if report.parallel else "not parallel"


def _copies(report: LoopReport) -> str:
    if report.parallel is None:
        return ", as isl gave up on its dependences"
    private = ", ".join(plain(name) for name in report.private)
    return f", with a copy of {private} for each thread" if report.parallel and private else ""


def _versions(names: Sequence[str], best: Sequence[str], all_versions: int) -> Markup:
    """The versions, the best ones first; many are folded."""
    ordered = sorted(names, key=lambda name: name not in best)
    marked = [
        joined([element("code", name), " (the best)"]) if name in best else element("code", name) for name in ordered
    ]
    if len(marked) <= _LISTED:
        return joined(marked, ", ")
    first, rest = (marked[:1], marked[1:]) if ordered[0] in best else ([], marked)
    summary = f"{'and ' if first else ''}{len(rest)}{' more' if first else ''} of {all_versions} versions"
    return joined([*first, folded(summary, joined(rest, ", "))])


def _highlighted(lines: Sequence[str]) -> list[Markup]:
    """The lines, with keywords, comments and texts marked; as they are where Python cannot read them on their own."""
    indentation = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    lines = [line[indentation:] for line in lines]
    marks: dict[int, list[tuple[int, int, str]]] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            kind = _kind(token)
            for line in range(token.start[0], token.end[0] + 1) if kind else ():
                start = token.start[1] if line == token.start[0] else 0
                stop = token.end[1] if line == token.end[0] else len(lines[line - 1])
                marks.setdefault(line, []).append((start, stop, kind))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        marks = {}
    found = []
    for number, text in enumerate(lines, 1):
        parts: list[object] = []
        end = 0
        for start, stop, kind in marks.get(number, []):
            parts += [text[end:start], element("span", text[start:stop], class_=kind)]
            end = stop
        found.append(joined([*parts, text[end:]]))
    return found


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "comment"
    if token.type == tokenize.STRING:
        return "string"
    return "keyword" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else ""


SECTION = Section("source", "Source", 20, _render)


Sharing = Mapping[RegionKind, tuple[str, ...]]
"""The versions that share out a loop's iterations in a way, in parallel or along diagonals, by that way."""


def sharing_of(stages: Stages) -> dict[ReportedLoop, Sharing]:
    """The versions in which the iterations of each loop of the source are shared out.

    A version does so where the loop's variable is in a member of a band that workers share; the variables of a
    rewritten kernel are not those of the source, and nothing is said of them.
    """
    versions: dict[Recipe, list[str]] = {}
    for program in stages.programs:
        versions.setdefault(program.recipe.of_plan, []).append(program.name)
    found: dict[ReportedLoop, dict[RegionKind, tuple[str, ...]]] = {loop: {} for loop in stages.scop.loops}
    for plan in stages.plans:
        names = tuple(versions.get(plan.recipe, ()))
        for loop, kinds in found.items():
            for kind in _kinds(plan, loop):
                kinds[kind] = tuple(dict.fromkeys((*kinds.get(kind, ()), *names)))
    return {loop: {kind: each for kind, each in kinds.items() if each} for loop, kinds in found.items()}


def _kinds(plan: Plan, loop: ReportedLoop) -> list[RegionKind]:
    return [region.kind for region in plan.regions if region.kind is not RegionKind.SERIAL and _shares(region, loop)]


def _shares(region: Region, loop: ReportedLoop) -> bool:
    if region.band is None:
        return False
    for member in range(region.shared):
        parts: list[isl.PwAff] = []
        region.band.get_union_pw_aff(member).foreach_pw_aff(parts.append)
        for part in parts:
            domain = part.domain()
            if domain.get_tuple_name() not in loop.statements or domain.dim(isl.dim_type.set) <= loop.depth:
                continue
            # The conditions under which the expression holds are those of the domain: they share nothing out.
            if part.gist(domain).involves_dims(isl.dim_type.in_, loop.depth, 1):
                return True
    return False
