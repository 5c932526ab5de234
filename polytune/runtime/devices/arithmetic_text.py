"""The functions that a device kernel may call, as text for CUDA C++ and OpenCL C alike.

They mean what Numba's compiled code means by the same operation, so that a kernel gives the same result wherever a part
of it runs.  ``T`` stands for each of ``i32``, ``i64``, ``f32``, ``f64``, and ``F`` for the two floats.

==========================================  ============================================================================
``pt_quotient(a, b)``, ``pt_remainder``     floor division of ``i64`` for a positive divisor: subscripts and loop bounds
``pt_least(a, b)``, ``pt_greatest``         the smaller and the greater ``i64``
``pt_floordiv_T``, ``pt_mod_T``             ``a // b`` and ``a % b`` of Python; integers give 0 where b is 0
``pt_pow_T``                                ``a ** b``; integers by repeated squaring, wrapping round
``pt_power_T(a, n)``                        ``a ** n`` for a constant ``int n``, negative for floats only, by
                                            multiplication; integers wrap round
``pt_min_T``, ``pt_max_T``                  Python's: ``b if b < a else a``, ``b if b > a else a``
``pt_abs_T``                                the absolute value; that of the least integer is itself
``pt_add_i``, ``pt_subtract_i``,            integer arithmetic that wraps round, for i in ``i32``, ``i64``: overflow of
``pt_multiply_i``, ``pt_negate_i``          signed ``+ - *`` is undefined in C
``pt_minimum_F``, ``pt_maximum_F``          NumPy's: a NaN wins
``pt_fmin_F``, ``pt_fmax_F``                NumPy's: a NaN loses
``pt_sign_F``                               -1, 0, 1, or NaN
``pt_<name>_F``                             every name of ``FLOAT_CALLS``, with the meaning of C's library
``pt_atomic_add_T(place, value)``           adds to an element of an array on the device, undisturbed by other threads
==========================================  ============================================================================

Conversions are C casts; those of floats that the integer type cannot hold are undefined, as in compiled CPU code.
"""

from __future__ import annotations

__all__ = ["C_NAMES", "FLOAT_CALLS", "FLOAT_TEXT", "INTEGER_TEXT"]

FLOAT_CALLS = {
    "sqrt": 1,
    "exp": 1,
    "exp2": 1,
    "expm1": 1,
    "log": 1,
    "log2": 1,
    "log10": 1,
    "log1p": 1,
    "cbrt": 1,
    "sin": 1,
    "cos": 1,
    "tan": 1,
    "asin": 1,
    "acos": 1,
    "atan": 1,
    "sinh": 1,
    "cosh": 1,
    "tanh": 1,
    "asinh": 1,
    "acosh": 1,
    "atanh": 1,
    "erf": 1,
    "erfc": 1,
    "gamma": 1,
    "lgamma": 1,
    "floor": 1,
    "ceil": 1,
    "trunc": 1,
    "rint": 1,
    "pow": 2,
    "atan2": 2,
    "hypot": 2,
    "copysign": 2,
    "fmod": 2,
}
"""The functions of the C library, and how many arguments each takes."""

C_NAMES = {"gamma": "tgamma"}
"""C's names of functions that have another name in Python."""

FLOAT_TEXT = r"""
PT_FUNCTION TYPE pt_power_TYPE(TYPE a, int n)
{
    TYPE power = 1, square = a;
    for (int left = n < 0 ? -n : n; left != 0; left >>= 1, square *= square)
        if (left & 1) power *= square;
    return n < 0 ? 1 / power : power;
}
PT_FUNCTION TYPE pt_abs_TYPE(TYPE a) { return pt_copysign_TYPE(a, 1); }
PT_FUNCTION TYPE pt_min_TYPE(TYPE a, TYPE b) { return b < a ? b : a; }
PT_FUNCTION TYPE pt_max_TYPE(TYPE a, TYPE b) { return b > a ? b : a; }
PT_FUNCTION TYPE pt_minimum_TYPE(TYPE a, TYPE b) { return a != a || a <= b ? a : b; }
PT_FUNCTION TYPE pt_maximum_TYPE(TYPE a, TYPE b) { return a != a || a >= b ? a : b; }
PT_FUNCTION TYPE pt_fmin_TYPE(TYPE a, TYPE b) { return b != b || a <= b ? a : b; }
PT_FUNCTION TYPE pt_fmax_TYPE(TYPE a, TYPE b) { return b != b || a >= b ? a : b; }
PT_FUNCTION TYPE pt_sign_TYPE(TYPE a) { return a > 0 ? 1 : a < 0 ? -1 : a != a ? a : 0; }
PT_FUNCTION TYPE pt_mod_TYPE(TYPE a, TYPE b)
{
    const TYPE rest = pt_fmod_TYPE(a, b);
    if (b == 0) return rest;
    if (rest == 0) return pt_copysign_TYPE(0, b < 0 ? -1 : 1);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}
PT_FUNCTION TYPE pt_floordiv_TYPE(TYPE a, TYPE b)
{
    if (b == 0) return a / b;
    const TYPE rest = pt_fmod_TYPE(a, b);
    TYPE quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return quotient * quotient * a / b; /* a zero with the sign of a / b */
    const TYPE below = pt_floor_TYPE(quotient);
    return quotient - below > (TYPE)0.5 ? below + 1 : below;
}
"""
"""Functions of floats, with ``TYPE`` for the type.  The divisions are those of CPython's float object."""

