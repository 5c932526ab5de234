"""Generated functions with each construct of those that are translated, and arguments for them."""

from __future__ import annotations

import linecache
import math
import textwrap
from collections.abc import Callable
from itertools import count

import numba
import numpy as np

from polytune.runtime.intrinsics.arithmetic import (
    complex_quotient,
    greatest,
    least,
    library_pow,
    power,
    quotient,
    remainder,
)
from polytune.runtime.intrinsics.memory import keep_alive, one_by_one, view
from polytune.runtime.teams.context import attach, integer, number

_NUMBERS = count()
_KNOWN = {
    **{"attach": attach, "integer": integer, "number": number, "keep_alive": keep_alive, "view": view},
    **{"greatest": greatest, "least": least, "quotient": quotient, "remainder": remainder, "power": power},
    **{
        "complex_quotient": complex_quotient,
        "complex": complex,
        "library_pow": library_pow,
        "one_by_one": one_by_one,
        "np": np,
        "math": math,
    },
}
HEAD = """
a = attach(context, 0, "float64[::1]", "a", "a i u s b z zs")
i = attach(context, 1, "int64[::1]", "i", "a i u s b z zs")
u = attach(context, 2, "uint8[::1]", "u", "a i u s b z zs")
s = attach(context, 3, "float32[::1]", "s", "a i u s b z zs")
b = attach(context, 4, "bool[::1]", "b", "a i u s b z zs")
n = integer(context, 5)
x = number(context, 6, "float64")
z = attach(context, 7, "complex128[::1]", "z", "a i u s b z zs")
zs = attach(context, 8, "complex64[::1]", "zs", "a i u s b z zs")
"""


def function_of(body: str, **options):
    """A function as a generated module has it, which works on arrays of seven types."""
    text = "def run(context):\n" + textwrap.indent(HEAD + textwrap.dedent(body), "    ")
    file = f"<generated {next(_NUMBERS)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = dict(_KNOWN)
    exec(compile(text, file, "exec"), names)
    return numba.njit(error_model="numpy", **options)(names["run"])


class Arrays:
    """Arguments of such a function."""

    def __init__(self) -> None:
        self.a = np.array([1.5, -2.25, 0.0, -0.0, np.inf, np.nan, 1e300, 7.0])
        self.i = np.array([3, -7, 0, 5, -1, 2**62, -(2**63), 12])
        self.u = np.array([0, 1, 255, 128, 7, 200, 3, 64], np.uint8)
        self.s = np.array([0.5, -1.5, 3e38, 1e-30, 0.0, np.nan, 2.0, 9.0], np.float32)
        self.b = np.array([True, False] * 4)
        self.z = np.array([1 + 2j, -0.5j, 0j, complex(np.nan, 1), 3.0, complex(-0.0, -0.0), 1e-3 + 1e3j, -2 - 7j])
        self.zs = np.array([0.5 - 1j, 2j, 0, complex(np.inf, 0), 1.5, -1 - 1j, 1e-9j, 4 + 3j], np.complex64)
        self.all = self.a, self.i, self.u, self.s, self.b, self.z, self.zs

    def run(self, call: Callable[[int], None]) -> tuple[np.ndarray, ...]:
        addresses = [each.ctypes.data for each in self.all]
        words = np.array([*addresses[:5], 8, 0, *addresses[5:]], np.int64)
        words[6:7].view(np.float64)[0] = 2.5
        call(words.ctypes.data)
        return self.all


