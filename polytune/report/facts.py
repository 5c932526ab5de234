"""The facts that a page shows, taken once: a kernel and its tuners may go on while the page is written."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Protocol

from polytune.frontend.generated_names import plain
from polytune.pipeline import Stages
from polytune.records import dataclass
from polytune.runtime.teams.threads import maximum_threads
from polytune.runtime.tuning.learned import explain_refused
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.tunable import Case
from polytune.runtime.tuning.work import Kind
from polytune.signature import Signature
from polytune.tuner import Configuration, OnlineTrial, OnlineTuner, Space
from polytune.tuner.ledger import Statistics

_PICTURED = 3
"""The number of classes of calls of which a page has pictures: with some hundred kilobytes each it stays below two
megabytes."""

_LINE_BYTES = 64  # in which accounts of the work count what is fetched

__all__ = ["Reported", "SourceLines", "Subject", "TunedCase", "configuration_text", "subjects_of"]


class Reported(Protocol):
    """The parts of a kernel that are shown, as `polytune.Kernel` has it."""

    __name__: str
    __wrapped__: FunctionType
    is_strict: bool

    @property
    def tuners(self) -> Mapping[Case, OnlineTuner]: ...

    def prediction_of(self, case: Case) -> Prediction: ...

    def stages(self, signature: Signature | None = None) -> Stages: ...


@dataclass(frozen=True)
class SourceLines:
    """The lines of a kernel as its file has them.

    Attributes:
        file: the path of the file.
        first: the number of the first line.
        lines: the lines, without their ends.
    """

    file: str
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class TunedCase:
    """The knowledge of the tuner of one class of calls, at one moment.

    Attributes:
        label: the sizes, for people.
        parameters: the values of the kernel's parameters, in their order.
        threads: how many threads a call may have.
        space: what there is to choose from.
        best: the best configuration and its seconds; None before the first measurement.
        statistics: what tuning has done, cost and saved.
        ranking: what was measured, with its seconds, the fastest first.
        trials: the calls of this process that ran something other than the best, in the order of time.
        refused: what rules have rejected, a sentence each.
        traffic: how many bytes the model of times expects the best configuration to fetch from the second cache, from
            the third, and from memory; None where it does not know.
    """

    label: str
    parameters: tuple[int, ...]
    threads: int
    space: Space
    best: tuple[Configuration, float] | None
    statistics: Statistics
    ranking: tuple[tuple[Configuration, float], ...]
    trials: tuple[OnlineTrial, ...]
    refused: tuple[str, ...]
    traffic: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Subject:
    """A kernel for arguments of some types: what a part of the page is about.

    Attributes:
        name: the kernel's.
        is_strict: whether sums keep their source order.
        description: the first paragraph of its docstring; empty where it has none.
        signature: the types.
        source: its lines.
        stages: what the compiler makes of it.
        cases: what was tuned, the most calls first.
        parts: how many subjects the page has.
    """

    name: str
    is_strict: bool
    description: str
    signature: Signature
    source: SourceLines
    stages: Stages
    cases: tuple[TunedCase, ...]
    parts: int = 1

    @property
    def main_cases(self) -> tuple[TunedCase, ...]:
        """The cases of which pictures are drawn: those of the most calls, as many as a page has room for."""
        return self.cases[: max(1, _PICTURED // self.parts)]

    @property
    def best_versions(self) -> tuple[str, ...]:
        """The versions of the best configurations, those of the most calls first."""
        return tuple(dict.fromkeys(str(case.best[0]["version"]) for case in self.cases if case.best is not None))


def configuration_text(configuration: Configuration) -> str:
    """A configuration for people, on one line."""
    return ", ".join(f"{name}={value}" for name, value in configuration.items())


def subjects_of(kernel: Reported, known: Mapping[Signature, Stages] | None = None) -> tuple[Subject, ...]:
    """The subjects of a page: the kernel for the types of each call so far, or for those that its source suggests.

    Args:
        kernel: the kernel.
        known: the stages that have been computed before, by types: they are not computed again.

    Raises:
        PolytuneError: the source cannot be compiled.
    """
    tuners = dict(kernel.tuners)
    signatures = list(dict.fromkeys(case.signature for case in tuners)) or [kernel.stages().signature]
    description = (inspect.getdoc(kernel.__wrapped__) or "").partition("\n\n")[0]
    source = _source_of(kernel.__wrapped__)
    found = []
    for signature in signatures:
        stages = (known or {}).get(signature) or kernel.stages(signature)
        names = [plain(parameter.name) for parameter in stages.scop.parameters]
        cases = [_case(kernel, names, case, tuner) for case, tuner in tuners.items() if case.signature == signature]
        cases.sort(key=lambda case: -case.statistics.calls)
        found.append(
            Subject(
                kernel.__name__,
                kernel.is_strict,
                description,
                signature,
                source,
                stages,
                tuple(cases),
                len(signatures),
            )
        )
    return tuple(found)


def _source_of(function: FunctionType) -> SourceLines:
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:  # the file is gone; what was compiled before is known all the same
        lines, first = [], 1
    return SourceLines(function.__code__.co_filename, max(first, 1), tuple(line.rstrip("\n") for line in lines))


def _traffic(kernel: Reported, case: Case, configuration: Configuration) -> tuple[float, float, float] | None:
    counts = kernel.prediction_of(case).counts(configuration)
    if counts is None:
        return None
    levels = ((Kind.LINES_2, Kind.APART_2), (Kind.LINES_3, Kind.APART_3), (Kind.LINES_4, Kind.APART_4))
    second, third, memory = (_LINE_BYTES * sum(counts[kind] for kind in level) for level in levels)
    return second, third, memory


def _case(kernel: Reported, names: list[str], case: Case, tuner: OnlineTuner) -> TunedCase:
    label = ", ".join(f"{name} = {value}" for name, value in zip(names, case.parameters, strict=True)) or "all sizes"
    label += "".join(f"; {array} on {device}" for array, device in case.places)
    if case.threads != maximum_threads():
        label += f"; on at most {case.threads} thread{'s' if case.threads != 1 else ''}"
    best = tuner.best
    return TunedCase(
        label=label,
        parameters=case.parameters,
        threads=case.threads,
        space=tuner.space,
        best=best,
        statistics=tuner.statistics(),
        ranking=tuple(tuner.ranking()),
        trials=tuple(tuner.trials()),
        refused=tuple(line.strip() for line in explain_refused(tuner.refused)),
        traffic=None if best is None else _traffic(kernel, case, best[0]),
    )
