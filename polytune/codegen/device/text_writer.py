"""Lines of C with their indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class TextWriter:
    """Collects lines; ``with writer.braces("if (x) "):`` writes a header and a block."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str) -> None:
        self._lines.append(f"{'    ' * self._depth}{text}")

    @contextmanager
    def braces(self, header: str) -> Iterator[None]:
        self.line(f"{header}{{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    @contextmanager
    def conditional(self, macro: str) -> Iterator[None]:
        """What is compiled only if a macro is not 0."""
        self._lines.append(f"#if {macro}")
        yield
        self._lines.append("#endif")

    def alternative(self) -> None:
        """What is compiled otherwise."""
        self._lines.append("#else")

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"
