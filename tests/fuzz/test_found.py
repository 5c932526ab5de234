"""Small programs that larger random ones were about when they failed: each in every version, against NumPy."""

from __future__ import annotations

import pytest

from polytune.frontend.polyhedral.budget import ProcessorTime
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.fuzz.checking import check
from tests.fuzz.samples import Sample

FLOATS = ("A", "np.arange(1.0, 6.0)"), ("B", "np.zeros(5)")
MATRIX = ("A", "np.arange(25.0).reshape(5, 5) / 4")

PASSING = {
    "one statement twice, at the same place": (
        "s = A[0, 0] * 2\nfor i in range(n):\n    s += A[i, i]\n"
        "for i in range(n - 2, -1, -2):\n    for j in range(2, n - i):\n"
        "        A[i, j] = (A[i, j - 1] + A[i, j]) % 11\n        A[i, j] = (A[i, j - 1] + A[i, j]) % 11\nreturn s",
        (("A", "np.arange(25, dtype=np.int32).reshape(5, 5)"), ("n", "5")),
    ),
    "a size that is told of although it depends on data": (
        "for i in range(B.shape[0]):\n    C[2:] = B[i, 2:, -1]\n"
        "for i, r in enumerate(C):\n    t = np.zeros((3, 1, 2), dtype=np.int32) - B[:-1, i:]\n"
        "if n < 1:\n    pass\nelse:\n    A[::-3, -2:, :-2] = (B[-1:, :5, :] * (i - 3)) % 3\n"
        "m = A[-1, -1, :2] >= i\nreturn np.sum(C[m]), m",
        (
            ("A", "np.arange(16, dtype=np.int8).reshape(2, 2, 4)"),
            ("B", "np.arange(16, dtype=np.int8).reshape(4, 2, 2)"),
            ("C", "np.arange(2, dtype=np.uint16)"),
            ("n", "7"),
        ),
    ),
    "unsigned numbers less than nothing": (
        "t = np.sum(A, axis=0, keepdims=True) - A.size\nreturn np.sum(t), t",
        (("A", "np.arange(6, dtype=np.uint16).reshape(2, 3)"),),
    ),
    "numbers that a function writes into an array": (
        "np.maximum(0.5, np.any(A), out=B)\nnp.add(1, 2, out=A)",
        FLOATS,
    ),
    "the sign of integers": (
        "return np.sign(A), np.sum(np.sign(B)), np.sign(B[0])",
        (("A", "np.arange(-3, 4, dtype=np.int8)"), ("B", "np.arange(5, dtype=np.uint16)")),
    ),
    "arithmetic of truth values": (
        "return np.add(A, B), np.multiply(A, B), np.maximum(A, B), np.minimum(A, A[0]), abs(A), abs(A[1])",
        (("A", "np.arange(5) > 2"), ("B", "np.arange(5) % 2 > 0")),
    ),
    "functions of Python's numbers have NumPy's types": (
        "return np.abs(-2) * A, np.add(n, 1) * A, np.minimum(n, 3) + A[0]",
        (("A", "np.arange(5, dtype=np.float32)"), ("n", "2")),
    ),
    "an array that several loops share out, and one of them keeps copies of": (
        "for i in range(3):\n    t = B * np.concatenate((B[1:], A[i, :1]))\n    A[i] = t\n    B[:] = A[i, ::-1]",
        (MATRIX, FLOATS[1]),
    ),
    "a subscript that depends on data, of the array that is assigned": (
        "A[1:] = A[:-1] * A[k[0], 2]\nA[:, 1] += A[k[1], k[0]]",
        (MATRIX, ("k", "np.array([3, 1])")),
    ),
    "a subscript of a subscript": (
        "A[k[k[0]], 1] = 1",
        (MATRIX, ("k", "np.array([1, 3, 7])")),
    ),
    "sums into an array that only some sizes have anything to add to": (
        "t = 1.0 - A[::2]\nfor x, y in zip(A, A):\n    t[1::2] += A[1::2]\nreturn t",
        (("A", "np.ones(1)"),),
    ),
    "an array of a worker's that each iteration begins anew": (
        "t = np.empty(9)\nfor i in range(3):\n    for j in range(n):\n        for k in range(1, 5):\n"
        "            t[k] = A[0, 0] + i\n        for k in range(1, 5):\n            A[i, k] += t[k]",
        (MATRIX, ("n", "3")),
    ),
    "loops over rows and parts of arrays": (
        "inner = A[1:-1, ::2]\nt = np.zeros(3)\nfor row in A:\n    for x in row:\n        t[0] += x\n"
        "for i, row in enumerate(inner):\n    for x, y in zip(row, t):\n        t[1] += x * y + i\n"
        "for x in A[2]:\n    t[2] = max(t[2], x)\nfor x in t[1:]:\n    A[0] += x\nreturn t",
        (MATRIX,),
    ),
    "break and continue in loops in branches": (
        "if A[0, 0] < 2:\n    for i in range(5):\n        A[0] += A[i]\n        if A[0, i] > 3:\n            break\n"
        "elif n > 1:\n    for i in range(5):\n        if A[i, 0] > 2:\n            continue\n        A[i] = 1\n"
        "if n > 1:\n    for i in range(1, 5):\n        for j in range(5):\n            A[i, j] += n\n"
        "        if A[i, 1] > 4:\n            break\n    else:\n        A[1] = 2",
        (MATRIX, ("n", "2")),
    ),
    "square roots written as powers": (
        "return A ** 0.5, (A + 1) ** 0.5, A[0] ** 0.5",
        (("A", "np.array([4.0, -np.inf, np.nan, np.inf, -1.0])"),),
    ),
    "a loop that ends early, and goes in rows that are as long as a remainder is large": (
        "for i in range(1, n):\n    if A[i, 0] > 4:\n        break\n    for j in range(k):\n"
        "        if 1.0 > A[0, i % k]:\n            A[i, j] = 0.0",
        (MATRIX, ("n", "5"), ("k", "3")),
    ),
    "a break in the else of a loop in a loop with an else": (
        "t = 0\nfor i in range(n):\n    for j in range(n):\n        A[j, i] += 1\n    for j in range(k):\n"
        "        if A[i, j] > 40:\n            break\n    else:\n        if i == 3:\n            break\n    t += 1\n"
        "else:\n    t = -9\nfor i in range(n):\n    while A[i, i] > 5:\n        A[i, i] -= 2\n    else:\n"
        "        if i == k:\n            break\nelse:\n    t = -8\nreturn t",
        (MATRIX, ("n", "5"), ("k", "3")),
    ),
    "a loop that ends in an iteration that is known, and goes on in parts of rows": (
        "for i in range(n):\n    if i == k:\n        break\n    for j in range(n):\n        if A[j, i % k] > 2:\n"
        "            continue",
        (MATRIX, ("n", "5"), ("k", "3")),
    ),
    "steps and bounds of unsigned and short types": (
        "t = 0.0\nfor i in range(1, n, k):\n    t += i * A[i - 1, i]\nfor j in range(k, 5, n):\n    A[j, 0] = j / 2\n"
        "for j in range(m, 0, m - n - k):\n    t -= A[j, j]\nreturn t",
        (MATRIX, ("n", "np.uint8(5)"), ("k", "np.uint32(3)"), ("m", "np.int8(4)")),
    ),
    "ranges of NumPy's numbers as arrays": (
        "return np.arange(n), np.arange(k, 4), np.arange(m), np.arange(m, n), np.arange(n, dtype=np.int32)",
        (("n", "np.uint64(5)"), ("k", "np.uint8(3)"), ("m", "np.int16(2)")),
    ),
    "a joined array in a loop beside another statement": (
        "for i in range(2):\n    t = np.concatenate((B[1:], B))\n    A[::-1] = 1.0\nreturn A",
        (MATRIX, FLOATS[1]),
    ),
}


