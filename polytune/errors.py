"""The one class tree of polytune's errors and warnings.

Every message says what was wrong, where, why, and what to do about it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceLocation:
    """A place in the user's source: file, 1-based line, 0-based columns, and the text of the line."""

    file: str
    line: int
    column: int = 0
    end_column: int | None = None
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def segment(self) -> str:
        """The text of the place meant, of its first line; empty where the text is not known."""
        return self.text[self.column : self.end_column]

    def caret(self) -> str:
        """The source line with carets under the place meant; empty where the text is not known."""
        if not self.text.strip():
            return ""
        width = max(1, (self.end_column or self.column + 1) - self.column)
        width = min(width, max(1, len(self.text) - self.column))
        return f"    {self.text}\n    {' ' * self.column}{'^' * width}"

    @property
    def caret_below(self) -> str:
        """`caret` on lines of its own, for the middle of a message."""
        caret = self.caret()
        return f"\n{caret}" if caret else ""


class PolytuneError(Exception):
    """Base class of everything that polytune raises on purpose."""


class UnsupportedSourceError(PolytuneError):
    """The kernel's source is outside the language that can be compiled.

    Attributes:
        location: where in the source.
        what: what was found there.
        reason: why it cannot be compiled.
        remedy: what would be accepted instead.
    """

    def __init__(self, location: SourceLocation, what: str, reason: str, remedy: str):
        self.location, self.what, self.reason, self.remedy = location, what, reason, remedy
        lines = [f"{location}: {what}", location.caret(), f"why: {reason}", f"instead: {remedy}"]
        super().__init__("\n".join(line for line in lines if line))


class ArgumentError(PolytuneError, ValueError):
    """The arguments of a call do not fit the kernel; nothing has been written, unless the message says so."""


class UnassignedVariableError(ArgumentError, UnboundLocalError):
    """A call would read a variable that no iteration has assigned, as Python's error of that name says; nothing has
    been written."""


class SubscriptError(ArgumentError, IndexError):
    """A subscript that depends on data was out of range, as Python's IndexError says; the message tells where, and what
    has been written."""


class CompilationError(PolytuneError):
    """A version could not be compiled."""


class DefectError(CompilationError):
    """Something inside the compiler failed as it never should: a defect of polytune, not of the program."""


class LegalityError(PolytuneError):
    """A schedule that is to be generated from violates a dependence: a defect of polytune, not of the program."""


class VerificationError(CompilationError):
    """Code that the compiler has made is malformed: a defect of polytune, not of the program."""


class UnprovenError(PolytuneError):
    """Of a version it is not proven that it executes each statement instance once; it is left out, and never reaches
    the user."""


class SpaceError(PolytuneError, ValueError):
    """A search space is contradictory, empty or malformed, or a configuration is not a member of it."""


class MeasurementError(PolytuneError, ValueError):
    """A measurement cannot be used: NaN, negative, or told for an unknown configuration."""


class RecordingError(PolytuneError, ValueError):
    """A recorded space, or what a simulation left, cannot be read; the message names file, line and field."""


class SearchError(PolytuneError, ValueError):
    """A search is unknown, or has a setting that makes no sense."""


class MissingLibraryError(PolytuneError, ImportError):
    """Something needs a library that is not installed; the message says how to install it."""


class PackageError(PolytuneError, ImportError):
    """A built package cannot be used with the polytune that is installed, and has to be built again."""


class HistoryError(PolytuneError):
    """The record of measurements cannot be read or written."""


class DeviceError(PolytuneError):
    """Something that was to be done on a device failed; the processor can do it instead."""


class DeviceUnavailableError(DeviceError):
    """There is no such device, or what it needs is not installed."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The memory of a device is exhausted."""


class DeviceCompilationError(DeviceError, CompilationError):
    """A kernel could not be compiled for a device; the message ends with what the compiler says."""


class LaunchError(DeviceError):
    """A kernel could not be launched, or failed while it ran; the device goes on working."""


class DeviceLostError(DeviceError):
    """A device no longer answers; it is not used again in this process."""


class PolytuneWarning(UserWarning):
    """Base class of polytune's warnings."""


class CacheWarning(PolytuneWarning):
    """The disk cache or the history is not usable; work goes on without it."""


class RecordingWarning(PolytuneWarning):
    """A recorded space ends early; its complete entries are used."""


class RecompilationWarning(PolytuneWarning):
    """A kernel is compiled again and again, because something outside of it that it uses keeps changing."""


class DeviceWarning(PolytuneWarning):
    """A device is not used, though it was asked for."""