INTEGER_TEXT = r"""
PT_FUNCTION i64 pt_least(i64 a, i64 b) { return b < a ? b : a; }
PT_FUNCTION i64 pt_greatest(i64 a, i64 b) { return b > a ? b : a; }
PT_FUNCTION i64 pt_quotient(i64 a, i64 b) { return a / b - (a % b < 0); }
PT_FUNCTION i64 pt_remainder(i64 a, i64 b) { const i64 rest = a % b; return rest < 0 ? rest + b : rest; }
PT_FUNCTION i64 pt_add_i64(i64 a, i64 b) { return (i64)((pt_u64)a + (pt_u64)b); }
PT_FUNCTION i64 pt_subtract_i64(i64 a, i64 b) { return (i64)((pt_u64)a - (pt_u64)b); }
PT_FUNCTION i64 pt_multiply_i64(i64 a, i64 b) { return (i64)((pt_u64)a * (pt_u64)b); }
PT_FUNCTION i64 pt_negate_i64(i64 a) { return (i64)(0 - (pt_u64)a); }
PT_FUNCTION i64 pt_abs_i64(i64 a) { return a < 0 ? pt_negate_i64(a) : a; }
PT_FUNCTION i64 pt_min_i64(i64 a, i64 b) { return pt_least(a, b); }
PT_FUNCTION i64 pt_max_i64(i64 a, i64 b) { return pt_greatest(a, b); }
PT_FUNCTION i64 pt_floordiv_i64(i64 a, i64 b)
{
    if (b == 0) return 0;
    if (b == -1) return pt_negate_i64(a); /* processors have no quotient of the least integer */
    const i64 rest = a % b;
    return a / b - (rest != 0 && (rest < 0) != (b < 0));
}
PT_FUNCTION i64 pt_mod_i64(i64 a, i64 b)
{
    if (b == 0 || b == -1) return 0;
    const i64 rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
PT_FUNCTION i64 pt_pow_i64(i64 a, i64 b)
{
    const i64 none = (i64)((pt_u64)1 << 63); /* of powers that no i64 can hold */
    pt_u64 power = 1, square = (pt_u64)a;
    if (a == 1) return 1;
    if (a == -1) return b & 1 ? -1 : 1;
    if (b < 0) return a == 0 ? none : 0;
    if (b > 0x10000) return a == 0 ? 0 : none;
    for (; b != 0; b >>= 1, square *= square)
        if (b & 1) power *= square;
    return (i64)power;
}
PT_FUNCTION i64 pt_power_i64(i64 a, int n)
{
    pt_u64 power = 1, square = (pt_u64)a;
    for (; n != 0; n >>= 1, square *= square)
        if (n & 1) power *= square;
    return (i64)power;
}
PT_FUNCTION i32 pt_power_i32(i32 a, int n) { return (i32)pt_power_i64(a, n); }
PT_FUNCTION i32 pt_add_i32(i32 a, i32 b) { return (i32)((pt_u32)a + (pt_u32)b); }
PT_FUNCTION i32 pt_subtract_i32(i32 a, i32 b) { return (i32)((pt_u32)a - (pt_u32)b); }
PT_FUNCTION i32 pt_multiply_i32(i32 a, i32 b) { return (i32)((pt_u32)a * (pt_u32)b); }
PT_FUNCTION i32 pt_negate_i32(i32 a) { return (i32)(0 - (pt_u32)a); }
PT_FUNCTION i32 pt_abs_i32(i32 a) { return a < 0 ? pt_negate_i32(a) : a; }
PT_FUNCTION i32 pt_min_i32(i32 a, i32 b) { return b < a ? b : a; }
PT_FUNCTION i32 pt_max_i32(i32 a, i32 b) { return b > a ? b : a; }
PT_FUNCTION i32 pt_floordiv_i32(i32 a, i32 b) { return (i32)pt_floordiv_i64(a, b); }
PT_FUNCTION i32 pt_mod_i32(i32 a, i32 b) { return (i32)pt_mod_i64(a, b); }
PT_FUNCTION i32 pt_pow_i32(i32 a, i32 b) { return (i32)pt_pow_i64(a, b); }
"""
"""Functions of integers."""
