"""Kernels of a generated package: compiled and tuned like any other, but never analysed again.

A package and this runtime belong together: generated code knows where the runtime has what in memory, and inlines parts
of it.  So a package says which state of the runtime it was built by, and is not imported into another one.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from polytune import notebook
from polytune.errors import ArgumentError, PackageError
from polytune.runtime.calls.calls import CallableKernel
from polytune.runtime.modules.cache import key_of, runtime_digest
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.learned import explain_tuner
from polytune.runtime.tuning.rules import Thresholds
from polytune.signature import Signature, accepts
from polytune.tracebacks import shows_frames_of_callers
from polytune.tuner import Budget
from polytune.version import __version__

__all__ = ["EmbeddedKernel", "require_runtime", "text_digest"]


@shows_frames_of_callers
def require_runtime(package: str, version: str, digest: str) -> None:
    """See to it that a package is used with the runtime that it was built for.

    Args:
        package: its name.
        version: that of polytune when it was built.
        digest: the text of the runtime then, as ``runtime_digest`` has it.

    Raises:
        PackageError: this is another one.
    """
    if (version, digest) != (__version__, runtime_digest()):
        this = __version__ if version != __version__ else "another state of it"
        raise PackageError(
            f"the package {package} was built by polytune {version}, and this is {this}: "
            f"build it again, or install the polytune that it was built by"
        )


def text_digest(text: str) -> str:
    """Return what tells the text of a generated module from others, 16 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class EmbeddedKernel(CallableKernel):
    """A kernel made of one generated module; it accepts the types that the module was generated for.

    An integer may stand where a float is wanted.  An array has to lie in memory as the module says, as its strides are
    compiled in; a module for arrays of any strides (``float64[:, :]``) takes them all.
    """

    _takes_any_subscripts = False

    def __init__(
        self,
        module: ModuleType,
        digest: str,
        *,
        text: str = "",
        defaults: Mapping[str, float] | None = None,
        budget: Budget | int | str | None = None,
        thresholds: Thresholds | None = None,
        background: bool = True,
        tuned: Mapping[str, Mapping[str, Any]] | None = None,
    ):
        """
        Args:
            module: the generated module.
            digest: what `text_digest` says of its text, which itself may be compiled or in an archive.
            text: the documentation of the kernel.
            defaults: of its arguments, by name.
            budget, thresholds, background: as for ``polytune.kernel``; attributes of the kernel change the first and
                the last one later.
            tuned: by the sizes of arguments, what is tried first.
        """
        given = defaults or {}
        parameters = [
            inspect.Parameter(
                name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=given.get(name, inspect.Parameter.empty)
            )
            for name in module.ARGUMENTS
        ]
        super().__init__(
            module.NAME,
            inspect.Signature(parameters),
            self._provide,
            budget=budget,
            thresholds=thresholds,
            background=background,
        )
        self.__doc__ = text or module.__doc__
        self.__qualname__ = self.__name__
        self.__module__ = module.__name__.rpartition(".")[0] or module.__name__
        self._module = module
        self._wanted: Signature = module.SIGNATURE
        self._identity = f"{module.NAME} {digest}"
        self._code = key_of("package", digest)[:16]
        self._loaded = {(self._identity, shape): configuration for shape, configuration in (tuned or {}).items()}

    def __repr__(self) -> str:
        return f"<polytune embedded kernel {self.__name__}({self._wanted})>"

    def explain(self) -> str:
        """Return what the tuners have learned, for all sizes called so far; what is parallel and why the compiler says
        where the package is built."""
        lines = [f"{self.__name__}({self._wanted})"]
        names = self._module.PARAMETERS
        lines += [explain_tuner(names, case, tuner, self.shared.get(case)) for case, tuner in self.tuners.items()]
        lines += self.untried()
        return notebook.ShownText("\n".join(lines if len(lines) > 1 else [*lines, "no call yet"]))

    def _with_extents(self, signature: Signature, values: tuple[Any, ...]) -> Signature:
        return self._wanted.with_known_extents(signature, values)

    def _provide(self, signature: Signature) -> tuple[str, GeneratedKernel]:
        for (name, given), (_, wanted) in zip(signature.arguments, self._wanted.arguments, strict=True):
            if not accepts(wanted, given):
                raise ArgumentError(
                    f"argument {name!r} of {self.__name__} is {given}, but the package was built for {wanted}; "
                    "pass that, or build the package for this type (annotate the kernel's argument)"
                )
        return self._identity, GeneratedKernel(self._module, code=self._code)
