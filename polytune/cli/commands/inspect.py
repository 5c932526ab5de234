"""``polytune inspect``: print what any stage of the compiler made of a kernel."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polytune.cli.console import print_json, progress
from polytune.cli.options import Debug, Json
from polytune.cli.signature import SignatureOption, complete_signature
from polytune.cli.target import load_kernel
from polytune.files import failure_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polytune.tuner import Space


class Stage(StrEnum):
    """The stages that can be shown, in the order in which they are made."""

    SCOP = "scop"
    DEPENDENCES = "deps"
    SCHEDULE = "schedule"
    LOOPS = "loops"
    CPU = "cpu"
    C = "c"
    PARTITION = "partition"
    CUDA = "cuda"
    OPENCL = "opencl"
    TRANSFERS = "transfers"
    SPACE = "space"
    COUNTS = "counts"


OF_DEVICES = (Stage.PARTITION, Stage.CUDA, Stage.OPENCL, Stage.TRANSFERS)
"""The stages that go region by region."""

_FLAGS = ("true", "false")


def inspect(
    target: Annotated[str, typer.Argument(metavar="FILE[:KERNEL]", help="The kernel to look at.")],
    show: Annotated[Stage, typer.Option(help="The stage to print.")] = Stage.SCHEDULE,
    signature: SignatureOption = "",
    region: Annotated[
        int | None, typer.Option(metavar="N", help="Only region N of partition, cuda, opencl or transfers.")
    ] = None,
    choices: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A choice for cuda or opencl, as in block=128; repeatable."),
    ] = None,
    after: Annotated[
        str,
        typer.Option(metavar="NAME", help="Only the loops right after an order or a transform."),
    ] = "",
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the space as a graph, .svg or .dot, or for other tuners, T1 .json."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Keep the source order of every sum.")] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Print one stage of a kernel's compilation, among them the device code as a compiler gets it (cuda, opencl).

    Arguments whose type is neither annotated nor given are taken for what their use suggests: what is
    subscripted is a contiguous float64 array, what bounds a loop an int, and the rest what its default is, or a float.
    """
    chosen = read_choices(show, choices or [])
    if region is not None and show not in OF_DEVICES:
        raise typer.BadParameter(f"--region is for {', '.join(OF_DEVICES)}, not for {show.value}")
    if picture is not None and show is not Stage.SPACE:
        raise typer.BadParameter(f"--picture is for space, not for {show.value}")
    if after and show is not Stage.LOOPS:
        raise typer.BadParameter(f"--after is for loops, not for {show.value}")
    kernel = load_kernel(target)
    if strict:
        kernel = kernel.strict
    with progress.status(f"analysing {kernel.__name__}"):
        types = complete_signature(kernel.__wrapped__, signature)
        from polytune.show_devices import DeviceView

        stages = kernel.stages(types)
        text = stages.show_loops(after) if after else stages.show(show.value, DeviceView(region, chosen))
        if picture is not None:
            write_space(kernel.space_of(types), kernel.__name__, picture)
    if as_json:
        print_json({"kernel": kernel.__name__, "show": show.value, "text": text})
    else:
        print(text)


def read_choices(show: Stage, pairs: Sequence[str]) -> dict[str, int | bool]:
    """The choices that ``NAME=VALUE`` pairs make for the text of a device kernel.

    Raises:
        typer.BadParameter: the stage has no choices, or one is unknown or has no such value.
    """
    if not pairs:
        return {}
    from polytune.runtime.partitioned.choices import CHOICES

    if show not in (Stage.CUDA, Stage.OPENCL):
        raise typer.BadParameter(f"--set is for cuda and opencl, not for {show.value}")
    values = {choice.name: _FLAGS if choice.is_flag else tuple(map(str, choice.values)) for choice in CHOICES}
    found: dict[str, int | bool] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in values:
            raise typer.BadParameter(f"--set: there is no choice {name!r}; there are {', '.join(values)}")
        if values[name] == _FLAGS:
            value = value.lower()  # as Python writes it, and as the space is printed, or as here
        if value not in values[name]:
            raise typer.BadParameter(f"--set: {name} is one of {', '.join(values[name])}, not {value!r}")
        found[name] = value == "true" if value in _FLAGS else int(value)
    return found


FORMATS = (".svg", ".dot", ".json")
"""The endings of files that can be written: a picture, Graphviz text, T1."""


def write_space(space: Space, name: str, path: Path) -> None:
    """Write a space in the format that the file's ending names.

    Args:
        space: what is drawn or written.
        name: the kernel's, which T1 files give.
        path: the file, whose ending is one of ``FORMATS``.

    Raises:
        typer.BadParameter: the ending is another, or the file cannot be written.
    """
    from polytune.tuner.spaces.t1 import to_t1

    if path.suffix not in FORMATS:
        raise typer.BadParameter(f"--picture: the file must end in {', '.join(FORMATS)}, not {path.suffix!r}")
    graph = space.graph()
    writers: dict[str, Callable[[], str]] = {
        ".svg": graph.to_svg,
        ".dot": graph.to_dot,
        ".json": lambda: to_t1(space, name),
    }
    text = writers[path.suffix]()
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"--picture: {failure_of(error)}") from None
