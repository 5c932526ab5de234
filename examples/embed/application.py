"""A small application on top of a generated package: how long does a plate take until its middle is warm?

Run it beside the package ``heat_kernels``; it prints one line, and with a file's name saves the temperatures there.
"""

import sys

import heat_kernels
import numpy as np

WARM = 30.0
"""The temperature to reach in the middle, in degrees."""


def heated_plate(size: int) -> np.ndarray:
    """A plate of 20 degrees, ``size`` points a side, with an edge at 100."""
    plate = np.full((size, size), 20.0)
    plate[0, :] = 100.0
    return plate


def warm_up(plate: np.ndarray, steps: int = 100, rate: float = 0.2) -> int:
    """Diffuse heat through ``plate`` until its middle is warm; returns the number of Euler steps that took."""
    scratch = plate.copy()
    middle = tuple(extent // 2 for extent in plate.shape)
    taken = 0
    while plate[middle] < WARM:
        heat_kernels.diffuse(steps, rate, plate, scratch)
        taken += 2 * steps
    return taken


def main() -> None:
    plate = heated_plate(64)
    taken = warm_up(plate)
    print(f"warm after {taken} steps, mean temperature {heat_kernels.total(plate) / plate.size:.6f}")
    if len(sys.argv) > 1:
        np.save(sys.argv[1], plate)


if __name__ == "__main__":
    main()
