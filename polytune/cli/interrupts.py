"""Ctrl-C that waits while several things change together.

Python runs the handler of a signal in its main thread, between any two instructions, whichever thread the operating
system has given the signal to.  So masking it in one thread keeps nothing out where there are others; a handler does.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType


class Interrupts:
    """The effect of Ctrl-C inside a ``with`` statement: it raises ``KeyboardInterrupt``, but not while it is ``held``.

    In threads other than the main one, and where the process ignores interrupts, nothing changes: none arrives there.
    """

    def __init__(self) -> None:
        self._pending = self._is_held = False
        self._before: signal.Handlers | object | None = None
        self._installed = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if callable(self._before):
                signal.signal(signal.SIGINT, self._arrived)
                self._installed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let an interrupt wait until the end of a ``with`` statement, whatever is raised in it.

        Raises:
            KeyboardInterrupt: at the end, where one has arrived, also before and lost in a destructor.
        """
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        self._pending = True
        if not self._is_held:
            raise KeyboardInterrupt

    def served(self) -> None:
        """Forget an interrupt that has been caught."""
        self._pending = False
