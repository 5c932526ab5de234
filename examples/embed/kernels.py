"""The kernels of the example: heat diffusion in a plate, and the heat that is in it.

polytune build kernels.py -o heat_kernels
"""

import polytune


@polytune.kernel
def diffuse(steps, rate, plate, scratch):
    """Advance ``plate`` by ``2 * steps`` explicit Euler steps; its border keeps its temperature."""
    n, m = plate.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                scratch[i, j] = plate[i, j] + rate * (
                    plate[i - 1, j] + plate[i + 1, j] + plate[i, j - 1] + plate[i, j + 1] - 4 * plate[i, j]
                )
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                plate[i, j] = scratch[i, j] + rate * (
                    scratch[i - 1, j] + scratch[i + 1, j] + scratch[i, j - 1] + scratch[i, j + 1] - 4 * scratch[i, j]
                )


@polytune.kernel
def total(plate):
    """The sum of all temperatures."""
    heat = 0.0
    for i in range(plate.shape[0]):
        for j in range(plate.shape[1]):
            heat += plate[i, j]
    return heat
