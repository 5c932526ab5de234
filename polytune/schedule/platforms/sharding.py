"""Sharding: the plan of which regions are cut at the borders of chunks of arrays, and why a kernel has none."""

from __future__ import annotations

from collections.abc import Sequence

from polytune.errors import UnsupportedSourceError
from polytune.frontend.expression import Checked, Counter, Element, LibraryCall, walk
from polytune.frontend.results import Result, ReturnedChoice, ReturnedTuple
from polytune.frontend.scop import Report, Scop
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.loop_report import obstacle_text, report_loops
from polytune.schedule.candidate import Attempted, Candidate
from polytune.schedule.platforms.partition import Split, choose_plan, partition
from polytune.schedule.regions import Plan, RegionKind

_LAST = 10
"""The rank of orders that no device follows: after all others."""


def shard_rank(candidate: Candidate) -> int | None:
    """The rank of a candidate among those that shards may follow: any order of the kernel's own statements."""
    if candidate.origin is not None:
        return None
    rank = candidate.order.for_devices
    return _LAST if rank is None else rank


def choose_shard_plan(candidates: Sequence[Candidate]) -> Attempted[Plan]:
    """The plan of which regions are cut into shards: that with the fewest loops around the heaviest regions.

    Each iteration of a loop around a region is an exchange of what shards have computed.
    """
    return choose_plan(candidates, shard_rank)


def prove_shards(plan: Plan) -> None:
    """Prove that each region may be cut anywhere along each of the coincident members of its band.

    A dependence that no single cut is crossed by stays inside one cell of the grid that all cuts make.

    Raises:
        LegalityError: a dependence leads from one side of a cut to the other.
    """
    for region in plan.regions:
        if region.kind is RegionKind.PARALLEL and not region.sums:
            for member in range(region.shared):
                partition(plan, region, (Split(member),))


def check_shardable(scop: Scop) -> None:
    """Refuse kernels of which no plan can be cut, whatever its loops.

    Raises:
        UnsupportedSourceError: subscripts are tested while the kernel runs, or before it, or NumPy computes something.
    """
    for report in scop.reports:
        if report.arrays and not _subscripts_depend_on_data(scop, report):
            raise UnsupportedSourceError(
                report.location,
                f"subscripts of {', '.join(report.arrays)} are remainders, quotients or products of sizes and loop "
                "variables",
                "which elements each iteration accesses is known exactly of sums of multiples of these alone, so it is "
                "not known which chunks they need",
                "write the subscripts as such sums, with a branch where they wrap round, or compute the arrays "
                "(.compute()) and pass them as NumPy arrays",
            )
        raise UnsupportedSourceError(
            report.location,
            f"subscripts of {', '.join(report.arrays)} depend on data" if report.arrays else "extents depend on data",
            "which chunks they need is known only while the kernel runs",
            "compute the arrays (.compute()) and pass them as NumPy arrays, or index the dask arrays before the call",
        )
    for check in scop.checks:
        raise UnsupportedSourceError(
            check.report.location,
            f"the numbers in {check.array!r} are subscripts",
            "which chunks they need is known only when they are computed",
            "compute the arrays (.compute()) and pass them as NumPy arrays, or index the dask arrays before the call",
        )
    if _depends_on_data(scop.result):
        raise UnsupportedSourceError(
            scop.result_location or scop.location,
            "what is returned depends on data",
            "a call with arrays of Dask returns before anything is computed",
            "return the arrays, and choose between them where they have been computed",
        )
    for statement in scop.statements:
        for operation in statement.operations:
            for part in walk(operation):
                if isinstance(part, LibraryCall):
                    raise UnsupportedSourceError(
                        statement.location,
                        f"{part.function.partition(' ')[0]} works on whole arrays",
                        "a shard has only the parts of arrays that belong to its chunks",
                        "call it outside of the kernel, from dask.array where that has it",
                    )


def _subscripts_depend_on_data(scop: Scop, report: Report) -> bool:
    """Return whether subscripts that are tested while the kernel runs are computed from elements or scalars, or in
    loops of which nobody knows before how long they are."""
    site = scop.reports.index(report) + 1
    tests = [
        part
        for statement in scop.statements
        for operation in statement.operations
        for part in walk(operation)
        if isinstance(part, Checked) and part.site == site
    ]
    subscripts = [
        subscript
        for test in tests
        for operation in test.body
        for part in walk(operation)
        if isinstance(part, Element) and part.array in report.arrays
        for subscript in part.subscripts
    ]
    conditions = [test.violation for test in tests]
    return not tests or any(
        isinstance(part, Element | Counter) for each in (*subscripts, *conditions) for part in walk(each)
    )


def _depends_on_data(result: Result | None) -> bool:
    match result:
        case ReturnedChoice(condition, then, otherwise):
            from_data = any(isinstance(part, Element) for part in walk(condition))
            return from_data or _depends_on_data(then) or _depends_on_data(otherwise)
        case ReturnedTuple(items):
            return any(map(_depends_on_data, items))
        case _:
            return False


def refusal(dependences: Dependences) -> UnsupportedSourceError:
    """The refusal of a kernel of which no region can be cut: what each of its loops carries."""
    scop = dependences.scop
    reasons: list[str] = []
    location = scop.location
    for report in report_loops(dependences):
        if report.parallel:
            continue
        if not reasons:
            location = report.loop.location
        found = list(dict.fromkeys(obstacle_text(each, scop) for each in report.obstacles))
        why = found[0] if found else "isl gave up on its dependences"
        more = f", and {len(found) - 1} more, see explain()" if len(found) > 1 else ""
        reasons.append(f"line {report.loop.location.line}: {why}{more}")
    return UnsupportedSourceError(
        location,
        f"{scop.name} cannot be cut at the borders of chunks",
        "its heaviest loops all carry dependences; of the loop in " + "; in ".join(reasons)
        if reasons
        else "it has no loops whose iterations could be shared out",
        "compute the arrays (.compute()) and pass them as NumPy arrays, or write the loops so that one of them has "
        "independent iterations",
    )


def refusal_of_time(scop: Scop) -> UnsupportedSourceError:
    """Say that isl takes too long over the shards of a kernel."""
    return UnsupportedSourceError(
        scop.location,
        f"{scop.name} is too complex to be cut at the borders of chunks",
        "isl could not prove, or generate, its shards within the budget that a kernel has",
        "divide it into several kernels, or compute the arrays (.compute()) and pass them as NumPy arrays",
    )


def is_cut(plan: Plan) -> bool:
    """Return whether one of the heaviest regions of a plan can be cut."""
    depth = max((region.statement_depth for region in plan.regions), default=0)
    return any(region.kind is RegionKind.PARALLEL and region.statement_depth == depth for region in plan.regions)
