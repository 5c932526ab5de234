"""The table behind ``polytune tune --shapes``: how far a campaign is, and what it has found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from polytune.cli.console import kernel_table, progress, progress_text

if TYPE_CHECKING:
    from polytune.campaigns.campaign import CampaignResult
    from polytune.campaigns.progress import CampaignEntry, Progress
    from polytune.kernel import Kernel

__all__ = ["run_campaign", "table_of"]


def run_campaign(kernels: Sequence[Kernel[..., Any]], shapes: Any, **settings: Any) -> CampaignResult:
    """Run a campaign, and show on standard error how far it is.

    Args:
        kernels, shapes, settings: as for `polytune.campaign`.
    """
    from polytune.campaigns.campaign import campaign

    with _shown() as show:
        return campaign(kernels, shapes, progress=show, **settings)


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None]]:
    """The function that shows how far a campaign is: on a terminal by a table that changes, elsewhere by a line every
    few seconds."""
    if progress.is_terminal:
        with Live(Text("starting the workers"), console=progress, transient=True, auto_refresh=False) as live:
            yield lambda now: live.update(Group(table_of(now.entries, now.limit), Text(_line(now))), refresh=True)
    else:
        with progress_text("starting the workers") as line:
            yield lambda now: line.update(_line(now))


def table_of(entries: Sequence[CampaignEntry], limit: int | None = None) -> Table:
    """A row for each kernel, shape and kind of machine.

    Args:
        entries: what has been found.
        limit: how many trials there are at most; None where that is not shown.
    """
    machines = {entry.machine for entry in entries}
    table = kernel_table(machines, ("trials", "failed", "best ms", "speedup"))
    table.add_column("best", overflow="fold")
    for entry in entries:
        trials = str(entry.trials) if limit is None or entry.finished else f"{entry.trials} of {limit}"
        table.add_row(
            Text(entry.kernel),
            Text(", ".join(f"{name}={value}" for name, value in entry.shape.items())),
            *([Text(entry.machine)] if len(machines) > 1 else []),
            trials,
            str(entry.failed),
            "-" if entry.seconds is None else f"{entry.seconds * 1e3:.4g}",
            _speedup(entry),
            Text("" if entry.best is None else " ".join(f"{name}={value}" for name, value in entry.best.items())),
        )
    return table


def _speedup(entry: CampaignEntry) -> str:
    if entry.default_seconds is None or not entry.seconds:
        return "-"
    return f"{entry.default_seconds / entry.seconds:.2f}"


def _line(now: Progress) -> str:
    done = sum(entry.finished for entry in now.entries)
    trials = sum(entry.trials for entry in now.entries)
    workers = "1 worker" if now.workers == 1 else f"{now.workers} workers"
    lost = f", {now.lost} tasks lost and done again" if now.lost else ""
    left = "" if now.left is None else f", at most {_duration(now.left)} more"
    return (
        f"{done} of {len(now.entries)} searches done, {trials} trials, {workers}, {now.busy} busy{lost}, "
        f"{_duration(now.seconds)} so far{left}"
    )


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