def sample_of(body: str, setup: tuple[tuple[str, str], ...], strict: bool) -> Sample:
    names = ", ".join(name for name, _ in setup)
    lines = "\n".join("    " + line for line in body.splitlines())
    return Sample(f"def kernel({names}):\n{lines}\n", setup, names, strict, numpy=True)


@pytest.mark.parametrize("strict", [False, True], ids=["reassociated", "strict"])
@pytest.mark.parametrize("name", PASSING)
def test_program_passes_in_every_version(name: str, strict: bool) -> None:
    verdict = check(sample_of(*PASSING[name], strict), seed=1, compiled=False)
    assert verdict.failure is None, verdict.failure.message
    assert verdict.outcome == "passed", verdict.unsupported


def test_copies_of_arrays_are_given_up_when_their_dependences_take_long() -> None:
    source = """
def kernel(A):
    A[:, 1:, 1:] = A[..., :-1, :-1] + A[..., ::2, ::2]
    A[..., :2, 1:] = np.where(A[:, 1:, 1:] > 1, np.clip(A[:, ::2, ::2], 0, 3), np.maximum(A[:, 1:, 1:], A[:, 1:, ::-2]))
    for i in range(1, A.shape[0] - 1):
        A[:, :, ::-2] = A[:, :, ::-2] + A[i, :, ::-2]
    return A[0, :, :] * A[1:, :, :]
"""
    sample = Sample(source, (("A", "np.arange(27).reshape(3, 3, 3)"),), "A", False, numpy=True)
    function = sample.function()
    signature = signature_of(("A",), sample.arguments(function).values)
    stages = Stages(function, signature, time=ProcessorTime(2.0))
    assert stages.source
    assert stages.time.used < 10.0  # dependences alone took 20
