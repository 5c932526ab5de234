"""Functions of a few numbers, and tests of each element of an array."""

from __future__ import annotations

import math

import numpy as np

from polytune.frontend.equivalents.registry import stands_for


@stands_for(math.gcd)
def gcd(first, second):
    first, second = abs(first), abs(second)
    while second != 0:
        first, second = second, first % second
    return first


@stands_for(math.lcm)
def lcm(first, second):
    if first == 0 or second == 0:
        return 0
    return abs(first // gcd(first, second) * second)


@stands_for(math.isclose)
def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


@stands_for(np.isneginf)
def isneginf(x):
    return x == -np.inf


@stands_for(np.isposinf)
def isposinf(x):
    return x == np.inf


@stands_for(np.iscomplex)
def iscomplex(x):
    return np.imag(x) != 0


@stands_for(np.isreal)
def isreal(x):
    return np.imag(x) == 0


@stands_for(np.iscomplexobj)
def iscomplexobj(x):
    return x.dtype == np.complex128 or x.dtype == np.complex64


@stands_for(np.isrealobj)
def isrealobj(x):
    return x.dtype != np.complex128 and x.dtype != np.complex64


@stands_for(np.isscalar)
def isscalar(element):
    return np.ndim(element) == 0


@stands_for(math.degrees)
def degrees(x):
    return x * (180.0 / math.pi)


@stands_for(math.radians)
def radians(x):
    return x * (math.pi / 180.0)


@stands_for(math.factorial)
def factorial(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    product = 1
    for factor in range(2, n + 1):
        product *= factor
    return product


@stands_for(math.perm)
def perm(n, k):
    if n < 0 or k < 0:
        raise ValueError("n and k must be non-negative integers")
    product = 1
    for factor in range(n - k + 1, n + 1):
        product *= factor
    return product if k <= n else 0


@stands_for(math.comb)
def comb(n, k):
    if n < 0 or k < 0:
        raise ValueError("n and k must be non-negative integers")
    chosen = 1
    for step in range(1, min(k, n - k) + 1):
        factor = n - step + 1
        # Their product, which `step` divides, may be too great where the quotient is not.
        chosen = chosen // step * factor + chosen % step * factor // step
    return chosen if k <= n else 0


@stands_for(math.isqrt)
def isqrt(n):
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    while root > 0 and root > n // root:
        root -= 1
    while root + 1 <= n // (root + 1):
        root += 1
    return root


@stands_for(math.prod)
def prod(iterable):
    product = 1
    for factor in iterable:
        product *= factor
    return product


@stands_for(math.dist)
def dist(p, q):
    total = 0.0
    for first, second in zip(p, q, strict=True):
        total += (first - second) * (first - second)
    return math.sqrt(total)


@stands_for(math.remainder)
def remainder(x, y):
    if math.isnan(x) or math.isnan(y):
        return x + y
    if math.isinf(x) or y == 0:
        return math.nan
    if math.isinf(y):
        return x * 1.0
    rest = math.fmod(abs(x), abs(y))
    above = abs(y) - rest
    if rest == above:  # halfway: to the even quotient
        rest = rest - 2.0 * math.fmod(0.5 * (abs(x) - rest), abs(y))
    elif rest > above:
        rest = -above
    return math.copysign(1.0, x) * rest


@stands_for(math.modf)
def modf(x):
    whole = np.trunc(x * 1.0)
    part = 0.0 if math.isinf(x) else x - whole
    return math.copysign(part, x), whole


@stands_for(math.frexp)
def frexp(x):
    mantissa = x * 1.0
    exponent = 0
    if math.isfinite(x) and x != 0:
        while abs(mantissa) >= 1.0:
            mantissa *= 0.5
            exponent += 1
        while abs(mantissa) < 0.5:
            mantissa *= 2.0
            exponent -= 1
    return mantissa, exponent


@stands_for(math.ldexp)
def ldexp(x, i):
    # In steps that are no subnormal numbers on the way, so that it is rounded once.
    scaled = x * 1.0
    left = i
    for _ in range(2):
        if left > 1023:
            scaled *= 2.0**1023
            left -= 1023
        elif left < -1022:
            scaled *= 2.0**-969
            left += 969
    return scaled * 2.0 ** min(max(left, -1022), 1023)


@stands_for(math.nextafter)
def nextafter(x, y):
    return np.nextafter(x * 1.0, y * 1.0)


@stands_for(math.ulp)
def ulp(x):
    return np.spacing(abs(x * 1.0))
