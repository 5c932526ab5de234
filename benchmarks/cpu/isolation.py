"""Work in a process of its own, which may take too long or crash without taking anything else with it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

Report = Callable[[str], None]
"""Called with what is done next."""


_inside = False
"""True where this process is itself one of those."""


class IsolationError(Exception):
    """The work took too long, failed, or its process died; the message says which."""


def isolated(
    work: Callable[..., Any], *arguments: Any, seconds: float, report: Report = lambda _: None, debug: bool = False
) -> Any:
    """Return what ``work(*arguments, report)`` returns, in a new process.

    All that it starts ends with it.

    Args:
        work: a function of a module; it is passed by name.
        arguments: what can be pickled.
        seconds: how long it may take.
        report: is called here with what the work passes to its own.
        debug: whether the message of a failure holds its traceback.

    Raises:
        IsolationError: there is no result.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    how = (sender, debug, not _inside, work, arguments)
    process = multiprocessing.get_context("spawn").Process(target=_run, args=how)
    process.start()
    sender.close()
    end = time.monotonic() + seconds
    try:
        while receiver.poll(max(0.0, end - time.monotonic())):
            try:
                kind, value = receiver.recv()
            except EOFError:
                process.join()
                raise IsolationError(_death(process.exitcode)) from None
            if kind == "report":
                report(value)
            elif kind == "result":
                return value
            else:
                raise IsolationError(value)
        raise IsolationError(f"it took longer than {seconds:g} s")
    finally:
        _end(process)
        receiver.close()


def _run(
    sender: Connection, debug: bool, own_session: bool, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    global _inside
    _inside = True
    if own_session:
        os.setsid()
    threading.Thread(target=_follow_parent, args=(own_session,), daemon=True).start()
    try:
        message = ("result", work(*arguments, lambda text: sender.send(("report", text))))
    except Exception as problem:
        lines = str(problem).strip().splitlines()
        text = f"{type(problem).__name__}: {lines[0] if lines else 'no message'}"
        message = ("error", f"{text}\n{traceback.format_exc()}" if debug else text)
    sender.send(message)


def _follow_parent(own_session: bool) -> None:
    """End this process when the one that started it has been killed, and with it its session."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    if own_session:
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _end(process: multiprocessing.process.BaseProcess) -> None:
    """End a process and those of its session, if it has one of its own."""
    process.kill()
    assert process.pid is not None
    # Its number is that of its first process, and those who are in it keep it alive.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"
