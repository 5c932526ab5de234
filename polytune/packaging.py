"""``polytune build``: a package that an application imports, without the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polytune.tuner import Budget
from polytune.version import __version__

if TYPE_CHECKING:
    from polytune.kernel import Kernel


def build(kernels: Sequence[Kernel], directory: Path, *, devices: bool = True) -> None:
    """Write a package with one module per kernel, for the types that its annotations and its source give.

    Each kernel keeps its budget.  The package needs numpy, numba and ``polytune.runtime`` / ``polytune.tuner``, and
    nothing of the compiler.  All is generated before anything is written.

    Args:
        kernels: what it holds.
        directory: where to.
        devices: whether kernels have a version for devices too.  It is used where the application finds any, whether or
            not the machine that builds has one.

    Raises:
        UnsupportedSourceError: a kernel's source cannot be compiled.
        OSError: the directory cannot be written.
    """
    modules = {kernel.__name__: replace(kernel.stages(), devices=devices).source for kernel in kernels}
    names = sorted(modules)
    lines = [f'"""Kernels compiled by polytune {__version__}: {", ".join(names)}."""', ""]
    budgets = {kernel.__name__: _budget_text(kernel.budget) for kernel in kernels}
    lines += ["from polytune.runtime.embedded import EmbeddedKernel"]
    lines += ["from polytune.tuner import Budget", ""] if any(budgets.values()) else [""]
    lines += [f"from . import _{name}" for name in names]
    lines += ["", f"__all__ = {names!r}", ""]
    lines += [f"{name} = EmbeddedKernel(_{name}{budgets[name]})" for name in names]
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        (directory / f"_{name}.py").write_text(text, encoding="utf-8")
    (directory / "__init__.py").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _budget_text(budget: Budget) -> str:
    """The argument that gives an embedded kernel this budget; nothing for the usual one."""
    if budget == Budget():
        return ""
    values = {field.name: getattr(budget, field.name) for field in fields(budget)}
    written = (
        f'{name}=float("inf")' if value == float("inf") else f"{name}={value!r}" for name, value in values.items()
    )
    return f", budget=Budget({', '.join(written)})"
