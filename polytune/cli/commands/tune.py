"""``polytune tune``: let a kernel tune itself on arguments made up for it, and say what that found."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from polytune.cli.analysis import print_steps
from polytune.cli.console import print_json, print_table, progress, results
from polytune.cli.options import Debug, Json
from polytune.cli.signature import SignatureOption, complete_signature
from polytune.cli.target import kernels_among, kernels_in, load_kernel, parse_target
from polytune.environment import DEVICES
from polytune.errors import DeviceWarning
from polytune.files import check_output, check_output_folder

if TYPE_CHECKING:
    from polytune.cli.recording import Recorded
    from polytune.cli.tuning import TuningOutcome
    from polytune.kernel import Kernel
    from polytune.signature import Signature


def tune(
    target: Annotated[str, typer.Argument(metavar="FILE[:KERNEL]", help="The kernel to tune; with --shapes several.")],
    size: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the kernel, as n=1000; repeatable.")
    ] = None,
    signature: SignatureOption = "",
    device: Annotated[
        str | None,
        typer.Option(metavar="DEVICES", help="The devices to share it with, as POLYTUNE_DEVICES names them, or none."),
    ] = None,
    calls: Annotated[int, typer.Option(min=1, help="Stop after so many calls.")] = 500,
    seconds: Annotated[float, typer.Option(min=0.0, help="Stop after so many seconds.")] = 60.0,
    search: Annotated[
        list[str] | None,
        typer.Option(metavar="SEARCH", help="How: as genetic:population=30, or NODE=SEARCH for one node; repeatable."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="What the random choices come from.")] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Do not tune, but write down measurements.")
    ] = None,
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help="With --record: of every configuration.")] = False,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With --record: of N configurations drawn at random.")
    ] = None,
    shapes: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Tune for these shapes, by workers: a campaign.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="With --shapes: tcp://HOST:PORT of Dask, or local[:N] workers here."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Draw the time of each call and of all, as PNG.")
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Call a kernel over and over on random data until it is tuned, and print the best that was found.

    What is found is remembered: an application that calls the kernel on arguments of these sizes starts from it.
    With --record, configurations are measured and written to a file, which polytune simulate can search.
    With --shapes, workers of a Dask cluster measure, --calls configurations of each kernel and shape at most.
    Searches and their settings are in docs/searches.md.
    """
    check_recording(record, exhaustive, sample)
    check_output(record)
    check_output_folder(plot)
    if shapes is not None or scheduler is not None:
        given = {"--size": size, "--signature": signature, "--record": record, "--device": device, "--plot": plot}
        check_campaign(shapes, [name for name, value in given.items() if value])
        assert shapes is not None
        tune_several(target, shapes, scheduler or "local", calls, parse_search(search or ()), seed, as_json=as_json)
        return
    sizes = dict(parse_size(text) for text in size or ())
    searched = parse_search(search or ())
    check_recorded(record, searched, seed, plot)
    if device is not None:
        choose_devices(device)
    kernel = load_kernel(target)
    types = complete_signature(kernel.__wrapped__, signature) if signature else None
    if record is not None:
        record_measurements(kernel, sizes, record, sample, types, as_json=as_json)
        return
    from polytune.cli.tuning import TuningLimits, tune_kernel

    outcome = tune_kernel(kernel, sizes, TuningLimits(calls, seconds), types, searched, seed)
    figures = None if plot is None else draw_trace(kernel.__name__, outcome, plot)
    if as_json:
        drawn = {} if figures is None else {"figures": [str(file) for file in figures]}
        print_json({"kernel": kernel.__name__, "sizes": sizes, **outcome.as_dict(), **drawn})
    else:
        print_outcome(outcome, figures or ())


