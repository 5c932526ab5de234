"""Explanations, for people, of what a kernel's compiler found and its tuners have learned."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

import islpy as isl

from polytune.codegen.loops import Program
from polytune.frontend.scop import Scop
from polytune.pipeline import Stages
from polytune.records import dataclass
from polytune.runtime.calls.invocation import Outcome
from polytune.runtime.devices.discovery import devices
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.partitioned.space import VERSION
from polytune.runtime.tuning.learned import explain_tuner
from polytune.runtime.tuning.tunable import Case
from polytune.schedule.analysis.loop_report import LoopReport, obstacle_text, report_loops
from polytune.schedule.analysis.loops_in_statements import loops_in_statements
from polytune.schedule.regions import Plan, Region, RegionKind
from polytune.signature import Signature
from polytune.tuner import Configuration, Nominal, OnlineTuner, Space


class Explained(Protocol):
    """The parts of a kernel that are explained, as `polytune.Kernel` has it."""

    __name__: str

    @property
    def tuners(self) -> Mapping[Case, OnlineTuner]: ...

    @property
    def shared(self) -> Mapping[Case, tuple[Configuration, Outcome]]: ...

    def untried(self) -> list[str]: ...

    def stages(self, signature: Signature | None = None) -> Stages: ...

    def space_of(self, signature: Signature) -> Space: ...


def explain(kernel: Explained) -> str:
    """The loops of the source, the versions made of them, and per problem size what tuning has found, cost and
    saved."""
    tuners, shared = kernel.tuners, kernel.shared
    cases = list(dict.fromkeys([*tuners, *shared]))
    signatures = list(dict.fromkeys(case.signature for case in cases)) or [kernel.stages().signature]
    parts = []
    for signature in signatures:
        stages = kernel.stages(signature)
        flags = f", fastmath: {' '.join(sorted(stages.fastmath))}" if stages.fastmath else ""
        parts.append(f"{kernel.__name__}({signature}){flags}")
        parts.append(explain_loops(stages))
        parts.append(explain_versions(stages))
        if any(case.signature == signature for case in cases):
            parts += _shared_version(kernel.space_of(signature), stages)
        names = [parameter.name for parameter in stages.scop.parameters]
        parts += [
            explain_tuner(names, case, tuners.get(case), shared.get(case))
            for case in cases
            if case.signature == signature
        ]
    return "\n".join([*parts, *kernel.untried()])


def _shared_version(space: Space, stages: Stages) -> list[str]:
    """The version that is shared with devices, where there are any, or why it is missing."""
    if not space["version"].accepts(VERSION):
        is_left_out = devices() and stages.partitioned is None
        return [f"  {stages.reason_for_processor_only}"] if is_left_out else []
    platforms = space["platform_0"]
    assert isinstance(platforms, Nominal)
    others = [str(platform) for platform in platforms.values if platform != CPU]
    return [f"  {VERSION}: shared by the CPU and {', '.join(others)}"]


def explain_loops(stages: Stages) -> str:
    """Say of each loop of the source whether its iterations are independent, and what stands in the way if not."""
    loops = [(report.loop.location, _loop_lines(report, stages.scop)) for report in report_loops(stages.dependences)]
    for each in loops_in_statements(stages.scop):
        loops.append((each.location, [f"  {each.location}: {'  ' * each.depth}{each.text}: {each.how}"]))
    loops.sort(key=lambda loop: (loop[0].file, loop[0].line))
    lines = ["loops of the source:", *(line for _, own in loops for line in own)]
    lines += [f"  {approximation}" for approximation in stages.dependences.approximations]
    return "\n".join(lines)


def _loop_lines(report: LoopReport, scop: Scop) -> list[str]:
    loop = report.loop
    is_while = loop.location.text[loop.location.column :].startswith("while")
    head = f"  {loop.location}: {'  ' * loop.depth}{'while' if is_while else f'for {loop.variable}'}: "
    if report.parallel:
        copies = f", with a copy per worker of {', '.join(report.private)}" if report.private else ""
        return [head + f"parallel{copies}"]
    if report.parallel is None:
        return [head + "not known to be parallel, as isl gave up on its dependences"]
    lines = [head + "not parallel"]
    texts = dict.fromkeys(obstacle_text(obstacle, scop) for obstacle in report.obstacles)
    return [*lines, *(f"      {text}" for text in texts)]


@dataclass(frozen=True)
class VersionDescription:
    """An account of a version for people.

    Attributes:
        name: the version.
        alike: another version that it is the same as, but for what the sentences say; empty where there is none.
        sentences: what its workers share out, and what its order and its transforms do.
        is_shared: whether anything is shared out.
    """

    name: str
    alike: str
    sentences: tuple[str, ...]
    is_shared: bool


def describe_versions(stages: Stages) -> tuple[VersionDescription, ...]:
    """The versions of a kernel, those of one plan after each other."""
    found = []
    for plan in stages.plans:
        made = [each for each in stages.programs if each.recipe.of_plan == plan.recipe and not each.outer]
        of_plan = sorted(made, key=lambda program: len(program.recipe.transforms))
        found += [_description(program, plan, of_plan[0]) for program in of_plan]
    nested = [program for program in stages.programs if program.outer]
    found += [VersionDescription(each.name, each.shares, (each.recipe.parts[-1].meaning,), True) for each in nested]
    return tuple(found)


def _description(program: Program, plan: Plan, first: Program) -> VersionDescription:
    """A version; the first one of a plan with what its workers share out, others with what they have beside it."""
    if program is not first:
        beside = tuple(part.meaning for part in program.recipe.of_loops if not first.recipe.has(part))
        return VersionDescription(program.name, first.name, beside, plan.team)
    meanings = [part.meaning for part in program.recipe.own_parts if not part.is_seen]
    regions = [_region_text(region, plan, plan.dependences.scop) for region in plan.regions] if plan.team else []
    return VersionDescription(program.name, "", (*regions, *meanings), plan.team)


def explain_versions(stages: Stages) -> str:
    """Say of each version what its workers share out, and what its order and its transforms do."""
    lines = ["versions:"]
    before = ""
    for each in describe_versions(stages):
        said = "; ".join(each.sentences)
        if each.alike:
            lines.append(f"  {each.name}: {'the same' if each.alike == before else f'as {each.alike}'}, {said}")
            continue
        before = each.name
        if each.is_shared:
            lines += [f"  {each.name}:", *(f"    {sentence}" for sentence in each.sentences)]
        else:
            lines.append(f"  {each.name}: {said}")
    lines += [f"  {reason}" for reason in stages.given_up]
    return "\n".join(lines)


def _region_text(region: Region, plan: Plan, scop: Scop) -> str:
    names: list[str] = []
    region.domain.foreach_set(lambda part: names.append(part.get_tuple_name()))
    lines = ", ".join(str(line) for line in sorted({scop.statement(name).location.line for name in names}))
    where = f"line{'s' if ',' in lines else ''} {lines}"
    inside = ", once per iteration of the serial loops around it" if region.prefix is not None else ""
    if region.kind is RegionKind.SERIAL:
        return f"{where}: serial{inside}"
    assert region.band is not None
    deepest = max(names, key=lambda name: len(scop.statement(name).iterators))
    members = [_member_text(region.band.get_union_pw_aff(k), deepest) for k in range(region.depth)]
    shared, rest = members[: region.shared], members[region.shared :]
    how = "tiles of" if region.kind is RegionKind.PARALLEL else "diagonals of tiles of"
    inner = f", inside them tiles of {', '.join(rest)}" if rest else ""
    own = frozenset() if region.expansion is None else region.expansion.arrays
    private = sorted(region.private - own)
    copies = f"; each worker has its own {', '.join(private)}" if private else ""
    sums = f"; each worker adds up {', '.join(sorted(region.sums))} by itself first" if region.sums else ""
    points = f"; each point has its own {', '.join(sorted(own))}" if own else ""
    return f"{where}: {how} {', '.join(shared)} in parallel{inner}{inside}{copies}{sums}{points}"


def _member_text(member: isl.UnionPwAff, statement: str) -> str:
    """The expression of a band member for one statement, in the statement's loop variables."""
    found: list[isl.PwAff] = []
    member.foreach_pw_aff(lambda part: found.append(part))
    for part in found:
        if part.domain().get_tuple_name() == statement:
            match = re.search(r"\[\((.*?)\)\]", str(part))
            return re.sub(r"(?<!\w)(\d+)(?=[A-Za-z_])", r"\1*", match[1]) if match else str(part)
    return "0"
