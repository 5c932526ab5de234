"""The thresholds of the rules for this machine and a device: measured once, kept in the history, overridable.

What the rules reject with them for the calls of one size is evaluated once, and then known to the tuner.

A device has to be reached first: ``r`` seconds for the way there and back, and ``8 / B`` seconds for each double that
is moved.  Meanwhile the processor works: at most at ``c`` statement instances a second, the speed of a matrix product,
and at ``s`` where each instance reads and writes memory.

*   rho: of all computations a matrix product of size n favours a device most, n^3 instances on 4 n^2 doubles moved.
    The processor is done before these have arrived where ``n^3 / c < r + 32 n^2 / B``; rho is n^3 at equality.
*   alpha: where each instance goes to memory, the processor does ``8 s / B`` of them while one double is moved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np

from polytune.environment import ALPHA, RHO, EnvironmentVariable
from polytune.errors import DeviceError, PolytuneError
from polytune.history.machine import machine_key
from polytune.history.store import HistoryStore
from polytune.runtime.devices.device import Box, Device
from polytune.runtime.devices.discovery import devices
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.teams.threads import maximum_threads
from polytune.runtime.tuning.rules import (
    PUBLISHED,
    Refused,
    Thresholds,
    counts_of,
    counts_of_regions,
    outer_refusals,
    refusals,
)
from polytune.tuner import Nominal, Space

__all__ = ["from_measurements", "refused_values", "thresholds_of"]

_RECORD = "device thresholds"
_VERSION = 1
_PRODUCT = 384  # the size of the matrix product that is timed
_STREAM = 1 << 22  # doubles of each array that is streamed
_COPY = 1 << 20  # doubles that are copied to the device
_REPEATS = 3


def thresholds_of(device: Device, store: HistoryStore) -> Thresholds:
    """The thresholds for a device: what ``POLYTUNE_RHO`` and ``POLYTUNE_ALPHA`` say, else what has been measured.

    Of a device that fails meanwhile nothing is kept, and the published thresholds hold.

    Raises:
        PolytuneError: a variable is no positive number.
    """
    rho, alpha = _from_environment(RHO), _from_environment(ALPHA)
    if rho is not None and alpha is not None:
        return Thresholds(rho, alpha)
    key = (_RECORD, device.key, machine_key(maximum_threads()))
    known = _read(store.load_search(*key))
    if known is None:
        try:
            known = _measure(device)
        except DeviceError:  # the calls will say what is wrong with it
            return PUBLISHED
        store.save_search(*key, {"version": _VERSION, "rho": known.rho, "alpha": known.alpha})
    return Thresholds(known.rho if rho is None else rho, known.alpha if alpha is None else alpha)


def _from_environment(variable: EnvironmentVariable) -> float | None:
    text = variable.text
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise PolytuneError(f"{variable.name} must be a number from zero up, such as 1.5e8, not {text!r}")
    return value


def _read(record: dict[str, Any] | None) -> Thresholds | None:
    if record is None or record.get("version") != _VERSION:
        return None
    rho, alpha = record.get("rho"), record.get("alpha")
    return Thresholds(rho, alpha) if isinstance(rho, float) and isinstance(alpha, float) else None


def _measure(device: Device) -> Thresholds:
    """The thresholds measured, which takes some tenths of a second.

    Raises:
        DeviceError: the device fails.
    """
    latency, bandwidth = _reach(device)
    return from_measurements(_product_rate(), _stream_rate(), latency, bandwidth)


def from_measurements(product: float, stream: float, latency: float, bandwidth: float) -> Thresholds:
    """The thresholds of a machine and a device.

    Args:
        product: statement instances a second that the processor does in a matrix product.
        stream: statement instances a second where each reads and writes memory.
        latency: seconds for the way to the device and back.
        bandwidth: bytes a second between host and device.
    """
    roots = np.roots([1.0, -32 * product / bandwidth, 0.0, -latency * product])
    size = max(float(root.real) for root in roots if abs(root.imag) <= 1e-9 * abs(root))
    return Thresholds(rho=size**3, alpha=8 * stream / bandwidth)


def _shortest(work: Callable[[], Any]) -> float:
    """Seconds of the fastest of some runs, after one that does not count."""
    work()
    seconds = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return max(min(seconds), 1e-9)


def _product_rate() -> float:
    left, right = np.ones((_PRODUCT, _PRODUCT)), np.ones((_PRODUCT, _PRODUCT))
    return _PRODUCT**3 / _shortest(lambda: left @ right)


def _stream_rate() -> float:
    workers = maximum_threads()
    added, target = np.ones(_STREAM), np.ones(_STREAM)
    pieces = list(zip(np.array_split(added, workers), np.array_split(target, workers), strict=True))
    with ThreadPoolExecutor(workers) as pool:
        return _STREAM / _shortest(
            lambda: list(pool.map(lambda piece: np.add(piece[0], piece[1], out=piece[1]), pieces))
        )


def _reach(device: Device) -> tuple[float, float]:
    """Seconds to the device and back, and bytes a second on the way."""
    host = np.ones(_COPY)
    little: Box = ((0, 1, 1),)
    whole: Box = ((0, _COPY, 1),)
    stream = device.stream()
    with device.allocate(host.nbytes) as buffer:

        def there_and_back(box: Box) -> None:
            device.upload(stream, buffer, host, box)
            device.download(stream, host, buffer, box)
            stream.synchronize()

        latency = _shortest(lambda: there_and_back(little))
        both = _shortest(lambda: there_and_back(whole))
    return latency, 2 * host.nbytes / max(both - latency, 1e-9)


def refused_values(
    module: ModuleType,
    space: Space,
    parameters: Sequence[int],
    store: HistoryStore,
    *,
    resident: bool = False,
    thresholds: Thresholds | None = None,
) -> Refused:
    """The values of each parameter that do not pay for a call, with the reasons.

    Args:
        module: the generated module, which knows the counts.
        space: every choice for the call.
        parameters: the values of the module's parameters.
        store: keeps the thresholds of this machine.
        resident: whether arrays are on devices already.
        thresholds: in place of those of this machine.
    """
    version = space["version"]
    nested = [each.name for each in module.VERSIONS if each.outer and version.accepts(each.name)]
    used = {
        value
        for parameter in space.parameters
        if isinstance(parameter, Nominal) and parameter.name.startswith("platform_")
        for value in parameter.values
    }
    found = [device for device in devices() if device.identity in used - {CPU}]
    if not found and not nested:
        return {}
    counts = counts_of(module, parameters)
    refused = outer_refusals(nested, counts)
    if found:
        limits = {device.identity: thresholds or thresholds_of(device, store) for device in found}
        apart = counts_of_regions(module, parameters)
        for parameter, values in refusals(space, counts, limits, resident=resident, regions=apart).items():
            refused[parameter] = {**refused.get(parameter, {}), **values}
    return refused
