"""The one class tree of polytune's errors and warnings.

Every message says what was wrong, where, why, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polytune.records import dataclass


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


@dataclass(frozen=True)
class Obstacle:
    """One thing in a kernel's source that stands in the way of compiling it.

    Attributes:
        location: where in the source.
        what: what was found there.
        reason: why it cannot be compiled.
        remedy: what would be accepted instead.
    """

    location: SourceLocation
    what: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        place = self.location
        lines = [f"{place}: {self.what}", place.caret(), f"why: {self.reason}", f"instead: {self.remedy}"]
        return "\n".join(line for line in lines if line)


class UnsupportedSourceError(PolytuneError):
    """The kernel's source is outside the language that can be compiled.

    Attributes:
        obstacles: all that stands in the way, in the order of the source.
        location, what, reason, remedy: those of the first obstacle.

    Args:
        others: the obstacles after the first one.
    """

    SHOWN = 10
    """So many obstacles are printed."""
    location: SourceLocation
    what: str
    reason: str
    remedy: str
    obstacles: tuple[Obstacle, ...]

    def __init__(self, location: SourceLocation, what: str, reason: str, remedy: str, others: Sequence[Obstacle] = ()):
        self.location, self.what, self.reason, self.remedy = location, what, reason, remedy
        self.obstacles = (Obstacle(location, what, reason, remedy), *others)
        texts = [str(obstacle) for obstacle in self.obstacles[: self.SHOWN]]
        if len(self.obstacles) > self.SHOWN:
            texts.append(f"and {len(self.obstacles) - self.SHOWN} more")
        super().__init__("\n\n".join(texts))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is made again, in another process for one, which Exception's own way cannot."""
        return type(self), (self.location, self.what, self.reason, self.remedy, self.obstacles[1:]), self.__dict__

    @classmethod
    def of(cls, obstacles: Sequence[Obstacle]) -> UnsupportedSourceError:
        """The error for all of some obstacles, at least one."""
        first, *others = obstacles
        return cls(first.location, first.what, first.reason, first.remedy, others)


class ArgumentError(PolytuneError, ValueError):
    """The arguments of a call do not fit the kernel; nothing has been written, unless the message says so."""


class SignatureError(ArgumentError, TypeError):
    """A call leaves out an argument that the kernel wants, or has one that it does not, as Python's TypeError says."""


class IntegerRangeError(ArgumentError, OverflowError):
    """A Python integer would become one of a NumPy type that cannot hold it, as Python's OverflowError says; nothing
    has been written."""


class UnassignedVariableError(ArgumentError, UnboundLocalError):
    """A call would read a variable that no iteration has assigned, as Python's error of that name says; nothing has
    been written."""


class BoundsError(ArgumentError, IndexError):
    """An access would be out of bounds, as Python's IndexError says; nothing has been written."""


class UncommonSubscriptError(BoundsError):
    """A subscript would be below 0, or out of range where data decide whether it is used at all; nothing has been
    written, and a kernel that takes any subscripts might take these."""


class SubscriptError(ArgumentError, IndexError):
    """A subscript that depends on data was out of range, as Python's IndexError says.

    Attributes:
        location: where it stands.
        arrays: the arrays that it may be a subscript of.
        references: the references there, as they are written.
        is_late: whether the kernel had run when it was found, so that something may have been written.
    """

    location: SourceLocation
    arrays: tuple[str, ...]
    references: tuple[str, ...]
    is_late: bool

    def __init__(
        self, location: SourceLocation, arrays: tuple[str, ...], references: tuple[str, ...], is_late: bool = False
    ):
        self.location, self.arrays, self.references, self.is_late = location, arrays, references, is_late
        written = (
            f"a subscript that {_LATE}"
            if is_late
            else "some number that is read for it is below -n, or not below n, for an axis of n elements; nothing was "
            "written"
        )
        what = f"a subscript of {' or '.join(map(repr, arrays))} was out of range, in {', '.join(references)}"
        remedy = "pass subscripts from -n to n - 1 for an axis of n elements, or test them before they are used"
        super().__init__(_late_text(location, what, written, remedy))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is made again, in another process for one, which Exception's own way cannot."""
        return type(self), (self.location, self.arrays, self.references, self.is_late), self.__dict__

    def at(self, location: SourceLocation) -> SubscriptError:
        """The same error at another place."""
        return SubscriptError(location, self.arrays, self.references, self.is_late)


