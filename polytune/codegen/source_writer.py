"""Lines of a program with their indentation, of Python and of C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class SourceWriter:
    """Collects lines of Python; ``with writer.indented("if x:"):`` writes a header and indents what follows."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        self._lines.append(f"{'    ' * self._depth}{text}" if text else "")

    def verbatim(self, text: str) -> None:
        """Write lines as they are, without our indentation."""
        self._lines += text.splitlines()

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Indent what follows."""
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def indented(self, header: str) -> Iterator[None]:
        self.line(header)
        written = len(self._lines)
        with self.deeper():
            yield
            if len(self._lines) == written:
                self.line("pass")

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


class CWriter(SourceWriter):
    """Collects lines of C; ``with writer.braces("if (x) "):`` writes a header and a block."""

    @contextmanager
    def braces(self, header: str) -> Iterator[None]:
        self.line(f"{header}{{")
        with self.deeper():
            yield
        self.line("}")

    @contextmanager
    def conditional(self, macro: str) -> Iterator[None]:
        """Enclose what is compiled only if a macro is not 0."""
        self.verbatim(f"#if {macro}")
        yield
        self.verbatim("#endif")

    def alternative(self) -> None:
        """Enclose what is compiled otherwise."""
        self.verbatim("#else")
