"""A bound on isl's processor time that the operations it counts do not give.

isl counts basic operations, of which one may be a row of a tableau with a thousand columns of large integers: a
hundred thousand of them have taken six seconds.  isl holds Python's lock while it works, so no thread of Python could
stop it.  A timer of the system (``timer_create``, POSIX.1-2017) can: when it expires, the C library calls
``isl_ctx_abort`` in a thread of its own, and isl's next operation fails.

The address of isl's context is found in the object of islpy that holds it, and is believed only where the greatest
number of operations, which islpy sets, is where isl keeps it.  Where there is no such timer (only Linux has one and
``/proc``), or the address is not found, operations alone bound the work.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from struct import iter_unpack

import islpy as isl

_THREAD_PROCESSOR_TIME = 3
"""Linux's ``CLOCK_THREAD_CPUTIME_ID``: of the thread that makes the timer."""

_CALL_IN_A_THREAD = 2
"""``SIGEV_THREAD``: the C library calls a function when the timer expires."""

_CONTEXT_BYTES = 1024
"""The number of bytes of a context that are searched."""

_PATIENCE = 1.0
"""The seconds for which the call of a timer that has expired is waited for."""

_awaiting_abortion: list[isl.Context] = []
"""Contexts that a late call may still write to: their memory must stay theirs."""

_bounded = threading.local()
"""The state of each thread: ``now`` is true while it is in such a block."""


@contextmanager
def interrupted_after(context: isl.Context, seconds: float) -> Iterator[None]:
    """Have all operations of a context fail once this thread has used so many seconds of processor time in the block.

    After the block the context works again.  Of blocks that lie within one another the outermost one's time counts.

    Args:
        context: isl's context.
        seconds: the processor time, in seconds; the block is not bounded where that is infinite.
    """
    timers = None if seconds == float("inf") or getattr(_bounded, "now", False) else _timers()
    address = None if timers is None else timers.address(context)
    timer = None if timers is None or address is None else timers.start(address, max(seconds, 1e-3))
    if timers is None or timer is None:
        yield
        return
    _bounded.now = True
    try:
        yield
    finally:
        _bounded.now = False
        timers.stop(timer, context)


class _Timers:
    """The system's timers that abort what isl does."""

    def __init__(self, library: ctypes.CDLL, system: ctypes.CDLL, offset: int):
        self._abort = ctypes.cast(library.isl_ctx_abort, ctypes.c_void_p).value
        self._offset = offset
        self._system = system
        self._last = 0

    def start(self, address: int, seconds: float) -> ctypes.c_void_p | None:
        """A timer that aborts the context at an address; None where the system has no more timers."""
        event = _Event(context=address, notification=_CALL_IN_A_THREAD, function=self._abort)
        timer = ctypes.c_void_p()
        if self._system.timer_create(_THREAD_PROCESSOR_TIME, ctypes.byref(event), ctypes.byref(timer)) != 0:
            return None
        self._set(timer, seconds)
        return timer

    def stop(self, timer: ctypes.c_void_p, context: isl.Context) -> None:
        """End a timer, and take back what it has done."""
        # What was left is told by the very call that stops the timer: between two calls it could expire.
        left = self._set(timer, 0)
        if left.seconds == 0 and left.nanoseconds == 0:
            # The call comes from another thread, and must not reach the context later.
            patience = time.monotonic() + _PATIENCE
            while not context.aborted() and time.monotonic() < patience:
                time.sleep(1e-4)
            if not context.aborted():
                # Where it comes all the same, it writes to this context, and not to what its memory became.
                _awaiting_abortion.append(context)
        self._system.timer_delete(timer)
        if context.aborted():
            context.resume()

    def _set(self, timer: ctypes.c_void_p, seconds: float) -> _Duration:
        """Set a timer, or stop it with 0 seconds; return what was left of its time, which is 0 where it has expired."""
        setting, before = _Setting(value=_Duration(int(seconds), int(seconds % 1 * 1e9))), _Setting()
        self._system.timer_settime(timer, 0, ctypes.byref(setting), ctypes.byref(before))
        left: _Duration = before.value
        return left

    def address(self, context: isl.Context) -> int | None:
        """The address of the isl context that an object of islpy holds, in it or behind one pointer more; None where it
        is not found."""
        before = context.get_max_operations()
        try:
            with open("/proc/self/mem", "rb", buffering=0) as memory:
                # Most often it is the context of the question before.
                if self._is_context(memory.fileno(), self._last, context):
                    return self._last
                inside = _words(memory.fileno(), id(context), type(context).__basicsize__)[2:]
                # Where what an object stands for is near it, nanobind keeps how far away instead of an address.
                near = [id(context) + (word + 2**31) % 2**32 - 2**31 for word in inside[:1]]
                inside = [*inside, *near]
                for address in (*inside, *(word for each in inside for word in _words(memory.fileno(), each, 8))):
                    if self._is_context(memory.fileno(), address, context):
                        self._last = address
                        return address
        except OSError:
            return None
        finally:
            context.set_max_operations(before)
        return None

    def _is_context(self, memory: int, address: int, context: isl.Context) -> bool:
        """Return whether what islpy sets in a context stands where it would if the context lay at an address.

        That it stands somewhere behind the address would not do: the object that holds the context's address may lie
        just before the context.  Nothing but the system reads at the address, which may be no memory.
        """
        for operations in _NUMBERS:
            context.set_max_operations(operations)
            if _words(memory, address + self._offset, 8) != [operations]:
                return False
        return True


