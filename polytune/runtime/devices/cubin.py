"""The needs of a kernel, read from its machine code, and how many of its threads a GPU can hold at the same time.

A cubin is an ELF file.  The section ``.text.<kernel>`` holds the code; the size of ``.nv.shared.<kernel>`` is that of
its shared memory; ``.nv.info`` holds attributes of all kernels, among them their registers and stack frames, and
``.nv.info.<kernel>`` those of one, among them the size of its arguments.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator

from polytune.errors import DeviceCompilationError
from polytune.records import dataclass

__all__ = ["HOPPER", "Chip", "KernelNeeds", "kernel_needs", "occupancy"]

_FRAME_SIZE = 0x11
_REGISTER_COUNT = 0x2F
_ARGUMENTS_SIZE = 0x19
_WITH_VALUE, _WITH_SIZE = 0x03, 0x04

# From compute capability 9.0 the system keeps the beginning of each block's shared memory, and a section says so.
_RESERVED_SECTION = ".nv.shared.reserved.0"
_RESERVED = 1024


@dataclass(frozen=True)
class KernelNeeds:
    """The needs of one kernel.

    Attributes:
        registers: 32-bit registers of a thread.
        shared_memory: bytes of shared memory of a block.
        local_memory: bytes of device memory of a thread, for arrays and what does not fit into registers.
        arguments: bytes of all its arguments together; None where the file does not tell.
    """

    registers: int
    shared_memory: int
    local_memory: int
    arguments: int | None


@dataclass(frozen=True)
class Chip:
    """The capacity of one multiprocessor of a GPU; NVIDIA's CUDA C++ Programming Guide, "Compute Capabilities".

    Attributes:
        threads, warps, blocks: the most that it holds at the same time.
        warp: threads of a warp.
        registers: 32-bit registers.
        registers_per_thread: the most that a thread may have.
        register_unit: registers are given to a warp in multiples of so many.
        shared_memory: bytes of shared memory.
        shared_memory_per_block: the most that a block may have without asking for more at its launch.
        shared_memory_unit: it is given to a block in multiples of so many bytes.
        shared_memory_reserved: bytes that the system keeps of each block.
    """

    threads: int
    warps: int
    blocks: int
    warp: int
    registers: int
    registers_per_thread: int
    register_unit: int
    shared_memory: int
    shared_memory_per_block: int
    shared_memory_unit: int
    shared_memory_reserved: int


HOPPER = Chip(
    threads=2048,
    warps=64,
    blocks=32,
    warp=32,
    registers=65536,
    registers_per_thread=255,
    register_unit=256,
    shared_memory=228 * 1024,
    shared_memory_per_block=48 * 1024,
    shared_memory_unit=128,
    shared_memory_reserved=1024,
)
"""Compute capability 9.0: H100, H200."""


def occupancy(threads: int, registers: int, shared_memory: int, chip: Chip = HOPPER) -> float:
    """The share of a multiprocessor's warps that can be resident; 0 if not even one block fits.

    Args:
        threads: of a block.
        registers: of a thread.
        shared_memory: bytes of a block.
        chip: the GPU.
    """
    if registers > chip.registers_per_thread or not 0 < threads <= 1024:
        return 0.0
    warps = -(-threads // chip.warp)
    # Registers belong to one of four parts of the multiprocessor, which a warp runs on as a whole.
    per_warp = _rounded_up(max(1, registers) * chip.warp, chip.register_unit)
    warps_by_registers = chip.registers // 4 // per_warp * 4
    per_block = _rounded_up(shared_memory + chip.shared_memory_reserved, chip.shared_memory_unit)
    blocks = min(
        chip.blocks,
        chip.warps // warps,
        warps_by_registers // warps,
        chip.shared_memory // per_block,
    )
    return blocks * warps / chip.warps


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def kernel_needs(cubin: bytes, name: str) -> KernelNeeds:
    """Return what a kernel of a cubin needs.

    Args:
        cubin: the whole file.
        name: the kernel.

    Raises:
        DeviceCompilationError: the file is no cubin, or has no such kernel.
    """
    try:
        sections = _sections(cubin)
        if f".text.{name}" not in sections:
            raise DeviceCompilationError(f"the machine code holds no kernel {name}, only {_kernels(sections)}")
        shared = sections.get(f".nv.shared.{name}")
        symbol = functools.partial(_symbol_name, cubin, sections)
        found = {}
        for attribute, value in _attributes(cubin, sections.get(".nv.info")):
            if attribute in (_FRAME_SIZE, _REGISTER_COUNT):
                index, number = struct.unpack("<II", value)
                if symbol(index) == name:
                    found[attribute] = number
        arguments = None
        for attribute, value in _attributes(cubin, sections.get(f".nv.info.{name}")):
            if attribute == _ARGUMENTS_SIZE:
                (arguments,) = struct.unpack("<H", value[:2])
        registers, frame = found[_REGISTER_COUNT], found.get(_FRAME_SIZE, 0)
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise DeviceCompilationError(f"not a cubin that can be read: {error!r}") from error
    reserved = _RESERVED if _RESERVED_SECTION in sections else 0
    return KernelNeeds(registers, shared.size - reserved if shared else 0, frame, arguments)


@dataclass(frozen=True)
class _Section:
    """The place of an ELF section, its size, and the number of the section that belongs to it."""

    offset: int
    size: int
    link: int


def _sections(cubin: bytes) -> dict[str, _Section]:
    """The sections of a 64-bit ELF file by name; and each by its number, as a decimal text."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise DeviceCompilationError("not a cubin: it is no 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    entry, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = []
    for index in range(count):
        name, _, _, _, offset, size, link = struct.unpack_from("<IIQQQQI", cubin, table + index * entry)
        headers.append((name, _Section(offset, size, link)))
    texts = headers[names][1].offset
    return {_string(cubin, texts + name): section for name, section in headers} | {
        str(index): section for index, (_, section) in enumerate(headers)
    }


def _string(content: bytes, offset: int) -> str:
    return content[offset : content.index(b"\0", offset)].decode()


def _symbol_name(cubin: bytes, sections: dict[str, _Section], index: int) -> str:
    table = sections[".symtab"]
    (name,) = struct.unpack_from("<I", cubin, table.offset + 24 * index)
    return _string(cubin, sections[str(table.link)].offset + name)


def _attributes(cubin: bytes, section: _Section | None) -> Iterator[tuple[int, bytes]]:
    """The attributes of a section: a byte for the format, one for the attribute, and a value or the value's size."""
    if section is None:
        return
    place, end = section.offset, section.offset + section.size
    while place + 4 <= end:
        layout, attribute, word = struct.unpack_from("<BBH", cubin, place)
        place += 4
        if layout == _WITH_SIZE:
            yield attribute, cubin[place : place + word]
            place += word
        elif layout == _WITH_VALUE:
            yield attribute, struct.pack("<H", word)


def _kernels(sections: dict[str, _Section]) -> str:
    return ", ".join(name.removeprefix(".text.") for name in sections if name.startswith(".text.")) or "none"
