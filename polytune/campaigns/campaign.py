"""The function that runs a campaign, and what it returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polytune.campaigns.pools import pool_of
from polytune.campaigns.progress import CampaignEntry, Progress
from polytune.campaigns.running import Running
from polytune.campaigns.search import Settings
from polytune.campaigns.work import Shapes, checked_sizes, read_shapes, work_of
from polytune.campaigns.worker import is_worker
from polytune.errors import CampaignError
from polytune.history import HistoryStore, default_store
from polytune.records import dataclass
from polytune.tuner import Search, check_search

if TYPE_CHECKING:
    from polytune.kernel import Kernel

__all__ = ["CampaignEntry", "CampaignResult", "campaign"]


@dataclass(frozen=True)
class CampaignResult:
    """The result of a campaign.

    Attributes:
        entries: what was found for each kernel, shape and kind of machine.
        interrupted: whether it was stopped by Ctrl-C; what was measured is kept.
    """

    entries: tuple[CampaignEntry, ...]
    interrupted: bool

    def to_json(self) -> dict[str, Any]:
        """The result as JSON has it."""
        return {"entries": [each.to_json() for each in self.entries], "interrupted": self.interrupted}


def campaign(
    kernels: Kernel[..., Any] | Sequence[Kernel[..., Any]],
    shapes: str | os.PathLike[str] | Sequence[Mapping[str, int]] | Mapping[str, Sequence[Mapping[str, int]]],
    *,
    client: Any = "local",
    workers: int | None = None,
    trials: int = 200,
    runs: int = 5,
    seconds: float = 2.0,
    timeout: float = 300.0,
    search: Search | None = None,
    seed: int = 0,
    history: HistoryStore | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> CampaignResult:
    """Tune kernels for several shapes on all machines of a cluster.

    Each kind of machine has a search of its own for each kernel and shape, which all workers of that kind measure for.
    What is measured goes to the history at once, under the machine's key; what the history has already is not measured
    again, so that a campaign that was stopped goes on where it was.

    Args:
        kernels: a kernel or several, each in a file that workers import.
        shapes: for one kernel a list of sizes by name; for several, such a list for each by the kernel's name; or a
            file of TOML, as for ``polytune tune --shapes``.
        client: a ``distributed.Client``, an executor as ``concurrent.futures`` has them, the address of a scheduler, or
            ``"local"`` or ``"local:N"`` for N workers on this machine.
        workers: of an executor, how many tasks it has at once, where it does not say.
        trials: how many configurations are measured at most, for each kernel, shape and kind of machine; those that the
            history has count.
        runs: how many runs of a configuration are timed; their median counts.
        seconds: after how many no further run of a configuration begins.
        timeout: after how many seconds a worker is taken to hang.
        search: how, as for ``polytune.kernel``.
        seed: what random choices come from.
        history: where results go; None for that of this process.
        progress: is told how far the campaign is, about once a second.

    Raises:
        CampaignError: the kernels and shapes make no sense, or the workers cannot be used.
        MissingLibraryError: Dask is needed, and not installed.
        SearchError: the search is unknown.
    """
    if is_worker():
        raise CampaignError(
            "a campaign begins while its own worker imports the file: put the call under if __name__ == '__main__':"
        )
    check_search(search)
    for name, value in (("trials", trials), ("runs", runs), ("seconds", seconds), ("timeout", timeout)):
        if not value > 0:
            raise CampaignError(f"{name} is a number above 0, not {value!r}")
    several = list(kernels) if isinstance(kernels, Sequence) else [kernels]
    work = work_of(several, _shapes(several, shapes))
    settings = Settings(trials, runs, seconds, timeout, search, seed)
    with pool_of(client, workers) as pool:
        running = Running(work, pool, settings, history or default_store(), progress)
        interrupted = False
        try:
            running.run()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            running.cancel()
        return CampaignResult(running.entries(), interrupted)


def _shapes(kernels: Sequence[Kernel[..., Any]], shapes: Any) -> dict[str, Shapes]:
    """The shapes of each kernel, by its name."""
    if isinstance(shapes, (str, os.PathLike)):
        return read_shapes(shapes)
    if isinstance(shapes, Mapping):
        return {
            name: each if isinstance(each, Shapes) else Shapes(checked_sizes(f"the shapes of {name!r}", each))
            for name, each in shapes.items()
        }
    if len(kernels) != 1:
        raise CampaignError("several kernels need shapes by their names: {'gemm': [{'n': 100}], ...}")
    return {kernels[0].__name__: Shapes(checked_sizes("the shapes", shapes))}
