"""One kernel on the processor and on a device at the same time.

    python examples/devices.py

Without a GPU, pip install 'pyopencl[pocl]' makes the processor itself a device; POLYTUNE_DEVICES=opencl asks for it.
"""

import numpy as np

import polytune


@polytune.kernel
def smooth(image, out):
    n, m = image.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = 0.5 * image[i, j] + 0.125 * (
                image[i - 1, j] + image[i + 1, j] + image[i, j - 1] + image[i, j + 1]
            )


def main() -> None:
    image = np.random.default_rng(0).random((600, 800))
    alone, shared = np.zeros_like(image), np.zeros_like(image)
    space = smooth.space(image, alone)
    if "partitioned" not in space["version"].values:
        print("no device is in use; `polytune doctor` says why")
        return

    # The upper 40 % of the rows on the device, the others on the processor; only these rows are moved.
    device = space["platform_0"].values[1]
    choice = space.configuration(
        version="partitioned", split=1, ratio_0=0.4, platform_0=device, block_0=128, platform_1="cpu"
    )
    smooth.run(choice, image, shared)
    smooth.run(space.configuration(version="source"), image, alone)
    print(f"shared between the processor and {device}: differs by {abs(shared - alone).max():.1g}")

    # Arrays that stay on the device from call to call; the tuner chooses where each call runs.
    before, out = image.std(), image.copy()
    with polytune.resident(image, out):
        for _ in range(5):
            smooth(image, out)
            smooth(out, image)
    print(f"smoothed ten times: standard deviation {before:.3f} before, {image.std():.3f} after")


if __name__ == "__main__":
    main()