_NUMBERS = (0x5A3C_91E7_0D24, 0x2E81_6FB3_C5A9)
"""Numbers of operations that nothing else in memory is."""


def _offset(library: ctypes.CDLL) -> int | None:
    """Return how far behind the address of a context isl keeps its greatest number of operations, as a context that is
    made for it shows; None where that is not to be seen."""
    library.isl_ctx_alloc.restype = ctypes.c_void_p
    library.isl_ctx_free.argtypes = (ctypes.c_void_p,)
    library.isl_ctx_set_max_operations.argtypes = (ctypes.c_void_p, ctypes.c_ulong)
    context = library.isl_ctx_alloc()
    if not context:
        return None
    places: set[int] | None = None
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for operations in _NUMBERS:
                library.isl_ctx_set_max_operations(context, operations)
                words = _words(memory.fileno(), context, _CONTEXT_BYTES)
                found = {8 * number for number, word in enumerate(words) if word == operations}
                places = found if places is None else places & found
    except OSError:
        return None
    finally:
        library.isl_ctx_free(context)
    return places.pop() if places and len(places) == 1 else None


class _Duration(ctypes.Structure):
    """C's ``struct timespec``."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    """C's ``struct itimerspec``."""

    _fields_ = (("interval", _Duration), ("value", _Duration))


class _Event(ctypes.Structure):
    """C's ``struct sigevent``, which is 64 bytes long."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notification", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("rest", ctypes.c_byte * 40),
    )


@cache
def _timers() -> _Timers | None:
    """The timers, where the system has them and isl's library is found."""
    if not sys.platform.startswith("linux") or sys.maxsize < 2**32 or sys.implementation.name != "cpython":
        return None
    system = ctypes.CDLL(None)
    try:
        with open("/proc/self/maps") as mapped:
            files = {line.split(maxsplit=5)[-1].strip() for line in mapped if "isl" in line and ".so" in line}
        for file in sorted(files):
            library = ctypes.CDLL(file)
            if hasattr(library, "isl_ctx_abort") and hasattr(system, "timer_create"):
                offset = _offset(library)
                return None if offset is None else _Timers(library, system, offset)
    except OSError:
        return None
    return None


def _words(memory: int, address: int, size: int) -> list[int]:
    return [word for (word,) in iter_unpack("=Q", _bytes(memory, address, size - size % 8))]


def _bytes(memory: int, address: int, size: int) -> bytes:
    """Return what is in this process's memory; nothing where there is no memory.  The system reads, so that no address
    can do harm."""
    if not 4096 <= address < 2**47:
        return b""
    try:
        found = os.pread(memory, size, address)
    except OSError:
        return b""
    return found[: len(found) - len(found) % 8]
