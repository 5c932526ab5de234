"""Lines of Python with their indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class SourceWriter:
    """Collects lines; ``with writer.indented("if x:"):`` writes a header and indents what follows."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        self._lines.append(f"{'    ' * self._depth}{text}" if text else "")

    def verbatim(self, text: str) -> None:
        """Lines as they are, without our indentation."""
        self._lines += text.splitlines()

    @contextmanager
    def indented(self, header: str) -> Iterator[None]:
        self.line(header)
        self._depth += 1
        written = len(self._lines)
        yield
        if len(self._lines) == written:
            self.line("pass")
        self._depth -= 1

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"
