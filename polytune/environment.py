"""The environment variables that polytune reads: each is declared here, once, and read nowhere else.

The page ``docs/environment.md`` is made from it: ``pytest tests/test_environment.py --renew-golden`` writes it anew.
"""

from __future__ import annotations

import os

from polytune.records import dataclass

_OFF = ("0", "off", "no", "false")


@dataclass(frozen=True)
class EnvironmentVariable:
    """A variable of the environment.

    Attributes:
        name: what it is called.
        values: what it may be, for people.
        default: what holds where it is not set or empty.
        meaning: what it decides.
        page: the page of the documentation that says more; empty where none does.
    """

    name: str
    values: str
    default: str
    meaning: str
    page: str = ""

    @property
    def text(self) -> str:
        """The value without spaces around it; empty where there is none."""
        return os.environ.get(self.name, "").strip()

    def set(self, value: str) -> None:
        """Set it for this process and those that it starts."""
        os.environ[self.name] = value

    @property
    def is_set(self) -> bool:
        """Return whether it is set, be it to nothing."""
        return self.name in os.environ

    @property
    def is_on(self) -> bool:
        """Return whether it is set to anything but nothing, 0, off, no and false."""
        return self.text.lower() not in ("", *_OFF)

    @property
    def is_off(self) -> bool:
        """Return whether it is set to 0, off, no or false."""
        return self.text.lower() in _OFF


CACHE_DIR = EnvironmentVariable(
    "POLYTUNE_CACHE_DIR",
    "a folder",
    "the user's cache folder, `~/.cache/polytune` on Linux",
    "where compiled kernels and measurements are kept",
    "cache.md",
)
CACHE_LIMIT = EnvironmentVariable(
    "POLYTUNE_CACHE_LIMIT",
    "a number of MiB",
    "1024",
    "beyond how much those compiled kernels are deleted that were used longest ago",
    "cache.md",
)
HISTORY = EnvironmentVariable(
    "POLYTUNE_HISTORY",
    "`sqlite:///FILE`, `postgresql://USER:PASSWORD@HOST:PORT/NAME`",
    "`history.sqlite` in the cache's folder",
    "where measurements are kept: in a file, or on a server that several machines have in common",
    "history.md",
)
TUNING = EnvironmentVariable(
    "POLYTUNE_TUNING",
    "`on`, `off`, `frozen`",
    "`on`",
    "whether calls are tuned, run the first choice, or run the best that is known; read once",
    "tuning.md",
)
BACKGROUND = EnvironmentVariable(
    "POLYTUNE_BACKGROUND",
    "`0`, `1`",
    "`1`",
    "with 0 nothing is compiled beside the application: a call that tries a version waits for it",
    "tuning.md",
)
NATIVE = EnvironmentVariable(
    "POLYTUNE_NATIVE",
    "`0`, `1`",
    "`1`",
    "with 0 Numba compiles everything, and LLVM nothing directly",
    "architecture.md",
)
VECTOR_BYTES = EnvironmentVariable(
    "POLYTUNE_VECTOR_BYTES",
    "`16`, `32`, `64`",
    "that of the machine",
    "the width of the vectors that code is generated for",
    "embedding.md",
)
DEVICES = EnvironmentVariable(
    "POLYTUNE_DEVICES",
    "`none`, `cuda`, `opencl`, `cuda:0`, lists of these with commas",
    "GPUs, but no processors",
    "which devices kernels are shared with",
    "devices.md",
)
NVRTC = EnvironmentVariable(
    "POLYTUNE_NVRTC",
    "a file",
    "that of the package `nvidia-cuda-nvrtc` or of a CUDA toolkit",
    "the library that compiles for CUDA within the process",
    "devices.md",
)
CUDA_COMPILER = EnvironmentVariable(
    "POLYTUNE_CUDA_COMPILER",
    "`module` or `module:attribute`",
    "NVRTC, else nvcc",
    "the Python object that compiles for CUDA in place of these",
    "devices.md",
)
RHO = EnvironmentVariable(
    "POLYTUNE_RHO",
    "a number from zero up",
    "measured on the machine",
    "how many statement instances a call has to have for a device to be tried",
    "tuning.md",
)
ALPHA = EnvironmentVariable(
    "POLYTUNE_ALPHA",
    "a number from zero up",
    "measured on the machine",
    "how many statement instances it has to have for each element that is accessed",
    "tuning.md",
)
LOG = EnvironmentVariable(
    "POLYTUNE_LOG",
    "`debug`, `info`, `warning`, `error`",
    "nothing is written",
    "the level from which on what the logger `polytune` is told is written to standard error; read on import",
    "logging.md",
)
DEBUG = EnvironmentVariable(
    "POLYTUNE_DEBUG",
    "`0`, `1`",
    "`0`",
    "with 1 the tracebacks of errors show every frame of polytune's own; without, those of the program alone",
    "language.md",
)
VERIFY = EnvironmentVariable(
    "POLYTUNE_VERIFY",
    "`0`, `1`",
    "`0`",
    "with 1 the compiler checks its own intermediate form after every step",
    "architecture.md",
)

