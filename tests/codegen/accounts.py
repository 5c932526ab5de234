"""Kernels whose versions say what they have to do, and the accounts of it."""

from __future__ import annotations

from unittest import mock

import numpy as np

import polytune
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.tuning.work import Account

CACHES = (32 << 10, 1 << 20, 8 << 20)
REGISTERS = (64, 32)
"""The vector registers of the processor that code is written for and accounts are kept of, whichever runs the tests:
their width in bytes, and how many there are."""


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def means_of_columns(x, mean):
    for j in range(x.shape[1]):
        mean[j] = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            mean[j] += x[i, j] / x.shape[0]


def account_of(generated: GeneratedKernel, name: str, *numbers: int) -> Account:
    """The account of a version for values of the parameters and its own sizes."""
    version = next(each for each in generated.module.VERSIONS if each.name == name)
    account = Account(REGISTERS[0], CACHES)
    assert version.work is not None
    version.work(account, *numbers, *version.sizes.values())
    return account


def generated_of(function, *arguments) -> tuple[GeneratedKernel, tuple[int, ...]]:
    kernel = polytune.Kernel(function)
    values = kernel._accept(arguments, {}).values
    with (
        mock.patch("polytune.compiler.vector_registers", return_value=REGISTERS),
        mock.patch("polytune.kernel_modules.vector_registers", return_value=REGISTERS),
    ):
        generated = kernel.generated(*arguments)
    return generated, generated.prepare(values, {}).parameters


def product_of(rows: int, inner: int, columns: int) -> tuple[GeneratedKernel, tuple[int, ...]]:
    """The code of a product, and the parameters of matrices that need not be there."""
    generated, _ = generated_of(product, *(np.ones((4, 4), np.float32) for _ in range(3)))
    sizes = {"a_0": rows, "a_1": inner, "b_0": inner, "b_1": columns, "c_0": rows, "c_1": columns}
    return generated, tuple(sizes[name] for name in generated.module.PARAMETERS)
