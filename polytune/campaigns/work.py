"""The kernels and shapes of a campaign: how a user names them, and what is sent to workers."""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polytune.errors import CampaignError
from polytune.records import dataclass

if TYPE_CHECKING:
    from polytune.kernel import Kernel

__all__ = ["CampaignWork", "Shapes", "read_shapes", "work_of"]


@dataclass(frozen=True)
class CampaignWork:
    """One kernel for arguments of one shape, as workers are told of it.

    Attributes:
        file: where the kernel's source is on the machine that began the campaign.
        text: what the file says.
        kernel: its name there.
        sizes: a value for each parameter of the kernel, by name.
        types: the types of its arguments, as ``polytune tune --signature`` takes them; empty where the source says.
    """

    file: str
    text: str
    kernel: str
    sizes: tuple[tuple[str, int], ...]
    types: str = ""

    @property
    def shape(self) -> str:
        """Return the sizes, for people."""
        return ", ".join(f"{name}={value}" for name, value in self.sizes)

    @property
    def title(self) -> str:
        """Return kernel and sizes, for people."""
        return f"{self.kernel}({self.shape})"


@dataclass(frozen=True)
class Shapes:
    """The sizes that a kernel is tuned for.

    Attributes:
        sizes: a value for each parameter, by name, for each shape.
        types: the types of its arguments; empty where the source says.
    """

    sizes: tuple[Mapping[str, int], ...]
    types: str = ""


def read_shapes(path: str | os.PathLike[str]) -> dict[str, Shapes]:
    """Read a file of TOML with a table for each kernel.

    ``shapes`` in it is a list of tables with a value for each parameter, ``signature`` the types of the arguments:

        [gemm]
        signature = "C: float32[:, ::1]"
        shapes = [{ni = 1000, nj = 1100, nk = 1200}, {ni = 100, nj = 100, nk = 100}]

    Raises:
        CampaignError: the file cannot be read, or says something else.
    """
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise CampaignError(f"{path} is no TOML: {error}") from error
    if not document:
        raise CampaignError(f"{path} names no kernel: it needs a table for each, as [gemm] with shapes = [{{n = 100}}]")
    return {name: _shapes(f"{path}, [{name}]", table) for name, table in document.items()}


def _shapes(place: str, table: Any) -> Shapes:
    if not isinstance(table, dict) or not set(table) <= {"shapes", "signature"} or "shapes" not in table:
        raise CampaignError(f"{place}: it has shapes, and may have a signature, and nothing else")
    types = table.get("signature", "")
    if not isinstance(types, str):
        raise CampaignError(f"{place}: a signature is a text, as 'A: float64[:, ::1], n: int'")
    return Shapes(checked_sizes(place, table["shapes"]), types)


def checked_sizes(place: str, shapes: Any) -> tuple[Mapping[str, int], ...]:
    """The sizes that a user has given.

    Args:
        place: where, for messages.
        shapes: a list of mappings from names to whole numbers.

    Raises:
        CampaignError: it is something else.
    """
    is_list = isinstance(shapes, Sequence) and not isinstance(shapes, str)
    if not is_list or not all(isinstance(each, Mapping) and _are_sizes(each) for each in shapes):
        raise CampaignError(f"{place}: shapes are a list of tables of whole numbers, as [{{n = 100}}, {{n = 200}}]")
    if not shapes:
        raise CampaignError(f"{place}: there is no shape")
    return tuple(dict(each) for each in shapes)


def _are_sizes(sizes: Mapping[Any, Any]) -> bool:
    return all(
        isinstance(name, str) and isinstance(value, int) and not isinstance(value, bool)
        for name, value in sizes.items()
    )


def work_of(kernels: Sequence[Kernel[..., Any]], shapes: Mapping[str, Shapes]) -> list[CampaignWork]:
    """Everything that a campaign is about, in the order of the kernels.

    Args:
        kernels: those that are tuned.
        shapes: of each, by name.

    Raises:
        CampaignError: a kernel has no shapes or no file, or shapes are of no kernel.
    """
    names = [kernel.__name__ for kernel in kernels]
    for name in shapes:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
            raise CampaignError(f"there are shapes of {name!r}, which is no kernel of the campaign; {hint}")
    found = []
    for kernel in kernels:
        if kernel.__name__ not in shapes:
            raise CampaignError(f"there are no shapes of {kernel.__name__!r}: each kernel of a campaign needs some")
        file, text = _source(kernel)
        of_kernel = shapes[kernel.__name__]
        for sizes in of_kernel.sizes:
            found.append(CampaignWork(file, text, kernel.__name__, tuple(sizes.items()), of_kernel.types))
    if len(set(found)) < len(found):
        twice = next(each for each in found if found.count(each) > 1)
        raise CampaignError(f"{twice.title} is there twice")
    return found


def _source(kernel: Kernel[..., Any]) -> tuple[str, str]:
    """The file that a kernel is in, and what it says."""
    function = kernel.__wrapped__
    try:
        file = Path(inspect.getsourcefile(function) or "").resolve(strict=True)
        text = file.read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError):
        file, text = Path(), ""
    if file.suffix != ".py" or "." in function.__qualname__:
        raise CampaignError(
            f"{kernel.__name__!r} cannot be sent to workers, which import the file of a kernel: write it to a file of "
            "its own, outside of functions and classes"
        )
    return str(file), text
