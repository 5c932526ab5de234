"""Results in a few lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Column, Table

from benchmarks.program import duration


def relations(entry: Mapping[str, Any], limits: Mapping[str, Any], dtype: str) -> dict[str, float]:
    """The relations of the times of a problem to one another and to the device's limits, as far as they are known.

    Args:
        entry: the results of one problem.
        limits: what was measured of the device: ``copy`` and ``flops``.
        dtype: the problem's.
    """
    found: dict[str, float] = {}

    def divide(name: str, numerator: Any, denominator: Any) -> None:
        if numerator and denominator:
            found[name] = numerator / denominator

    own = entry.get("device_seconds")
    divide("over_ppcg_default", entry.get("ppcg_default_seconds"), own)
    divide("of_library", (entry.get("library") or {}).get("seconds"), own)
    divide("of_measured_flops", entry.get("device_flops"), limits.get("flops", {}).get(dtype))
    divide("of_measured_copy", entry.get("device_bandwidth"), limits.get("copy"))
    on_device, here = entry.get("host_to_device_seconds"), entry.get("processor_seconds")
    if on_device and here:
        divide("shared_over_better_alone", min(on_device, here), entry.get("shared_seconds"))
    return found


def table(found: Mapping[str, Any]) -> Table:
    """A line for each problem that was timed."""
    columns = ["on device", "PPCG's default", "GFLOP/s", "GB/s", "% of library", "% of copy"]
    columns += ["resident call", "from host", "processor", "shared"]
    result = Table("problem", *[Column(name, justify="right", no_wrap=True) for name in columns])
    for label, entry in found.get("speed", {}).items():
        ratios = entry.get("relations", {})
        result.add_row(
            label,
            _seconds(entry.get("device_seconds")),
            _seconds(entry.get("ppcg_default_seconds")),
            _scaled(entry.get("device_flops"), 1e-9),
            _scaled(entry.get("device_bandwidth"), 1e-9),
            _scaled(ratios.get("of_library"), 100),
            _scaled(ratios.get("of_measured_copy"), 100),
            _seconds(entry.get("resident_call_seconds")),
            _seconds(entry.get("host_to_device_seconds")),
            _seconds(entry.get("processor_seconds")),
            _seconds(entry.get("shared_seconds")),
        )
    return result


def conclusion(found: Mapping[str, Any]) -> str:
    """The checks, what is wrong, and the device's limits, in sentences."""
    lines = []
    checked = found.get("correctness", {})
    mapped = [name for name, entry in checked.items() if entry["mapped"]]
    right = sum(entry["right"] for entry in checked.values())
    lines.append(
        f"{len(mapped)} of {len(checked)} kernels have a device version; {right} configurations gave the right result"
    )
    for name, entry in checked.items():
        if entry["wrong"]:
            first = entry["wrong"][0]
            lines.append(f"{name} is WRONG in {len(entry['wrong'])} configurations, the first one: {first}")
    versions = found.get("versions")
    if versions:
        lines.append(
            f"gemm: {versions['right']} of {versions['there_are']} versions right, "
            f"{versions['infeasible']} infeasible, {len(versions['wrong'])} wrong"
        )
    inexact = [name for name, entry in found.get("transfers", {}).items() if not entry["exact"]]
    if inexact:
        lines.append(f"transfers that are NOT exact: {', '.join(inexact)}")
    limits = found.get("limits")
    if limits:
        rates = ", ".join(f"{name} {rate * 1e-12:.3g} TFLOP/s" for name, rate in limits["flops"].items())
        lines.append(f"measured limits: copy {limits['copy'] * 1e-9:.4g} GB/s, {rates}")
    lines += [f"not reached in time: {', '.join(names)}" for names in [found.get("not_reached", [])] if names]
    lines += [f"{where}: {failure}" for where, failure in found.get("failures", {}).items()]
    return "\n".join(lines)


def is_right(found: Mapping[str, Any]) -> bool:
    """Return whether nothing wrong was seen."""
    entries = [*found.get("correctness", {}).values(), *([found["versions"]] if "versions" in found else [])]
    transfers = found.get("transfers", {}).values()
    nothing_wrong = not any(entry["wrong"] for entry in entries) and all(entry["exact"] for entry in transfers)
    return nothing_wrong and not found.get("failures")


def _seconds(value: float | None) -> str:
    return "" if value is None else duration(value)


def _scaled(value: float | None, scale: float) -> str:
    return "" if value is None else f"{value * scale:.4g}"
