"""The workers of a campaign: those of a Dask cluster, or those of an executor of the standard library's kind."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import platform
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any, Protocol

from polytune.cores import count_of_cores
from polytune.errors import CampaignError, MissingLibraryError
from polytune.records import dataclass
from polytune.version import DISTRIBUTION

__all__ = ["DaskPool", "ExecutorPool", "Pending", "Place", "Pool", "pool_of"]

RESOURCE = "polytune"
"""The resource of which a worker of Dask offers one, so that nothing else that asks for it runs beside a
measurement."""

_NUMBERS_OF_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_GUARD = "put the call under if __name__ == '__main__':"
_SECONDS_TO_CONNECT = 10
_SECONDS_TO_RESTART = 60


@dataclass(frozen=True)
class Place:
    """A worker.

    Attributes:
        name: what tells it from others.
        host: its machine, as far as that is known: workers with the same have one disk cache.
        threads: how many threads a kernel may have there; None for as many as the process may have.
    """

    name: str
    host: str
    threads: int | None = None


class Pending(Protocol):
    """A task that has been submitted, as futures are."""

    def result(self, timeout: float | None = None) -> Any: ...

    def cancel(self) -> object: ...

    def add_done_callback(self, function: Callable[[Any], object]) -> object: ...


class Pool(Protocol):
    """Workers to which tasks are submitted, one at a time to each.

    Attributes:
        session: changes when all that has been submitted is lost, though no worker has done anything wrong: there is
            another scheduler.
    """

    session: str

    def places(self) -> Mapping[str, Place]:
        """Return the workers that there are now, by name.

        Raises:
            CampaignError: there will never be any again.
        """

    def submit(self, place: Place, name: str, function: Callable[..., Any], *arguments: Any) -> Pending:
        """Have a worker call a function.

        Args:
            place: the worker.
            name: what people call the task.
            function, arguments: what is called.
        """

    def restart(self, place: Place) -> bool:
        """End what a worker does, and the worker with it.  Return whether the place may be used again."""


class DaskPool:
    """The workers of a Dask cluster.

    Args:
        client: a ``distributed.Client``.

    Raises:
        CampaignError: a worker has another version of Python.
    """

    def __init__(self, client: Any):
        self.session = ""
        self._client = client
        self._offer: set[str] = set()  # the workers that offer the resource
        self._checked: set[str] = set()

    def places(self) -> Mapping[str, Place]:
        """Return the workers that there are now, by address.

        Raises:
            CampaignError: the scheduler is gone, or a worker cannot be used.
        """
        try:
            if self._client.status not in ("running", "connecting"):
                raise OSError(f"the client is {self._client.status}")
            scheduler = self._client.scheduler_info(n_workers=-1)
            workers, self.session = scheduler["workers"], str(scheduler["id"])
        except (OSError, TimeoutError, KeyError) as error:
            raise _gone(error) from error
        if not self._checked.issuperset(workers):
            self._check_versions(set(workers) - self._checked)
        known = {address: each for address, each in workers.items() if address in self._checked}
        self._offer = {address for address, each in known.items() if each.get("resources", {}).get(RESOURCE)}
        return {address: Place(address, each["host"], each["nthreads"]) for address, each in known.items()}

    def _check_versions(self, addresses: set[str]) -> None:
        """See to it that workers have the same Python as this process: others may not even read what they are sent.

        Where one of them ends just then, all are asked again the next time.
        """
        try:
            versions = self._client.get_versions()["workers"]
        except (OSError, TimeoutError):
            return
        mine = platform.python_version_tuple()[:2]
        for address in addresses & set(versions):
            found = versions[address] or {}
            python = tuple(str(found.get("host", {}).get("python", "")).split(".")[:2])
            if python != mine:
                raise CampaignError(
                    f"the worker {address} has Python {'.'.join(python)}, and this process {'.'.join(mine)}: "
                    "start workers with the same"
                )
            self._checked.add(address)

    def submit(self, place: Place, name: str, function: Callable[..., Any], *arguments: Any) -> Pending:
        """Have a worker call a function, beside nothing else that asks for the resource.

        Args:
            place: the worker.
            name: what the dashboard calls the task.
            function, arguments: what is called.

        Raises:
            CampaignError: the scheduler is gone.
        """
        offered = {"resources": {RESOURCE: 1}} if place.name in self._offer else {}
        try:
            pending: Pending = self._client.submit(
                function,
                *arguments,
                key=f"{name}-{uuid.uuid4().hex}",
                workers=[place.name],
                allow_other_workers=False,
                pure=False,
                **offered,
            )
        except Exception as error:  # Dask has no class for it
            if self._client.status in ("running", "connecting"):
                raise
            raise _gone(error) from error
        return pending

    def restart(self, place: Place) -> bool:
        """End what a worker does, and the worker with it; its nanny starts another one, under a name of its own."""
        with contextlib.suppress(Exception):  # without a nanny it cannot, and stays as it is
            self._client.restart_workers([place.name], timeout=_SECONDS_TO_RESTART, raise_for_error=False)
        return False


def _gone(error: Exception) -> CampaignError:
    return CampaignError(
        f"the scheduler is gone ({error}); what was measured is kept: begin the campaign again to go on"
    )


class ExecutorPool:
    """The workers of an executor, as ``concurrent.futures`` has them: all of one kind, and with no names.

    Args:
        executor: submits to them.
        workers: how many tasks it has at once; None where the executor tells.

    Raises:
        CampaignError: neither tells.
    """

    def __init__(self, executor: Executor, workers: int | None = None):
        count = workers if workers is not None else getattr(executor, "_max_workers", None)
        if not isinstance(count, int) or count < 1:
            raise CampaignError(
                f"{type(executor).__name__} does not say how many workers it has: pass workers=, a number from 1 up"
            )
        self.session = ""
        self._executor = executor
        self._places = {str(number): Place(str(number), "all workers") for number in range(count)}

    def places(self) -> Mapping[str, Place]:
        """Return the workers, by number."""
        return self._places

    def submit(self, place: Place, name: str, function: Callable[..., Any], *arguments: Any) -> Pending:
        """Have a worker call a function.

        Args:
            place: not looked at: the executor chooses.
            name: not used.
            function, arguments: what is called.

        Raises:
            CampaignError: the executor takes no tasks any more.
        """
        try:
            return self._executor.submit(function, *arguments)
        except RuntimeError as error:
            raise CampaignError(
                f"the executor takes no tasks any more ({error}); what was measured is kept: begin the campaign again "
                "with a new one to go on"
            ) from error

    def restart(self, place: Place) -> bool:
        """Leave a worker alone that hangs: executors cannot end one."""
        return False


@contextlib.contextmanager
def pool_of(workers_of: Any, workers: int | None = None) -> Iterator[Pool]:
    """The pool that a user means.

    Args:
        workers_of: a ``distributed.Client``, an executor, the address of a scheduler as ``"tcp://host:8786"``, or
            ``"local"`` or ``"local:N"`` for workers on this machine, which end with the campaign.
        workers: how many tasks an executor has at once.

    Raises:
        CampaignError: it is something else, or the scheduler is not there.
        MissingLibraryError: Dask is not installed.
    """
    if isinstance(workers_of, Executor):
        yield ExecutorPool(workers_of, workers)
    elif isinstance(workers_of, str):
        with _client_of(workers_of) as client:
            yield DaskPool(client)
    elif hasattr(workers_of, "scheduler_info") and hasattr(workers_of, "submit"):
        yield DaskPool(workers_of)
    elif hasattr(workers_of, "submit"):  # loky's and mpi4py's need not be derived from the standard library's
        yield ExecutorPool(workers_of, workers)
    else:
        raise CampaignError(
            f"{workers_of!r} is no distributed.Client, no executor, and no address as 'tcp://host:8786' or 'local:4'"
        )


@contextlib.contextmanager
def _same_environment() -> Iterator[None]:
    """Put back the environment's variables of numbers of threads, which Dask sets to one for the workers that this
    process starts, and leaves so."""
    before = {name: os.environ.get(name) for name in _NUMBERS_OF_THREADS}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _client_of(address: str) -> Iterator[Any]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise MissingLibraryError(
            f'campaigns need Dask, which is not installed: pip install "{DISTRIBUTION}[dask]"'
        ) from None
    local = re.fullmatch(r"local(?::([1-9][0-9]*))?", address)
    if local:
        count = int(local[1] or 1)
        with (
            _same_environment(),
            _local_cluster(distributed, count) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    if not re.fullmatch(r"[a-z]+://\S+", address):
        raise CampaignError(f"{address!r} is no address of a scheduler: write tcp://HOST:PORT, local or local:N")
    try:
        client = distributed.Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise CampaignError(
            f"there is no Dask scheduler at {address}: start one with 'dask scheduler', and workers with 'dask worker "
            f"{address} --nworkers 1 --resources {RESOURCE}=1'"
        ) from error
    try:
        yield client
    finally:
        with contextlib.suppress(OSError, TimeoutError):  # the scheduler may be gone
            client.close()


def _local_cluster(distributed: Any, count: int) -> Any:
    """Workers on this machine, in processes of their own, which import the program's main file.

    Args:
        distributed: the package.
        count: how many there are.

    Raises:
        CampaignError: they cannot be started.
    """
    # So `multiprocessing` marks a process that has not imported the main file yet, and can start no others.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise CampaignError(f"a campaign begins while a worker imports the file: {_GUARD}")
    threads = max(1, count_of_cores() // count)
    try:
        return distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=threads,
            env={"OMP_NUM_THREADS": str(threads)},  # of which Dask leaves one where nothing is said
            processes=True,
            dashboard_address=":0",
            resources={RESOURCE: 1},
            silence_logs=50,
        )
    except RuntimeError as error:
        said = str(error).rstrip(".")
        raise CampaignError(
            f"no workers could be started on this machine ({said}); in a script, which workers import as well, {_GUARD}"
        ) from error
