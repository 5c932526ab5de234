"""Calls for which NumPy's library for products of matrices is no choice."""

from __future__ import annotations

from polytune.environment import MKL_THREADS, OPENBLAS_THREADS, OPENMP_THREADS
from polytune.runtime.machine import machine
from polytune.runtime.threads import first_number

__all__ = ["reason_against_library"]

LEAST_ARITHMETIC = 1e6
"""The least number of operations of a kernel of which products are given to the library: with fewer, to reach it by way
of Python takes longer than all else."""


def reason_against_library(arithmetic: float, threads: int) -> str | None:
    """Return why a call is to have no version that gives products to the library; None where it may.

    Args:
        arithmetic: how many operations on numbers it has.
        threads: how many threads it may have.
    """
    if arithmetic < LEAST_ARITHMETIC:
        return (
            f"Min-Arithmetic: {arithmetic:.4g} operations are too few to give products to NumPy's library, which may "
            f"pay from {LEAST_ARITHMETIC:.4g} on"
        )
    if threads < _library_threads():
        return (
            f"Max-Threads: NumPy's library may run products on more threads than the {threads} that calls may have; "
            f"OPENBLAS_NUM_THREADS={threads} or MKL_NUM_THREADS={threads} says how many it may have itself"
        )
    return None


def _library_threads() -> int:
    """The most threads that the library has: by the variables that it reads, or one for each core."""
    said = (first_number(each.text) for each in (OPENBLAS_THREADS, MKL_THREADS, OPENMP_THREADS))
    limits = [each for each in said if each is not None]
    # Which of the variables the library reads is not known.
    return min(machine().cores, max(limits, default=machine().cores))
