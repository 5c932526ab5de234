"""The versions and tile sizes that a library's kernels run, by the sizes of their arguments: what was measured on this
machine where that is wanted, else what is expected to be fastest."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from polytune.records import dataclass
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.teams.threads import maximum_threads
from polytune.runtime.version import Version

__all__ = ["Choice", "choices_for"]

_USUAL_SIZES = (8, 32, 128, 512, 2048, 8192)
"""Sizes for which what is expected to be fastest goes with a library."""


@dataclass(frozen=True)
class Choice:
    """A version, its threads and its sizes of tiles, for sizes of arguments that are nearest to some.

    Attributes:
        parameters: the sizes.
        version: the name of the version.
        threads: how many at most; 0 for as many as there are.
        sizes: of tiles and outer tiles, in the order in which contexts have them.
        is_measured: whether it was found by tuning.
    """

    parameters: tuple[int, ...]
    version: str
    threads: int
    sizes: tuple[int, ...]
    is_measured: bool

    @property
    def logarithms(self) -> tuple[float, ...]:
        """Return what distances are measured by: see ``nearest`` in ``runtime/calls.c``."""
        return tuple(math.log2(1.0 + max(0, parameter)) for parameter in self.parameters)


def choices_for(
    generated: GeneratedKernel, tuned: Mapping[str, Mapping[str, Any]], available: Sequence[str]
) -> tuple[Choice, ...]:
    """The choices of a kernel for a level, those that were measured first.

    Args:
        generated: the kernel.
        tuned: by sizes, as the history has them, the best configurations.
        available: the names of the versions that can be in a library, never none.
    """
    module = generated.module
    versions = {version.name: version for version in module.VERSIONS if version.name in available}
    found: list[Choice] = []
    for shape, configuration in tuned.items():
        parameters = _parameters(shape, module.PARAMETERS)
        if parameters is None:  # of arrays on devices
            continue
        chosen = versions.get(str(configuration.get("version")))
        if chosen is None:
            found.append(_expected(generated, versions, parameters))
        else:
            found.append(_choice(chosen, parameters, configuration, is_measured=True))
    count = len(module.PARAMETERS)
    for size in _USUAL_SIZES[: None if count else 1]:
        expected = _expected(generated, versions, (size,) * count)
        if all(each.parameters != expected.parameters for each in found):
            found.append(expected)
    return tuple(found)


def _parameters(shape: str, names: Sequence[str]) -> tuple[int, ...] | None:
    """The sizes that a text of the history names: ``n=3, m=4``."""
    pairs = re.findall(r"([^=,; ]+)=(-?\d+)", shape)
    values = dict(pairs)
    if ";" in shape or list(values) != list(names):
        return None
    return tuple(int(values[name]) for name in names)


def _expected(generated: GeneratedKernel, versions: Mapping[str, Version], parameters: tuple[int, ...]) -> Choice:
    """Return what is expected to be fastest, of the versions that there are."""
    for configuration in generated.first_choices.promising(parameters):
        chosen = versions.get(str(configuration["version"]))
        if chosen is not None:
            return _choice(chosen, parameters, configuration, is_measured=False)
    return _choice(next(iter(versions.values())), parameters, {}, is_measured=False)


def _choice(
    version: Version, parameters: tuple[int, ...], configuration: Mapping[str, Any], *, is_measured: bool
) -> Choice:
    threads = int(configuration.get("threads", 0))
    sizes = tuple(int(configuration.get(name, first)) for name, first in version.sizes.items())
    everyone = threads >= maximum_threads() or not version.team
    return Choice(parameters, version.name, 0 if everyone else threads, sizes, is_measured)