def record_measurements(
    kernel: Kernel[..., Any],
    sizes: Mapping[str, int],
    record: Path,
    sample: int | None,
    signature: Signature | None,
    *,
    as_json: bool,
) -> None:
    """Measure configurations, write them to a file, and print how many.

    Args:
        kernel: whose.
        sizes: a value for each of its parameters.
        record: the file.
        sample: how many configurations; None for all.
        signature: the types of its arguments; None for those of its source.
        as_json: whether to print JSON.
    """
    from polytune.cli.recording import record_space

    recorded = record_space(kernel, sizes, record, sample, signature=signature)
    if as_json:
        print_json({"kernel": kernel.__name__, "sizes": sizes, "record": str(record), **_as_dict(recorded)})
    else:
        results.print(Text(_recorded_summary(recorded, record)))


def print_outcome(outcome: TuningOutcome, figures: Sequence[Path]) -> None:
    """Print what tuning has found, and the files of figures."""
    for about, steps in outcome.experiments:
        print_steps(" ".join(f"{name}={value}" for name, value in about.items()), steps)
    print_table(_table(outcome))
    results.print(Text(_summary(outcome)))
    for file in figures:
        results.print(Text(str(file)))


def draw_trace(name: str, outcome: TuningOutcome, folder: Path) -> list[Path]:
    """Draw how a kernel was tuned; nothing where no call was needed, as all was known.

    Args:
        name: the kernel.
        outcome: of tuning it.
        folder: where to.

    Returns:
        The files.
    """
    from polytune.lab.traces import draw_traces, trace_of

    if not any(trial.seconds is not None for trial in outcome.trials):
        return []
    return draw_traces({name: trace_of(outcome.trials, outcome.calls)}, folder, name)


def check_campaign(shapes: Path | None, others: Sequence[str]) -> None:
    """See to it that the options about campaigns go together.

    Args:
        shapes: the file of shapes; None where it is not given.
        others: the names of options that were given and go with no campaign.

    Raises:
        typer.BadParameter: they do not.
    """
    if shapes is None:
        raise typer.BadParameter("--scheduler needs --shapes FILE.toml, which says what is tuned")
    if others:
        raise typer.BadParameter(f"{others[0]} does not go with --shapes: the file says what is tuned")


def tune_several(
    target: str,
    shapes: Path,
    scheduler: str,
    trials: int,
    search: str | dict[str, str] | None,
    seed: int | None,
    *,
    as_json: bool,
) -> None:
    """Run a campaign and print what it has found.

    Args:
        target: the kernels, as ``FILE`` or ``FILE:KERNEL,KERNEL``.
        shapes: the file that gives their shapes.
        scheduler: whose workers measure.
        trials: how many configurations of each kernel and shape at most.
        search, seed: as for `polytune.campaign`.
        as_json: whether what was found is printed as JSON.

    Raises:
        typer.Exit: it was interrupted.
    """
    from polytune.campaigns.work import read_shapes
    from polytune.cli.campaigns import run_campaign, table_of

    named, of_kernels = parse_target(target), read_shapes(shapes)
    everything = kernels_in(named.file)
    kernels = kernels_among(everything, named)
    if not named.kernels:  # of a file, those that have shapes
        kernels = tuple(kernel for kernel in kernels if kernel.__name__ in of_kernels) or kernels
    others = {kernel.__name__ for kernel in everything.values() if kernel not in kernels}
    chosen = {name: each for name, each in of_kernels.items() if name not in others}
    outcome = run_campaign(kernels, chosen, client=scheduler, trials=trials, search=search, seed=seed or 0)
    if as_json:
        print_json(outcome.to_json())
    else:
        print_table(table_of(outcome.entries))
    if outcome.interrupted:
        progress.print(Text("interrupted; what was measured is kept, and the same command goes on"), soft_wrap=True)
        raise typer.Exit(1)


def choose_devices(names: str) -> None:
    """Use the devices of these names in this process, and no others.

    Raises:
        typer.BadParameter: there is no such device, or it cannot be used.
    """
    from polytune.runtime.devices import discovery

    DEVICES.set(names)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DeviceWarning)
        discovery.devices()
    if told:
        raise typer.BadParameter(f"--device {names}: {told[0].message}")