NUMBA_THREADS = EnvironmentVariable(
    "NUMBA_NUM_THREADS",
    "a number",
    "as many as there are cores for the process",
    "the most threads that a call may have; Numba reads it",
    "threads.md",
)
OPENMP_THREADS = EnvironmentVariable(
    "OMP_NUM_THREADS",
    "a number, or a list of which the first counts",
    "as many as there are cores for the process",
    "the most threads that a call may have",
    "threads.md",
)
OPENBLAS_THREADS = EnvironmentVariable(
    "OPENBLAS_NUM_THREADS",
    "a number",
    "not set",
    "the most threads that NumPy's library has for products of matrices, where it is OpenBLAS, which reads it",
    "threads.md",
)
MKL_THREADS = EnvironmentVariable(
    "MKL_NUM_THREADS",
    "a number",
    "not set",
    "the same, where that library is MKL",
    "threads.md",
)
PYTEST_PROCESSES = EnvironmentVariable(
    "PYTEST_XDIST_WORKER_COUNT",
    "set by pytest-xdist",
    "not set",
    "where neither of these two is set, the cores are shared among so many processes",
    "threads.md",
)
C_COMPILER = EnvironmentVariable(
    "CC",
    "a command, with options where need be",
    "`cc`, `gcc` or `clang`",
    "the C compiler of `polytune build --native`",
    "embedding.md",
)
CUDA_HOME = EnvironmentVariable(
    "CUDA_HOME", "a folder", "not set", "where the CUDA toolkit is that has `nvcc`", "devices.md"
)
CUDA_PATH = EnvironmentVariable("CUDA_PATH", "a folder", "not set", "the same", "devices.md")
CUDA_ROOT = EnvironmentVariable("CUDA_ROOT", "a folder", "not set", "the same", "devices.md")
PROCESSOR_IDENTIFIER = EnvironmentVariable(
    "PROCESSOR_IDENTIFIER", "set by Windows", "not set", "the processor's name, for what is measured on it"
)
JPY_PARENT_PID = EnvironmentVariable(
    "JPY_PARENT_PID",
    "set by Jupyter",
    "not set",
    "that a command runs in a cell of a notebook (`!polytune ...`), where progress is lines, as in a log",
    "command-line.md",
)

VARIABLES = tuple(value for value in dict(globals()).values() if isinstance(value, EnvironmentVariable))
"""All of them, in the order of the page."""


def devices_are_ruled_out() -> bool:
    """Return whether no kernel is to run on a device, wherever it is."""
    return DEVICES.text == "none"


def page() -> str:
    """The text of ``docs/environment.md``."""
    ours = [variable for variable in VARIABLES if variable.name.startswith("POLYTUNE_")]
    others = [variable for variable in VARIABLES if variable not in ours]
    return "\n".join(
        [
            "# Environment variables",
            "",
            "A variable that is empty counts as not set. Most are read when first needed: set them before that.",
            "For `1` and `0`, `on` and `off`, `yes` and `no`, `true` and `false` do as well.",
            "",
            *_table(ours),
            "",
            "Of other projects' variables these are read:",
            "",
            *_table(others),
            "",
        ]
    )


def _table(variables: list[EnvironmentVariable]) -> list[str]:
    rows = ["| Variable | Values | Where it is not set | Meaning |", "|---|---|---|---|"]
    for each in variables:
        more = f" ([more]({each.page}))" if each.page else ""
        rows.append(f"| `{each.name}` | {each.values} | {each.default} | {each.meaning}{more} |")
    return rows
