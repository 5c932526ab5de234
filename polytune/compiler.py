"""The compiler of a kernel, as `polytune.kernel` calls it: imported where it is first needed, and logged."""

from __future__ import annotations

import logging
import time
from types import FunctionType
from typing import TYPE_CHECKING

from polytune.errors import MissingLibraryError
from polytune.runtime.machine import vector_registers
from polytune.signature import Signature
from polytune.version import DISTRIBUTION

if TYPE_CHECKING:
    from polytune.pipeline import Stages

__all__ = ["compiler_stages", "written_module"]

_LOGGER = logging.getLogger(__name__)


def compiler_stages(function: FunctionType, signature: Signature | None, *, strict: bool) -> Stages:
    """The compiler's stages for this machine's processor.

    Args:
        function: the kernel's function.
        signature: the types of its arguments; inferred from the source where not given.
        strict: whether sums keep their source order.

    Raises:
        MissingLibraryError: the libraries of the compiler are not installed.
    """
    try:
        from polytune.codegen.transform import Target
        from polytune.frontend import infer_signature
        from polytune.pipeline import Stages
    except ModuleNotFoundError as error:
        if error.name != "islpy":
            raise
        raise MissingLibraryError(
            f"compiling {function.__name__} needs {error.name}, which is not installed: pip install {DISTRIBUTION} "
            "with its dependencies, or import a package that polytune build has written where they are"
        ) from error

    return Stages(function, signature or infer_signature(function), strict, target=Target(*vector_registers()))


def written_module(stages: Stages) -> str:
    """The text of the generated module; how long it took and what was given up is logged."""
    start = time.perf_counter()
    text, name = stages.source, stages.function.__name__
    for reason in stages.given_up:
        _LOGGER.info("%s: gave up %s", name, reason)
    took, versions = time.perf_counter() - start, len(stages.programs)
    _LOGGER.info("%s(%s): %d versions made in %.3f s", name, stages.signature, versions, took)
    return text