def check_recording(record: Path | None, exhaustive: bool, sample: int | None) -> None:
    """See to it that the options about recording go together.

    Args:
        record: the file to write; None where it is not asked for.
        exhaustive: whether every configuration is to be measured.
        sample: how many are; None where that is not said.

    Raises:
        typer.BadParameter: they do not.
    """
    if exhaustive and sample is not None:
        raise typer.BadParameter("--exhaustive measures everything and --sample a part: give one of them")
    if record is None and (exhaustive or sample is not None):
        raise typer.BadParameter("--exhaustive and --sample need --record FILE.jsonl, the file to write")
    if record is not None and not exhaustive and sample is None:
        raise typer.BadParameter("--record needs --exhaustive, or --sample N")


def check_recorded(
    record: Path | None, search: str | dict[str, str] | None, seed: int | None, plot: Path | None
) -> None:
    """See to it that no option says how to tune where measurements are recorded.

    Args:
        record: the file to write; None where it is not asked for.
        search, seed, plot: the options; None where they are not given.

    Raises:
        typer.BadParameter: one does.
    """
    if record is not None and (search is not None or seed is not None):
        raise typer.BadParameter("--search and --seed say how to tune; --record measures without a search")
    if record is not None and plot is not None:
        raise typer.BadParameter("--plot draws how a kernel is tuned; --record does not tune it")


def parse_size(text: str) -> tuple[str, int]:
    """Read ``n=1000``.

    Raises:
        typer.BadParameter: the text is something else.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (equals and name.isidentifier() and re.fullmatch("-?[0-9]+", value)):
        raise typer.BadParameter(f"--size {text!r} is not NAME=VALUE with a whole number, for example n=1000")
    return name, int(value)


def parse_search(written: Sequence[str]) -> str | dict[str, str] | None:
    """Read ``genetic:population=30``, or ``nominal=random`` and ``numeric=tpe``.

    Raises:
        typer.BadParameter: several searches are given for one node, or one without a node beside others.
    """
    if not written:
        return None
    named = [text.partition("=") if "=" in text.partition(":")[0] else ("", "", text) for text in written]
    nodes = [node.strip() for node, _, _ in named]
    if len(written) == 1 and not nodes[0]:
        return written[0]
    if not all(nodes) or len(set(nodes)) < len(nodes):
        raise typer.BadParameter(
            f"--search {' --search '.join(written)}: give one search for everything, or one for each node, as "
            "--search nominal=epsilon_greedy --search numeric=portfolio"
        )
    return {node: search.strip() for node, (_, _, search) in zip(nodes, named, strict=True)}


def _table(outcome: TuningOutcome) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("configuration", overflow="fold")
    table.add_column("ms", justify="right")
    table.add_column("speedup", justify="right")
    for configuration, duration in outcome.ranking:
        text = " ".join(f"{name}={value}" for name, value in configuration.items())
        mark = " (the default)" if configuration == outcome.default else ""
        table.add_row(Text(text + mark), f"{duration * 1e3:.3f}", f"{outcome.default_seconds / duration:.2f}")
    return table


def _summary(outcome: TuningOutcome) -> str:
    if outcome.calls == 0:
        return "no call was needed: it has been tuned before (polytune history --forget begins anew)"
    state = "converged" if outcome.converged else "not converged: more --calls or --seconds may find better"
    return f"{outcome.calls} calls in {outcome.elapsed:.1f} s, {state}"


def _as_dict(recorded: Recorded) -> dict[str, Any]:
    best = None if recorded.best is None else {"configuration": dict(recorded.best[0]), "seconds": recorded.best[1]}
    return {**vars(recorded), "best": best}


def _recorded_summary(recorded: Recorded, file: Path) -> str:
    failed = f", {recorded.failed} failed now" if recorded.failed else ""
    best = "" if recorded.best is None else f"; the fastest now took {recorded.best[1] * 1e3:.3f} ms"
    without = f"\nWithout the processor's own counters: {recorded.without}." if recorded.without else ""
    return f"{file}: {recorded.recorded} of {recorded.wanted} configurations wanted{failed}{best}{without}"
