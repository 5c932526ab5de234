"""Arrays of other libraries that lie in the memory of a CUDA device: CuPy's, PyTorch's, Numba's.

They say where they are by ``__cuda_array_interface__`` (version 3, in Numba's documentation).  Calls take them without
a copy: for the rest of the run time such an array is a host array of the same shape that nobody has written yet, and
whose every element is on the device alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polytune.conversions import overlap_remedy
from polytune.errors import ArgumentError, DeviceUnavailableError
from polytune.runtime.devices.device import Device
from polytune.runtime.devices.discovery import device as open_device
from polytune.runtime.partitioned.boxes import whole
from polytune.runtime.partitioned.holdings import Holding
from polytune.runtime.partitioned.residency import Residence
from polytune.signature import DATA_TYPES

__all__ = ["check_device_arrays", "taken_in"]

_ELSEWHERE = "__cuda_array_interface__"
_HOST_KINDS = frozenset((np.ndarray, np.memmap, int, float, bool, np.float64, np.float32, np.int64, np.int32))
_LEGACY_STREAM = 1
"""The stream with which all other streams that may block keep in order, ours among them."""


def taken_in(names: Sequence[str], values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Residence]]:
    """A call's arguments with a host array in place of each that lies on a device, and where these are.

    Raises:
        ArgumentError: such an array cannot be used.
    """
    found: dict[str, Residence] = {}
    for value in values:
        if type(value) not in _HOST_KINDS and hasattr(type(value), _ELSEWHERE):
            break
    else:
        return values, found  # as nearly always
    for name, value in zip(names, values, strict=True):
        if hasattr(type(value), _ELSEWHERE):
            found[name] = _residence(name, value)
    return tuple(found[name].host if name in found else value for name, value in zip(names, values, strict=True)), found


def _residence(name: str, value: Any) -> Residence:
    try:
        interface = getattr(value, _ELSEWHERE)
    except (AttributeError, TypeError, RuntimeError) as error:
        raise ArgumentError(
            f"argument {name!r}: this {type(value).__module__}.{type(value).__qualname__} is not in the memory of a "
            f"CUDA device ({error}); pass a NumPy array of it, for example numpy.asarray({name})"
        ) from error
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    if dtype.name not in DATA_TYPES or not dtype.isnative:
        raise ArgumentError(
            f"argument {name!r}: device arrays of {dtype.str} cannot be used; kernels take {', '.join(DATA_TYPES)}: "
            "pass one that is made of it, and after the call copy that back where it is changed"
        )
    if interface.get("mask") is not None:
        raise ArgumentError(
            f"argument {name!r}: device arrays with a mask cannot be used; pass the data, filled where the mask is"
        )
    host = np.empty(shape, dtype)
    strides = interface.get("strides")
    if strides is not None and host.size and not _are_dense(tuple(strides), host):
        raise ArgumentError(
            f"argument {name!r}: a device array has to be dense in C order, and this one has the strides "
            f"{tuple(strides)} for the shape {shape}; pass a contiguous copy of it, and after the call copy that back "
            "where it is changed"
        )
    address, read_only = interface["data"]
    host.flags.writeable = not read_only
    device = _device(name, value)
    if interface.get("version", 0) < 3 or interface.get("stream") not in (None, _LEGACY_STREAM):
        device.wait_for_others()
    holding = Holding(device.wrap(address, host.nbytes), host, kept=True)
    if host.size:
        holding.add_dirty(whole(shape))
    return Residence(device, holding, at_home=True)


def _are_dense(strides: tuple[int, ...], host: np.ndarray) -> bool:
    """Return whether the elements lie as those of a dense array; the stride of an axis of one element means nothing."""
    axes = zip(strides, host.strides, host.shape, strict=True)
    return all(given == wanted for given, wanted, extent in axes if extent > 1)


def _device(name: str, value: Any) -> Device:
    """The device of an array: libraries say its number as ``device.id`` or ``device.index``; else it is the first."""
    where = getattr(value, "device", None)
    index = next((found for key in ("id", "index") if isinstance(found := getattr(where, key, None), int)), 0)
    try:
        return open_device(f"cuda:{index}")
    except DeviceUnavailableError as error:
        raise ArgumentError(
            f"argument {name!r} lies on the CUDA device {index}, which cannot be used: {error}; pass a NumPy array"
        ) from error


def check_device_arrays(residences: Mapping[str, Residence], written: Sequence[str]) -> None:
    """Refuse device arrays that a kernel cannot write as it would in source order, before anything is written.

    Args:
        residences: the arrays that are at home on devices.
        written: the names of those that the kernel writes.

    Raises:
        ArgumentError: a written array overlaps with another one, or they are on different devices.
    """
    places = {residence.device.identity for residence in residences.values()}
    if len(places) > 1:
        raise ArgumentError(
            f"the arguments {', '.join(residences)} lie on different devices ({', '.join(sorted(places))}); "
            "copy them to one of these, or pass NumPy arrays"
        )
    for name, residence in residences.items():
        start = residence.holding.buffer.address
        for other, beside in residences.items():
            begin = beside.holding.buffer.address
            apart = start + residence.host.nbytes <= begin or begin + beside.host.nbytes <= start
            if other != name and name in written and not apart:
                raise ArgumentError(
                    f"arguments {name!r} and {other!r} overlap in the memory of {residence.device.identity}, and the "
                    f"kernel writes to {name!r}; {overlap_remedy(other, both_written=other in written)}"
                )