BODIES = {
    "tests of bits": """
        crc = 65535
        for k in range(n):
            for _ in range(8):
                crc = ((crc >> 1) ^ i[0]) if ((crc ^ i[k]) & 1) != 0 else (crc >> 1)
                if (crc & 2) == (i[k] & 2):
                    crc = crc ^ 5
                else:
                    a[1] = a[1] + 1.0
        i[1] = crc
    """,
    "numbers of all types": """
        a[0] = i[1]
        a[1] = u[2]
        s[0] = a[7]
        i[0] = u[2]
        u[0] = np.uint8(u[2] + np.uint8(3))
        a[2] = b[0]
    """,
    "arithmetic": """
        a[0] = x + a[1] * a[0] - a[7] / x
        i[0] = i[1] * i[3] - i[7] + 2
        a[1] = i[0] / i[1]
        s[0] = s[1] + s[6]
    """,
    "mixed": """
        a[0] = s[0] + x
        a[1] = s[1] * i[3]
        a[7] = 1 / x + n
    """,
    "stores among loads of the same and other arrays": """
        for k in range(1, n - 1):
            a[k] = s[k] + a[k - 1] + x
            s[k] = 1.0 if i[k] > i[k - 1] else 0.5
            a[k - 1] = math.sqrt(s[k] + a[k + 1])
            i[k] = 3 if a[k] > a[k - 1] else i[k + 1]
            a[k] = s[k - 1]
    """,
    "negation": """
        a[0] = -a[1]
        a[1] = -a[2]
        i[0] = -i[6]
        a[2] = -1 * -2.5
    """,
    "negation of small integers": """
        for k in range(n):
            u[k] = np.uint8(-u[k])
            i[k] = -np.int8(i[k])
            a[k] = -np.int16(n - 2 * k) + x
            i[k] = i[k] + np.int64(-np.uint8(k))
        i[6] = -np.int8(-128)
    """,
    "division": """
        for k in range(n):
            i[k] = i[k] // 3 + i[k] % 3
        for k in range(n):
            i[k] = quotient(i[k], 4) * remainder(i[k], 4)
    """,
    "division by what varies": """
        for k in range(n):
            i[k] = i[k] // (k - 4) + i[k] % (k - 4)
        for k in range(n):
            i[k] = (i[k] * 7 + k - 3) % (3 - k) + (k - 2) % n + (k + 9) % -n
    """,
    "least and greatest": """
        for k in range(n):
            a[k] = least(a[k], x)
            s[k] = greatest(s[k], s[0])
            i[k] = least(i[k], greatest(k, 2))
    """,
    "powers": """
        a[0] = power(a[0], 3)
        a[1] = power(a[1], -2)
        a[7] = library_pow(a[7], x)
        i[0] = power(i[0], 5)
        a[2] = x ** 0.5
    """,
    "powers of complex numbers": """
        for k in range(n):
            zs[k] = zs[k] ** zs[0] + zs[k] ** np.complex64(complex(2.0, 0.0))
            z[k] = z[k] ** complex(a[k], 0.5) - z[k] ** complex(2.0, 0.0)
    """,
    "abs": """
        for k in range(n):
            a[k] = abs(a[k])
            i[k] = abs(i[k])
            s[k] = abs(s[k])
    """,
    "comparisons": """
        for k in range(n):
            b[k] = a[k] < x
            i[k] = 1 if a[k] != a[k] else 2 if a[k] >= 0.0 else 3
            u[k] = np.uint8(9) if u[k] == np.uint8(255) else u[k]
    """,
    "logic": """
        for k in range(n):
            b[k] = (a[k] > 0 and i[k] > 0) or not b[k]
            if k < 3 or i[k - 3] == 3 and not a[k] > x:
                s[k] = 0.0
    """,
    "tests of ranges": """
        for k in range(n):
            s[k] = s[k] + (16.0 if i[k] < 0 or i[k] >= greatest(0, n - 2) else 0.0)
            s[k] = s[k] + (32.0 if greatest(i[k], k - 4) >= 0 and greatest(i[k], k - 4) < least(n, 3) else 0.0)
            s[k] = s[k] + (64.0 if i[k] >= 0 and i[k] < greatest(-2, -n) else 0.0)
            m = i[k] % 13 - 4
            b[k] = m >= 0 and m < n
            if m < 0 or m >= n - 3 or i[k] < 0 or i[k] >= n:
                a[k] = 1.0
            if k + m < 0 or k + m >= i[4] or i[6] >= 0 and i[6] < i[5]:
                s[k] = 2.0
            u[k] = 3 if m < 0 or m >= i[4] else 4
            if i[k] >= 0 and i[k] < i[6]:
                z[k] = 0.5
            if i[k] < 0 or i[k] >= i[6]:
                z[k] = z[k] + 1.0
    """,
    "an operand that must not be looked at": """
        for k in range(n + 5):
            if k < n and a[k] > 0.0:
                a[k] = 1.0 if k >= n - 1 else a[k + 1]
    """,
    "ranges": """
        for k in range(1, n, 3):
            a[k] = k
        for k in range(n - 1, -1, -2):
            i[k] = k
        for k in range(5, 2):
            a[0] = 99.0
    """,
    "a range with a step that varies": """
        for k in range(0, n, i[0]):
            a[k] = k
        for k in range(n - 1, 0, i[4]):
            i[k] = 2 * k
    """,
    "a range's variable afterwards": """
        for k in range(3):
            pass
        i[0] = k
        for k in range(0):
            pass
        i[1] = k
    """,
    "while, break and continue": """
        k = 0
        while k < n:
            k += 1
            if k == 3:
                continue
            if k > 6:
                break
            a[k] = k
        i[0] = k
    """,
    "break out of one loop of two": """
        for k in range(n):
            for l in range(n):
                if l > k:
                    break
                i[k] = l
            else_ = k
            i[0] = else_
    """,
    "mathematics": """
        for k in range(n):
            a[k] = math.exp(-x * k) + math.log(1.0 + k) + math.sqrt(x) + math.tanh(x)
            a[k] = a[k] + math.sin(x) * math.erf(x)
            s[k] = np.float32(math.exp(np.float32(0.5)))
            i[k] = np.int64(np.floor(x))
    """,
    "mathematics of two numbers": """
        for k in range(n):
            a[k] = math.atan2(a[k], x) + math.hypot(x, k + 0.5) + np.fmod(a[k], x)
            s[k] = np.float32(math.copysign(s[k], s[1]))
            a[k] = a[k] + math.exp2(-x) + math.log2(x + k)
    """,
    "extrema": """
        for k in range(n):
            a[k] = np.maximum(np.minimum(a[k], 5.0), x)
            s[k] = np.float32(np.minimum(s[k], np.float32(1.0)))
        for k in range(n):
            a[k] = np.fmin(np.fmax(a[k], a[1]), a[7]) + np.sign(a[k])
        t = -np.inf
        for k in range(n):
            t = np.maximum(t, a[k])
        a[3] = t
        t = np.inf
        for k in range(n):
            t = np.fmin(t, a[k])
        a[2] = t
        s[4] = np.float32(np.sign(s[1]))
    """,
    "NaN and signs": """
        a[0] = np.sign(a[2])
        a[1] = np.sign(-x)
        a[5] = np.sign(np.nan)
        a[6] = np.maximum(np.nan, x)
        a[7] = np.minimum(x, np.nan)
    """,
    "bits of all integers": """
        u[0] = np.uint8(u[2] & u[3])
        u[1] = np.uint8(u[5] ^ np.uint8(7))
        u[4] = np.uint8(u[5] >> 3)
        u[7] = np.uint8(u[5] >> np.uint8(2))
        u[6] = np.uint8(np.uint8(u[5] << 3) | np.uint8(1))
        i[0] = (i[1] >> 2) ^ i[3]
        i[2] = i[6] >> 60
        i[3] = np.int64(np.uint64(i[6]) >> 60)
    """,
    "several comparisons": """
        for k in range(n):
            if 1 < k <= 5 < n:
                a[k] = 1.0
            b[k] = 0.0 <= a[k] < x
    """,
    "an operand of several comparisons that must not be looked at": """
        for k in range(n + 5):
            if k < n < a[k] + 100.0:
                a[k] = 2.0
    """,
    "complex numbers": """
        for k in range(n):
            z[k] = z[k] * z[1] + 2.0 * z[0] - z[k]
            zs[k] = np.complex64(-zs[k] * zs[k] + zs[2])
        a[0] = z[0].real + z[1].imag
        z[1] = complex(x, a[1]).conjugate()
        a[1] = abs(z[0])
        s[0] = np.float32(abs(zs[7]))
        z[2] = zs[0]
        zs[1] = np.complex64(z[0])
        z[3] = 3
        z[4] = x
        z[5] = complex_quotient(z[0], z[7])
        z[6] = power(z[0], 3)
        t = z[0]
        for k in range(3):
            t = t + z[k]
        z[7] = t if abs(t) < 1e6 else z[0]
    """,
    "complex numbers compared": """
        for k in range(n):
            b[k] = z[k] == z[0] or z[k] != z[k] or zs[k] != 0
    """,
    "remainders of floats": """
        for k in range(n):
            a[k] = a[k] % 0.75 + (0.0 if k < 3 else x % -s[1])
            s[k] = s[k] % np.float32(-0.3)
    """,
    "remainders of floats by what is 0 or negative": """
        a[0] = a[7] % -2.5
        a[1] = a[1] % x
        a[4] = a[7] % a[2]
        a[3] = a[3] % x
        a[5] = -a[7] % x
    """,
    "quotients of floats that are rounded down": """
        for k in range(n):
            a[k] = a[k] // 0.75
        s[0] = s[0] // np.float32(-0.3)
        s[1] = s[1] // s[4]
        s[4] = s[4] // np.float32(-0.3)
    """,
    "exponentials of complex numbers": """
        z[0] = np.exp(z[7])
        zs[0] = np.exp(zs[3])
    """,
    "an exponential of a complex number of NaN": "z[0] = np.exp(z[3])",
    "an exponential of an infinite number": "z[0] = np.exp(complex(x * 1e400, a[2]))",
    "an exponential of an infinite number that is turned": "z[0] = np.exp(complex(x * 1e400, a[7]))",
    "an exponential of an infinite number without an angle": "z[0] = np.exp(complex(x * 1e400, a[4]))",
    "an exponential of a number below all others": "z[0] = np.exp(complex(x * -1e400, a[4]))",
    "a complex array of its own": """
        own = np.empty((2, n), np.complex64)
        w = view(own, "w", "w a i")
        for k in range(n):
            w[1, k] = zs[k]
        for k in range(n):
            zs[k] = w[1, n - 1 - k]
        keep_alive(own)
    """,
    "an array of its own": """
        own = np.empty((3, n), np.float64)
        w = view(own, "w", "w a i")
        for k in range(n):
            w[2, k] = a[k]
        for k in range(n):
            a[k] = w[2, n - 1 - k]
        keep_alive(own)
    """,
    "arrays of their own under one name": """
        own = np.empty((3, n), np.float64)
        w = view(own, "w", "w a i")
        for k in range(n):
            w[2, k] = a[k]
        for k in range(n):
            a[k] = w[2, n - 1 - k]
        keep_alive(own)
        if n > 2:
            own = np.empty(n, np.float64)
            w = view(own, "w", "w a i")
            for k in range(n):
                w[k] = a[k] + 1.0
            a[0] = w[7]
            keep_alive(own)
        else:
            own = np.empty(n + 1, np.float64)
            a[0] = 3.0
            keep_alive(own)
        own = np.empty(n, np.int64)
        w = view(own, "w", "w a i")
        for k in range(n):
            w[k] = i[k]
        for k in range(n):
            i[k] = w[n - 1 - k]
        keep_alive(own)
    """,
    "an array of each iteration's own": """
        for k in range(n):
            if i[k] > 0:
                own = np.empty(k + 1, np.float64)
                w = view(own, "w", "w a i")
                for l in range(k + 1):
                    if l == 5:
                        break
                    w[l] = a[l] + k
                a[k] = w[0] + 1.0
                keep_alive(own)
            elif i[k] < -5:
                continue
            i[k] = 0
        outer = np.empty(n, np.int64)
        v = view(outer, "v", "v a i")
        for k in range(n):
            v[k] = k
            if k == 2:
                continue
            inner = np.empty(n, np.int64)
            w = view(inner, "w", "w a i")
            w[0] = v[k]
            i[k] = i[k] + w[0]
            keep_alive(inner)
            if k == 6:
                return
        keep_alive(outer)
    """,
    "a return with arrays of its own": """
        own = np.empty((2, n), np.float64)
        w = view(own, "w", "w a i")
        for k in range(n):
            w[1, k] = a[k] + 1.0
        if i[0] > 2:
            other = np.empty(n, np.int64)
            for k in range(n):
                if i[k] == 5:
                    a[0] = w[1, k]
                    return
            keep_alive(other)
        a[0] = w[1, 0]
        keep_alive(own)
    """,
    "stores one by one": """
        for k in range(n):
            one_by_one()
            a[k] = k
    """,
    "variables of every type": """
        t = np.float32(0)
        c = False
        total = 0.0
        for k in range(n):
            t = t + s[6]
            c = c or k == 5
            total += x
        s[0] = t
        b[1] = c
        a[0] = total
    """,
    "wrapped integers": """
        u[0] = np.uint8(u[2] * np.uint8(2))
        u[1] = np.uint8(u[0] - u[3])
        i[0] = i[5] * 4
    """,
}