class DataError(ArgumentError):
    """Something that depends on data does not fit, as extents that meet: found while the kernel ran, so that something
    may have been written.

    Attributes:
        location: where it stands.
        what: what is wrong.
    """

    location: SourceLocation
    what: str
    is_late = True

    def __init__(self, location: SourceLocation, what: str):
        self.location, self.what = location, what
        remedy = "test before whether it does, or call the kernel with arrays and numbers for which it does"
        super().__init__(_late_text(location, what, f"what {_LATE}", remedy))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is made again, in another process for one, which Exception's own way cannot."""
        return type(self), (self.location, self.what), self.__dict__

    def at(self, location: SourceLocation) -> DataError:
        """The same error at another place."""
        return type(self)(location, self.what)


EMPTY_LIST = "pop from an empty list"
"""The text of an ``EmptyListError``, Python's own."""


class EmptyListError(DataError, IndexError):
    """A list has had no element to give, as Python's IndexError says; found while the kernel ran."""


class ComplexEigenvaluesError(ArgumentError):
    """A real matrix has complex eigenvalues, where compiled code has room for real ones; found while the kernel ran.

    Attributes:
        function: the function of ``np.linalg`` that was to compute them.
    """

    function: str

    def __init__(self, function: str):
        self.function = function
        super().__init__(
            f"np.linalg.{function} of real numbers that have complex eigenvalues\n"
            f"why: NumPy gives complex numbers here and real ones elsewhere, and a kernel is compiled for one type, "
            f"that of the matrix; what follows was not computed, and what had been written until then is\n"
            f"instead: pass complex numbers, np.linalg.{function}(A.astype(np.complex128)), of which all results are "
            f"complex"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is made again, in another process for one, which Exception's own way cannot."""
        return type(self), (self.function,), self.__dict__


_LATE = (
    "depends on data is only known while the kernel runs; from then on nothing that needs it was computed, and what "
    "had been written until then is"
)


def _late_text(location: SourceLocation, what: str, why: str, remedy: str) -> str:
    lines = [f"{location}: {what}", location.caret(), f"why: {why}", f"instead: {remedy}"]
    return "\n".join(line for line in lines if line)


def found_late(
    location: SourceLocation, arrays: tuple[str, ...], references: tuple[str, ...], what: str
) -> SubscriptError | DataError:
    """The error for what a kernel has found wrong while it ran.

    Args:
        location: where it stands.
        arrays, references: of a subscript that is out of range, the arrays and the references there.
        what: what else is wrong; empty for a subscript.
    """
    if what:
        return EmptyListError(location, what) if what == EMPTY_LIST else DataError(location, what)
    return SubscriptError(location, arrays, references, is_late=True)


class CompilationError(PolytuneError):
    """A version could not be compiled."""


class WorkingFolderError(PolytuneError):
    """The folder that the process works in has been deleted, and without one nothing can be compiled."""


class DefectError(CompilationError):
    """Something inside the compiler failed as it never should: a defect of polytune, not of the program."""


class LegalityError(PolytuneError):
    """A schedule that is to be generated from violates a dependence: a defect of polytune, not of the program."""


class VerificationError(CompilationError):
    """Code that the compiler has made is malformed: a defect of polytune, not of the program."""


class UnprovenError(PolytuneError):
    """A version is not proven to execute each statement instance once; it is left out, and the error never reaches the
    user."""


class SpaceError(PolytuneError, ValueError):
    """A search space is contradictory, empty or malformed, or a configuration is not a member of it."""


class MeasurementError(PolytuneError, ValueError):
    """A measurement cannot be used: NaN, negative, or told for an unknown configuration."""


class RecordingError(PolytuneError, ValueError):
    """A recorded space, or what a simulation left, cannot be read; the message names file, line and field."""


class OutputError(PolytuneError, OSError):
    """A file or folder that something is to be written to cannot be; the message says what to do."""


class SearchError(PolytuneError, ValueError):
    """A search is unknown, or has a setting that makes no sense."""


class MissingLibraryError(PolytuneError, ImportError):
    """Something needs a library that is not installed; the message says how to install it."""


class PackageError(PolytuneError, ImportError):
    """A built package cannot be used with the polytune that is installed, and has to be built again."""


class HistoryError(PolytuneError):
    """The record of measurements cannot be read or written."""


class HistoryUnavailableError(HistoryError):
    """The server that keeps the history cannot be reached, or cannot do what it was asked to."""


class CampaignError(PolytuneError):
    """A campaign cannot begin or go on: what it is about makes no sense, or its workers cannot be used."""


class DeviceError(PolytuneError):
    """Something that was to be done on a device failed; the processor can do it instead."""


class DeviceUnavailableError(DeviceError):
    """A device is not there, or what it needs is not installed."""


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
