"""What kernels are kept under: what their source says, not how and where it is written."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnassignedVariableError
from polytune.normal_form import normal_text

KERNEL = '''
import polytune

SCALE = 2.0

@polytune.kernel
def shifted(A, B):
    """Add what lies two further on."""
    for i in range(A.shape[0]):
        B[i] = twice(A[i] + A[i + 2])  # past the end where both are as long


def twice(x):
    return SCALE * x
'''

_numbers = itertools.count()


def kernel_in(folder: Path, text: str, name: str = "shifted") -> Any:
    """The kernel of a file with this text."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"application_{next(_numbers)}.py"
    file.write_text(text)
    specification = importlib.util.spec_from_file_location(file.stem, file)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return getattr(module, name)


def identity(kernel: Any) -> tuple[str, str]:
    """The kernel's module, and the name under which it is remembered."""
    A = np.zeros(9)
    generated = kernel.generated(A, A[:7].copy())
    return generated.module.__name__, kernel._provide(generated.module.SIGNATURE)[0]


SAME = {
    "a comment above": "# of the application\n\n\n" + KERNEL,
    "a comment inside": KERNEL.replace("past the end", "which is past the end"),
    "another docstring": KERNEL.replace(
        '"""Add what lies two further on."""', "'''Other words,\n\n    on three lines.'''"
    ),
    "no docstring": KERNEL.replace('    """Add what lies two further on."""\n', "\n"),
    "other spaces": KERNEL.replace("A[i] + A[i + 2]", "A[i]+A[ i+2 ]"),
    "other brackets": KERNEL.replace("A[i] + A[i + 2]", "(A[i] + A[i +\n 2])"),
    "another place of the helper": KERNEL.replace("\n\ndef twice", "\n\nOTHER = 1\n\n\ndef twice"),
    "a comment in the helper": KERNEL.replace("    return SCALE", "    # doubled\n    return SCALE"),
    "called decorator": KERNEL.replace("@polytune.kernel", "@polytune.kernel(budget=5)"),
}
OTHER = {
    "another number": KERNEL.replace("i + 2", "i + 1"),
    "another name": KERNEL.replace("(A, B)", "(A, C)").replace("B[i]", "C[i]"),
    "another constant": KERNEL.replace("SCALE = 2.0", "SCALE = 3.0"),
    "another helper": KERNEL.replace("SCALE * x", "SCALE * x * x"),
    "another option": KERNEL.replace("@polytune.kernel", "@polytune.kernel(strict=True)"),
    "other brackets that count": KERNEL.replace("SCALE * x", "(SCALE * x) * 1"),
}


@pytest.mark.parametrize("change", SAME)
def test_what_means_the_same_is_found_again(tmp_path, change):
    assert SAME[change] != KERNEL
    first, second = kernel_in(tmp_path / "one", KERNEL), kernel_in(tmp_path / "other", SAME[change])
    assert identity(first) == identity(second)


@pytest.mark.parametrize("change", OTHER)
def test_what_means_something_else_is_not_mixed_up(tmp_path, change):
    assert OTHER[change] != KERNEL
    first, second = kernel_in(tmp_path, KERNEL), kernel_in(tmp_path, OTHER[change])
    assert set(identity(first)).isdisjoint(identity(second))


@pytest.mark.parametrize("change", ["a comment above", "other brackets", "another docstring"])
def test_refusals_name_the_line_as_it_is_now(tmp_path, change):
    A = np.arange(9.0)
    for text in (KERNEL, SAME[change]):
        kernel = kernel_in(tmp_path, text)
        line = next(number for number, each in enumerate(text.splitlines(), 1) if "B[i] =" in each)
        if change == "other brackets" and text != KERNEL:
            wanted = f"{kernel.__wrapped__.__code__.co_filename}:{line} A[i + "  # as far as the line goes
        else:
            wanted = f"{kernel.__wrapped__.__code__.co_filename}:{line} A[i + 2] goes past the end of axis 0"
        with pytest.raises(ArgumentError) as refused:
            kernel(A, np.zeros(9))
        assert wanted in str(refused.value)
        assert "<" not in str(refused.value)
        assert refused.value.__cause__ is None and refused.value.__suppress_context__


