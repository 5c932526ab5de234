"""What versions are written for: the vector registers of a processor."""

from __future__ import annotations

from dataclasses import dataclass

BYTES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8}
"""The types of numbers that vectors are written of; loops over others are left to compilers."""


@dataclass(frozen=True)
class Target:
    """The vector registers of a processor.

    Code for wider registers, or for more of them, than a processor has is right there too, but slower.

    Attributes:
        vector_bytes: the width of a register.
        vector_registers: how many there are.
    """

    vector_bytes: int = 64
    vector_registers: int = 32

    def lanes(self, dtype: str) -> int:
        """How many numbers fit in a register."""
        return self.vector_bytes // BYTES[dtype]
