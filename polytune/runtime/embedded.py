"""Kernels of a generated package: compiled and tuned like any other, but never analysed again."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from types import ModuleType

from polytune.errors import ArgumentError
from polytune.runtime.calls import CallableKernel
from polytune.runtime.generated import GeneratedKernel
from polytune.runtime.learned import explain_tuner
from polytune.signature import ArgumentType, ArrayType, ScalarType, Signature
from polytune.tuner import Budget

__all__ = ["EmbeddedKernel"]


class EmbeddedKernel(CallableKernel):
    """A kernel made of one generated module; it accepts the types that the module was generated for.

    An integer may stand where a float is wanted.  An array has to lie in memory as the module says, as its strides are
    compiled in; a module for arrays of any strides (``float64[:, :]``) takes them all.
    """

    def __init__(self, module: ModuleType, *, budget: Budget | int | str | None = None):
        """
        Args:
            module: the generated module.
            budget: what tuning may cost, as for ``polytune.kernel``; the ``budget`` of the kernel changes it later.
        """
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in module.ARGUMENTS]
        super().__init__(module.NAME, inspect.Signature(parameters), self._provide, budget=budget)
        self.__doc__ = module.__doc__
        self._module = module
        self._wanted: Signature = module.SIGNATURE
        text = Path(str(module.__file__)).read_bytes()
        self._identity = f"{module.NAME} {hashlib.sha256(text).hexdigest()[:16]}"

    def __repr__(self) -> str:
        return f"<polytune embedded kernel {self.__name__}({self._wanted})>"

    def explain(self) -> str:
        """What the tuners have learned, for all sizes called so far; what is parallel and why the compiler says where
        the package is built."""
        lines = [f"{self.__name__}({self._wanted})"]
        names = self._module.PARAMETERS
        lines += [explain_tuner(names, case, tuner, self.shared.get(case)) for case, tuner in self.tuners.items()]
        return "\n".join(lines if len(lines) > 1 else [*lines, "no call yet"])

    def _provide(self, signature: Signature) -> tuple[str, GeneratedKernel]:
        for (name, given), (_, wanted) in zip(signature.arguments, self._wanted.arguments, strict=True):
            if not _accepts(wanted, given):
                raise ArgumentError(
                    f"argument {name!r} of {self.__name__} is {given}, but the package was built for {wanted}; "
                    "pass that, or build the package for this type (annotate the kernel's argument)"
                )
        return self._identity, GeneratedKernel(self._module)


def _accepts(wanted: ArgumentType, given: ArgumentType) -> bool:
    if isinstance(wanted, ArrayType) or isinstance(given, ArrayType):
        return (
            isinstance(wanted, ArrayType)
            and isinstance(given, ArrayType)
            and (wanted.dtype, wanted.ndim) == (given.dtype, given.ndim)
            and wanted.layout in (given.layout, "A")
        )
    assert isinstance(wanted, ScalarType) and isinstance(given, ScalarType)
    if wanted.dtype.startswith("int"):
        return given.dtype.startswith("int")
    return given.weak or given.dtype == wanted.dtype