UNASSIGNED = """
import polytune

@polytune.kernel
def last(A):
    for i in range(len(A)):
        x = A[i]
    A[0] = found(x)


def found(value):
    return value + 1
"""


def test_refusals_show_a_caret_under_the_source_as_it_is_now(tmp_path):
    for text in (UNASSIGNED, UNASSIGNED.replace("    A[0] = found(x)", "    # now\n    A[0]   =   found( x )")):
        kernel = kernel_in(tmp_path, text, "last")
        lines = text.splitlines()
        number, line = next((k, each) for k, each in enumerate(lines, 1) if "found" in each)
        with pytest.raises((UnassignedVariableError, ArgumentError)) as refused:
            kernel(np.zeros(0))
        message = str(refused.value)
        assert f"{kernel.__wrapped__.__code__.co_filename}:{number}" in message
        if isinstance(refused.value, UnassignedVariableError):
            assert f"    {line}\n    {' ' * line.index('x')}^" in message


HELPER = """
import polytune

@polytune.kernel
def copied(A, B):
    for i in range(len(A)):
        put(A, B, i)


def put(A, B, i):
    B[i] = A[i]
"""


def test_places_in_functions_that_are_called_are_found(tmp_path):
    for text in (HELPER, HELPER.replace("def put", "# below\n\n\ndef put")):
        kernel = kernel_in(tmp_path, text, "copied")
        line = text.splitlines().index("    B[i] = A[i]") + 1
        with pytest.raises(ArgumentError, match=rf":{line} B\[i\] goes past the end"):
            kernel(np.zeros(5), np.zeros(4))


CHECKED = """
import numpy as np
import polytune

@polytune.kernel
def gathered(x, index):
    y = x[index]
    return y


@polytune.kernel
def followed(x, steps):
    place = 0
    for i in range(len(steps)):
        place = place + steps[i]
        x[place] += 1.0


@polytune.kernel
def added(x, y):
    return x + y
"""


@pytest.mark.parametrize(
    ("name", "arguments", "error", "line"),
    [
        ("gathered", (np.zeros(3), np.array([0, 5])), polytune.SubscriptError, "    y = x[index]"),
        ("followed", (np.zeros(3), np.array([1, 2])), polytune.SubscriptError, "        x[place] += 1.0"),
        ("added", (np.zeros(3), np.zeros(4)), ArgumentError, "    return x + y"),
    ],
)
def test_subscripts_and_shapes_are_refused_at_the_line_as_it_is_now(tmp_path, name, arguments, error, line):
    for text in (CHECKED, CHECKED.replace("@polytune", "# above\n@polytune")):
        kernel = kernel_in(tmp_path, text, name)
        with pytest.raises(error) as refused:
            kernel(*arguments)
        place = f"{kernel.__wrapped__.__code__.co_filename}:{text.splitlines().index(line) + 1}"
        assert str(refused.value).startswith(place), refused.value
        assert f"\n    {line}\n" in str(refused.value) or error is ArgumentError


def test_a_function_without_source_is_told_apart_by_its_code():
    names: dict[str, Any] = {}
    exec("def one(x): return x + 1\ndef other(x): return x + 2", names)
    assert normal_text(names["one"]) != normal_text(names["other"])


def test_what_was_tuned_survives_a_comment(tmp_path):
    A, B = np.arange(9.0), np.zeros(7)
    first = kernel_in(tmp_path, KERNEL.replace("range(A.shape[0])", "range(B.shape[0])"))
    for _ in range(3):
        first(A, B)
    tuner = first.tuner(A, B)
    tuner.save()
    commented = "# above\n" + KERNEL.replace("range(A.shape[0])", "range(B.shape[0])")
    second = kernel_in(tmp_path / "elsewhere", commented)
    # Calls that teach nothing, as the machine was busy meanwhile, may be missing there.
    assert 0 < second.tuner(A, B).statistics().calls <= tuner.statistics().calls
    np.testing.assert_array_equal(B, 2 * (A[:7] + A[2:]))


def test_a_kernel_that_is_called_with_a_cached_module_is_right(tmp_path):
    for text in (KERNEL, SAME["other brackets"]):
        kernel: polytune.Kernel = kernel_in(tmp_path, text)
        A, got = np.arange(9.0), np.zeros(9)
        with pytest.raises(ArgumentError):
            kernel(A, got)
        assert not got.any()
