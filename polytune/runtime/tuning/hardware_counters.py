"""Counters of the processor and the system around a call, by Linux's ``perf_event_open`` (man 2 perf_event_open).

A counter counts one thread in user mode.  All threads that the process has are counted, those of the kernel's team and
any others, so that nothing else should run beside the call.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["EVENTS", "HardwareCounters"]

_HARDWARE, _SOFTWARE, _CACHE = 0, 1, 3
_FIRST_DATA, _LAST, _READ, _MISS = 0, 2, 0, 1


def _cache_event(cache: int, result: int) -> tuple[int, int]:
    return _CACHE, cache | _READ << 8 | result << 16


EVENTS: Mapping[str, tuple[int, int]] = {
    "hardware__cycles.sum": (_HARDWARE, 0),
    "hardware__instructions.sum": (_HARDWARE, 1),
    "hardware__branch_misses.sum": (_HARDWARE, 5),
    "hardware__first_cache_misses.sum": _cache_event(_FIRST_DATA, _MISS),
    "hardware__last_cache_misses.sum": _cache_event(_LAST, _MISS),
    "system__thread_time.ns": (_SOFTWARE, 1),
    "system__page_faults.sum": (_SOFTWARE, 2),
    "system__context_switches.sum": (_SOFTWARE, 3),
}
"""The type and the number of each event, by the name of its counter: the processor's, and the system's."""

_NUMBERS = {"x86_64": 298, "aarch64": 241, "riscv64": 241}
"""The number of the system call, by processor."""

_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
_EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 5, 1 << 6
_TIMES_TOO = 1 | 2  # read_format: how long the counter was wanted, and how long it ran
_READING = struct.Struct("=QQQ")
_CLOSE_ON_EXEC = 8


class HardwareCounters:
    """The counters of all threads of this process; those that there are.

    Where there are more events than the processor has counters, they take turns, and what each has counted is scaled
    to the whole time.

    Attributes:
        names: the counters that can be read.
        reason: why the processor's are not among them; empty where some are.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.names: tuple[str, ...] = ()
        self._open: Callable[[int, str], int] | None = None
        if not sys.platform.startswith("linux") or platform.machine() not in _NUMBERS:
            self.reason = f"there is no perf_event_open on {platform.system()} {platform.machine()}"
            return
        self._open = _opener(_NUMBERS[platform.machine()])
        found, refused = [], ""
        for name, (kind, _) in EVENTS.items():
            try:
                os.close(self._open(0, name))
                found.append(name)
            except OSError as error:
                refused = refused or (str(error.strerror) if kind != _SOFTWARE else "")
        self.names = tuple(found)
        if all(EVENTS[name][0] == _SOFTWARE for name in found):
            self.reason = (
                f"the system refuses them ({refused}); /proc/sys/kernel/perf_event_paranoid has to be 2 or less, and "
                "virtual machines and containers may have none"
            )

    def around(self, call: Callable[[], object]) -> dict[str, float]:
        """Make a call, and return what was counted meanwhile, by name; nothing where there are no counters.

        Args:
            call: starts no threads, for these would not be counted; a kernel has its team after its first call.
        """
        if self._open is None or not self.names:
            call()
            return {}
        threads = [int(entry.name) for entry in Path("/proc/self/task").iterdir()]
        opened: list[tuple[str, int]] = []
        try:
            for name in self.names:
                for thread in threads:
                    try:
                        opened.append((name, self._open(thread, name)))
                    except OSError:
                        continue  # the thread has ended
            before = [_reading(handle) for _, handle in opened]
            call()
            after = [_reading(handle) for _, handle in opened]
        finally:
            for _, handle in opened:
                os.close(handle)
        counted = dict.fromkeys(self.names, 0.0)
        for (name, _), (start, wanted, ran), (end, wanted_then, ran_then) in zip(opened, before, after, strict=True):
            share = (wanted_then - wanted) / (ran_then - ran) if ran_then > ran else 0.0
            counted[name] += (end - start) * share
        return counted


def _opener(number: int) -> Callable[[int, str], int]:
    """A function that opens the counter of a thread (0 for the calling one) and returns its handle.

    Args:
        number: of the system call.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def open_counter(thread: int, name: str) -> int:
        kind, event = EVENTS[name]
        flags = _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR
        attributes = ctypes.create_string_buffer(
            _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, event, 0, 0, _TIMES_TOO, flags, 0, 0, 0), _ATTRIBUTES.size
        )
        any_processor, no_group = -1, -1
        handle: int = libc.syscall(
            ctypes.c_long(number),
            attributes,
            ctypes.c_int(thread),
            ctypes.c_int(any_processor),
            ctypes.c_int(no_group),
            ctypes.c_ulong(_CLOSE_ON_EXEC),
        )
        if handle < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return handle

    return open_counter


def _reading(handle: int) -> tuple[int, int, int]:
    """Return what a counter has counted, and for how long it was wanted and ran, in nanoseconds."""
    value, wanted, ran = _READING.unpack(os.read(handle, _READING.size))
    return value, wanted, ran
