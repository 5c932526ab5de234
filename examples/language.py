"""One kernel for each row of the reference in docs/language.md, which a test runs beside plain Python."""

# ruff: noqa: F821
# mypy: ignore-errors

import math

import numba
import numpy as np

import polytune

WEIGHTS = np.array([0.25, 0.5, 0.25])
STEPS = 3


# ---- loops


@polytune.kernel
def affine_loop(A: "float64[:, ::1]"):
    for i in range(1, A.shape[0]):
        for j in range(i, A.shape[1]):
            A[i, j] = 2.0 * A[i, j] + 1.0


@polytune.kernel
def product_as_bound(A: "float64[::1]", n: int, m: int):
    for i in range(n * m // 36):
        A[i] += 1.0


@polytune.kernel
def bound_from_data(start: "int64[::1]", x: "float64[::1]", y: "float64[::1]"):
    for i in range(len(y)):
        for k in range(start[i], start[i + 1]):
            y[i] += x[k]


@polytune.kernel
def loop_over_array(A: "float64[:, ::1]", y: "float64[::1]"):
    for i, row in enumerate(A):
        y[i] = row[0] - row[1]


@polytune.kernel
def loop_over_tuple(A: "float64[::1]", B: "float64[::1]"):
    for i in range(1, len(A) - 1):
        for d in (-1, 0, 1):
            B[i] += A[i + d]


@polytune.kernel
def generator_expression(A: "float64[:, ::1]", y: "float64[::1]"):
    for i in range(len(A)):
        y[i] += sum(A[i, j] * A[j, i] for j in range(len(A))) + max(x for x in A[i])


@polytune.kernel
def any_of_expressions(A: "float64[:, ::1]", y: "float64[::1]"):
    for i in range(len(A)):
        if any(x > 1.5 for x in A[i]):
            y[i] = 0.0


@polytune.kernel
def list_written_out(A: "float64[::1]", B: "float64[::1]"):
    for i in range(2, len(A)):
        parts = [WEIGHTS[k] * A[i - k] for k in range(STEPS)]
        B[i] = parts[0] - parts[2]


@polytune.kernel
def array_of_comprehension(A: "float64[:, ::1]"):
    return np.array([row.mean() for row in A])


@polytune.kernel
def match_statement(A: "float64[::1]", k: int):
    for i in range(len(A)):
        match k:
            case 0 | 1:
                A[i] += 1.0
            case n if n > 5:
                A[i] *= 2.0
            case _:
                A[i] = 0.0


@polytune.kernel
def assigned_in_expression(A: "float64[::1]"):
    if (n := len(A)) > 3:
        for i in range(n // 2):
            A[i] = (x := A[i] + 1.0) * x


@polytune.kernel
def while_loop(A: "float64[::1]", y: "float64[::1]"):
    for i in range(len(A)):
        x = A[i]
        while x > 1.0:
            x = 0.5 * x
        y[i] = x


@polytune.kernel
def until_converged(A: "float64[:, ::1]"):
    change = 1.0
    while change > 0.01:
        change = 0.0
        for i in range(1, A.shape[0] - 1):
            for j in range(A.shape[1]):
                before = A[i, j]
                A[i, j] = 0.25 * (A[i - 1, j] + 2.0 * before + A[i + 1, j])
                change = max(change, abs(A[i, j] - before))


@polytune.kernel
def sweeps_with_break(A: "float64[:, ::1]", y: "float64[::1]"):
    for step in range(100):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] = 0.5 * A[i, j]
        y[0] = step
        if A[0, 0] < 0.01:
            break


@polytune.kernel
def sum_under_condition(x: "float64[::1]", total: "float64[::1]"):
    e = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            s = 1.0 / x[i]
            e += s * s
    total[0] = e


@polytune.kernel
def loop_with_break(A: "float64[:, ::1]", y: "float64[::1]"):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 0.5:
                y[i] = j
                break


@polytune.kernel
def loop_with_continue(A: "float64[::1]", y: "float64[::1]"):
    for i in range(len(A)):
        if A[i] > 0.5:
            continue
        y[i] = A[i]


# ---- conditions


@polytune.kernel
def affine_condition(A: "float64[:, ::1]"):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if i <= j and j < i + 3:
                A[i, j] = 0.0


@polytune.kernel
def condition_on_data(A: "float64[::1]", y: "float64[::1]"):
    for i in range(len(A)):
        if A[i] > 0.5:
            y[i] = A[i]


@polytune.kernel
def test_of_arguments(A: "float64[::1]", n: int):
    if n > len(A):
        raise ValueError("there are not so many elements")
    for i in range(n):
        A[i] = 1.0


# ---- subscripts


@polytune.kernel
def piecewise_subscript(A: "float64[::1]", B: "float64[::1]", n: int):
    for i in range(n):
        B[i] = A[max(i - 1, 0)] + A[min(i + 1, n - 1)]


@polytune.kernel
def gathered(A: "float64[::1]", index: "int64[::1]", y: "float64[::1]"):
    for i in range(len(y)):
        y[i] = A[index[i]]


@polytune.kernel
def scattered(A: "float64[::1]", index: "int64[::1]", y: "float64[::1]"):
    for i in range(len(A)):
        y[index[i]] = A[i]


@polytune.kernel
def histogram(index: "int64[::1]", counts: "int64[::1]"):
    for i in range(len(index)):
        counts[index[i]] += 1


# ---- assignments


@polytune.kernel
def private_variable(A: "float64[::1]", y: "float64[::1]"):
    for i in range(len(A)):
        t = A[i] * A[i]
        y[i] = t + 1.0 / t


@polytune.kernel
def sum_of_all(A: "float64[:, ::1]"):
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += A[i, j]
    return total


@polytune.kernel
def recurrence(A: "float64[::1]"):
    for i in range(1, len(A)):
        A[i] = 0.5 * A[i - 1] + A[i]


# ---- arrays


@polytune.kernel
def array_expression(A: "float64[:, ::1]", B: "float64[:, ::1]"):
    A[1:-1] = 0.5 * (B[:-2] + B[2:]) + np.sqrt(B[1:-1])


@polytune.kernel
def reads_what_it_writes(A: "float64[::1]"):
    A[1:] = A[:-1] + A[1:]


@polytune.kernel
def broadcast(A: "float64[:, ::1]", y: "float64[::1]"):
    A -= y[:, None]


@polytune.kernel
def reduction_of_rows(A: "float64[:, ::1]", y: "float64[::1]"):
    y[:] = A.sum(axis=1)


@polytune.kernel
def product_of_matrices(A: "float64[:, ::1]", B: "float64[:, ::1]"):
    return A @ B


@polytune.kernel
def masked(A: "float64[::1]"):
    A[A > 0.5] *= 2.0


@polytune.kernel
def sums_above(A: "float64[:, ::1]"):
    above = A[:, 0] > 0.5
    return A[above, 1].sum(), A[above].sum(axis=0)


@polytune.kernel
def view(A: "float64[:, ::1]", y: "float64[::1]"):
    row = A[1]
    for j in range(len(y)):
        row[j] = y[j]


@polytune.kernel
def local_array(A: "float64[:, ::1]", y: "float64[::1]"):
    for i in range(A.shape[0]):
        t = A[i] * 2.0
        y[i] = t.max()


@polytune.kernel
def reshaped(A: "float64[:, ::1]"):
    return A.reshape(-1) + 1.0


@polytune.kernel
def list_of_subscripts(A: "float64[:, ::1]", i: int):
    A[[0, i - 1]] = A[[i - 1, 0]]


@polytune.kernel
def choice_of_arrays(A: "float64[::1]", B: "float64[::1]", n: int):
    A[:] = (A if n > 3 else B) + 1.0


@polytune.kernel
def parts_of_array(A: "float64[::1]"):
    left, right = np.split(A, 2)
    left += right


@polytune.kernel
def counted_by_data(A: "float64[::1]"):
    i = np.flatnonzero(A > 0.5)
    B = A[A > 0.5]
    return i, B - B.mean(), len(B)


@polytune.kernel
def growing_list(A: "float64[::1]"):
    out = []
    for i in range(len(A)):
        if A[i] > 0.5:
            out.append(A[i])
    return out


@polytune.kernel
def counted_size(A: "float64[::1]", first: "int64[::1]"):
    for i in range(len(A)):
        work = np.ones(first[i])
        A[i] = work.sum()


@polytune.kernel
def flat_elements(A: "float64[:, ::1]", B: "float64[::1]"):
    for i in range(len(B)):
        B[i] = A.flat[i]


@polytune.kernel
def masked_rows(A: "float64[:, ::1]"):
    above = A[:, 0] > 0.5
    A[above, 1] = 0.0
    return A[above]


@polytune.kernel
def windowed(x: "float64[::1]"):
    return x * np.hanning(len(x))


# ---- library calls


@polytune.kernel
def solved(A: "float64[:, ::1]", y: "float64[::1]"):
    return np.linalg.solve(A, y)


@polytune.kernel
def sorted_rows(A: "float64[:, ::1]"):
    for i in range(A.shape[0]):
        A[i] = np.sort(A[i])


@polytune.kernel
def random_numbers(A: "float64[:, ::1]"):
    np.random.seed(1)
    A += np.random.normal(0.0, 0.1, size=A.shape)


@polytune.kernel
def exchanged_names(u: "float64[:, ::1]", v: "float64[:, ::1]", steps: "int"):
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(u.shape[1]):
                v[i, j] = 0.5 * (u[i - 1, j] + u[i + 1, j])
        u, v = v, u
    return u


@numba.stencil
def neighbours(a):
    return 0.5 * (a[-1, 0] + a[1, 0])


@polytune.kernel
def with_stencil(A: "float64[:, ::1]", B: "float64[:, ::1]"):
    neighbours(A, out=B)


@polytune.kernel
def printed(x: "float64[::1]"):
    for k in range(len(x)):
        x[k] = 2.0 * x[k]
        if x[k] > 1e6:
            print(f"x[{k}] is {x[k]:.3g}")


@polytune.kernel
def by_type(x: "float64[::1]", scale: "float"):
    if isinstance(scale, float):
        x *= scale
    else:
        x *= scale[0]


@polytune.kernel
def common_divisors(x: "float64[::1]"):
    for k in range(len(x)):
        x[k] = math.gcd(k + 1, 12)


@polytune.kernel
def with_import(x: "float64[::1]"):
    from math import sin

    for k in range(len(x)):
        x[k] = sin(x[k])


@polytune.kernel
def single_random_numbers(x: "float64[::1]"):
    rng = np.random.default_rng(len(x))
    for k in range(len(x)):
        step = rng.normal()
        while abs(step) > 1.0:
            step = rng.normal()
        x[k] += step


@polytune.kernel
def shapes_of_data(A: "float64[:, ::1]", sums: "float64[::1]"):
    left = A.reshape(-1)
    for step in range(len(sums)):
        left = left[left > left.mean()]
        sums[step] = left.sum()


@polytune.kernel
def shorter_arrays(y: "float64[::1]", c: "float64[::1]"):
    for k in range(len(c)):
        c[k] = y[0]
        y = np.diff(y)


# ---- functions and results


def scaled(x, factor=2.0):
    return factor * x


@polytune.kernel
def helper_function(A: "float64[::1]"):
    for i in range(len(A)):
        A[i] = scaled(A[i], factor=3.0)


@polytune.kernel
def functions_and_stars(A: "float64[::1]", k: float):
    square = lambda x, offset: k * x * x + offset  # noqa: E731
    for i in range(len(A)):
        pair = A[i], 1.0
        A[i] = square(*pair)


@polytune.kernel
def early_return(A: "float64[::1]"):
    for i in range(len(A)):
        if A[i] > 0.5:
            return i
    return -1


@polytune.kernel
def several_results(A: "float64[::1]"):
    B = A + 1.0
    return B, B.max(), len(A)


@polytune.kernel
def from_outside(A: "float64[::1]"):
    for _ in range(STEPS):
        for i in range(1, len(A) - 1):
            A[i] = WEIGHTS[0] * A[i - 1] + WEIGHTS[1] * A[i] + WEIGHTS[2] * A[i + 1]
