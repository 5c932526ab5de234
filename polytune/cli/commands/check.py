"""``polytune check``: which functions of a file can be compiled, and all that stands in the way of the others."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from polytune.cli.console import print_json, progress, results
from polytune.cli.options import Debug, Json
from polytune.cli.target import parse_target
from polytune.cli.unexecuted import functions_of
from polytune.defects import defects_named
from polytune.errors import DefectError, Obstacle, PolytuneError, SourceLocation, UnsupportedSourceError
from polytune.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polytune.schedule.analysis.loops_in_statements import LoopInStatement
    from polytune.signature import Signature


@dataclass(frozen=True)
class CheckedFunction:
    """The findings of one function.

    Attributes:
        types: those of its arguments that it was read with; empty where none could be found.
        obstacles: what stands in the way; none where it is accepted.
        loops: of one that is accepted, the loops that are not scheduled, each with how it is run.
    """

    file: Path
    name: str
    line: int
    types: str
    obstacles: tuple[Obstacle, ...]
    loops: tuple[LoopInStatement, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "file": str(self.file),
            "function": self.name,
            "line": self.line,
            "accepted": not self.obstacles,
            "types": self.types,
            "obstacles": [_obstacle_as_dict(obstacle) for obstacle in self.obstacles],
            "loops": [{"line": each.location.line, "source": each.text, "how": each.how} for each in self.loops],
        }


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of Python.")],
    run_file: Annotated[
        bool, typer.Option("--import", help="Import the files, so that all that they compute is known.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="As kernels with strict=True.")] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """List the functions with loops or array expressions, decorated or not, that can be compiled, and all that stands
    in the way of the others; fails if there is any.

    Nothing of a file runs but its imports of what its functions use.  Types of arguments are those of annotations;
    others are guessed from the use of an argument, and the first that are accepted count.
    """
    found: list[CheckedFunction] = []
    unread: list[str] = []
    for text in files:
        target = parse_target(text)
        try:
            functions = functions_of(target.file, is_run=run_file)
        except PolytuneError as error:  # the other files are looked at all the same
            unread.append(str(error))
            continue
        _refuse_unknown(target.kernels, functions.functions, target.file)
        for function in functions.functions:
            if target.kernels and function.__qualname__ not in target.kernels:
                continue
            with progress.status(f"reading {function.__qualname__}"):
                found.append(_checked(target.file, function, functions.computed, strict=strict))
    refused = [each for each in found if each.obstacles]
    if as_json:
        functions_found = [each.as_dict() for each in found]
        print_json({"accepted": not (refused or unread), "functions": functions_found, "unread": unread})
    elif found or not unread:
        _print(found)
    if unread:
        raise PolytuneError("\n".join(unread))
    if refused:
        raise typer.Exit(1)


def _refuse_unknown(wanted: Iterable[str], functions: Iterable[FunctionType], file: Path) -> None:
    there_are = [function.__qualname__ for function in functions]
    for name in wanted:
        if name not in there_are:
            raise typer.BadParameter(
                f"{file} has no function {name!r} with a loop or an array expression; it has {', '.join(there_are)}"
            )


def _checked(file: Path, function: FunctionType, computed: frozenset[str], *, strict: bool) -> CheckedFunction:
    """Read a function with the types of its annotations, and with guesses for what has none."""
    from polytune.frontend.syntax.guesses import possible_signatures

    best: tuple[Signature | None, tuple[Obstacle, ...]] | None = None
    loops: tuple[LoopInStatement, ...] = ()
    refused: tuple[Obstacle, ...] = ()
    try:
        signatures = possible_signatures(function)
    except UnsupportedSourceError as error:
        refused = error.obstacles
        signatures = []
        with contextlib.suppress(UnsupportedSourceError):  # there is no source
            signatures = possible_signatures(function, annotated=False)
    for signature in signatures:
        obstacles, loops = _read(function, signature, strict=strict)
        if best is None or len(obstacles) < len(best[1]):
            best = signature, obstacles
        if not obstacles:
            break
    types, obstacles = best or (None, ())
    named = tuple(_explained(each, computed) for each in dict.fromkeys((*refused, *obstacles)))
    line = function.__code__.co_firstlineno
    return CheckedFunction(
        file, function.__qualname__, line, "" if types is None else str(types), named, () if named else loops
    )


def _read(
    function: FunctionType, signature: Signature, *, strict: bool
) -> tuple[tuple[Obstacle, ...], tuple[LoopInStatement, ...]]:
    """Return what stands in the way of a function for arguments of some types, and the loops that are not scheduled."""
    from polytune.pipeline import Stages
    from polytune.schedule.analysis.loops_in_statements import loops_in_statements

    try:
        with defects_named(function):
            stages = Stages(function, signature, strict)
            _ = stages.scop, stages.bounds, stages.unassigned
            return (), loops_in_statements(stages.scop)
    except UnsupportedSourceError as error:
        return error.obstacles, ()
    except DefectError as error:
        code = function.__code__
        what, _, why = str(error).partition("\nwhy: ")
        reason, _, remedy = why.partition("\ninstead: ")
        place = SourceLocation(code.co_filename, code.co_firstlineno)
        return (Obstacle(place, what.partition(": ")[2], reason, remedy),), ()


def _explained(obstacle: Obstacle, computed: frozenset[str]) -> Obstacle:
    """An obstacle that is one only because the file was not run says so."""
    for name in computed:
        if obstacle.what == f"the name {name!r} is not defined":
            return replace(
                obstacle,
                what=f"the value of {name!r} is not known",
                reason="it is computed, or imported from what is not installed, and the file was not run",
                remedy="check with --import, which runs the file",
            )
    return obstacle


def _obstacle_as_dict(obstacle: Obstacle) -> dict[str, Any]:
    place = obstacle.location
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "source": place.segment,
        "what": obstacle.what,
        "why": obstacle.reason,
        "instead": obstacle.remedy,
    }


def _print(found: list[CheckedFunction]) -> None:
    for each in found:
        state = Text("refused ", "bold red") if each.obstacles else Text("accepted", "green")
        line = Text.assemble(state, f" {each.file}:{each.line} {each.name}", (f"({each.types})", "dim"))
        results.print(line, soft_wrap=True)
        for obstacle in each.obstacles:
            results.print(Text("\n".join(f"    {text}" for text in str(obstacle).splitlines())), soft_wrap=True)
        for loop in each.loops:
            results.print(Text(f"    {loop.location.line}: {loop.text}: {loop.how}", "dim"), soft_wrap=True)
    accepted = sum(not each.obstacles for each in found)
    if found:
        results.print(f"{accepted} of {len(found)} functions can be compiled", highlight=False)
    else:
        results.print("there is no function with a loop or an array expression")
