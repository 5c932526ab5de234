"""A suite of kernels: its table, and how a benchmark is found by its name."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polybench.benchmark import Benchmark
from polybench.datasets import SuiteEntry


class UnknownKernelError(LookupError):
    """The suite has no kernel of that name."""

    def __init__(self, name: str, names: Iterable[str], program: str):
        close = difflib.get_close_matches(name.lower().replace("_", "-"), list(names), n=1, cutoff=0.5)
        advice = f"did you mean {close[0]!r}?" if close else f"`{program} list` names them."
        super().__init__(f"The suite has no kernel {name!r}; {advice}")
        self.name = name


@dataclass(frozen=True)
class Suite:
    """Kernels with a table of their sizes, and a module each.

    Attributes:
        program: how its command line is started, such as ``python -m polybench``.
        description: what it is, for people.
        package: the full name of the package that holds the kernels.
        catalogue: the kernels by name, in the suite's order.
    """

    program: str
    description: str
    package: str
    catalogue: Mapping[str, SuiteEntry]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the kernels, in the suite's order."""
        return tuple(self.catalogue)

    def check_name(self, name: str) -> None:
        """Raise UnknownKernelError unless the suite has a kernel of that name; imports nothing."""
        if name not in self.catalogue:
            raise UnknownKernelError(name, self.catalogue, self.program)

    def benchmark(self, name: str) -> Benchmark:
        """The benchmark of that name; its module is imported when it is first asked for.

        Raises:
            UnknownKernelError: the suite has no such kernel; the message names one that is spelt alike.
        """
        self.check_name(name)
        found: Benchmark = importlib.import_module(f"{self.package}.{self.catalogue[name].module}").BENCHMARK
        return found
