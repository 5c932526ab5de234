"""The compiler of a kernel, as `polytune.kernel` calls it: imported where it is first needed, and logged."""

from __future__ import annotations

import contextlib
import importlib
import logging
import threading
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING

from polytune.errors import MissingLibraryError
from polytune.runtime.machine import vector_registers
from polytune.signature import Signature
from polytune.version import DISTRIBUTION

if TYPE_CHECKING:
    from polytune.pipeline import Stages

__all__ = ["compiler_stages", "import_whole", "written_module"]

_LOGGER = logging.getLogger(__name__)


def import_whole(name: str) -> None:
    """Import a module so that an interrupt (Ctrl-C) leaves none half imported; where it fails, so will importing it
    again.

    The modules of the compiler import each other, in an order that only whole imports have: what an interrupted one has
    left could not be imported any more.  Interrupts come to the main thread alone, so another one imports.
    """
    if name in _IMPORTED or threading.current_thread() is not threading.main_thread():
        return
    thread = threading.Thread(target=_import, args=(name,), name="polytune imports")
    with contextlib.suppress(RuntimeError):  # no thread can be started: at the end of a process, or beyond a limit
        thread.start()
        thread.join()


_IMPORTED: set[str] = set()
"""The modules that were imported as a whole."""


def _import(name: str) -> None:
    with contextlib.suppress(Exception):  # who asked for it imports it again, and sees that
        importlib.import_module(name)
        _IMPORTED.add(name)


def compiler_stages(
    function: FunctionType, types: Callable[[], Signature], *, strict: bool, fastmath: frozenset[str] = frozenset()
) -> Stages:
    """The compiler's stages for this machine's processor.

    Args:
        function: the kernel's function.
        types: gives the types of its arguments, for which it may need the compiler.
        strict: whether sums keep their source order.
        fastmath: the flags that ``fastmath`` gives.

    Raises:
        MissingLibraryError: the libraries of the compiler are not installed.
    """
    import_whole("polytune.pipeline")
    try:
        from polytune.codegen.transform import Target
        from polytune.pipeline import Stages
    except ModuleNotFoundError as error:
        if error.name != "islpy":
            raise
        raise MissingLibraryError(
            f"compiling {function.__name__} needs {error.name}, which is not installed: pip install {DISTRIBUTION} "
            "with its dependencies, or import a package that polytune build has written where they are"
        ) from error

    return Stages(function, types(), strict, target=Target(*vector_registers()), fastmath=fastmath)


def written_module(stages: Stages) -> str:
    """The text of the generated module; the processor time that it took and what was given up is logged."""
    text, name = stages.source, stages.function.__name__
    for reason in stages.given_up:
        _LOGGER.info("%s: gave up %s", name, reason)
    took, versions = stages.time.used, len(stages.programs)
    _LOGGER.info("%s(%s): %d versions made in %.3f s of processor time", name, stages.signature, versions, took)
    return text
