"""OpenCL, through pyopencl."""

from __future__ import annotations

import functools
from typing import Any

from polytune.runtime.devices.arithmetic_text import INTEGER_TEXT
from polytune.runtime.devices.backend import Backend, Found, Listing, float_text
from polytune.version import DISTRIBUTION

__all__ = ["BACKEND"]

# Doubles and 64-bit atomics are optional in OpenCL.  Reading the old value without an atomic is only a first guess:
# the exchange fails, and gives the right one, if it was wrong.
_MACROS = r"""
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#ifndef PT_CONTRACT
#pragma OPENCL FP_CONTRACT OFF
#endif
#define PT_KERNEL(bx, by, bz) __kernel __attribute__((reqd_work_group_size(bx, by, bz))) void
#define PT_FUNCTION static inline
#define PT_GLOBAL __global
#define PT_SHARED __local
#define PT_RESTRICT restrict
#define PT_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define PT_THREAD_X ((int)get_local_id(0))
#define PT_THREAD_Y ((int)get_local_id(1))
#define PT_THREAD_Z ((int)get_local_id(2))
#define PT_BLOCK_X ((int)get_group_id(0))
#define PT_BLOCK_Y ((int)get_group_id(1))
#define PT_BLOCK_Z ((int)get_group_id(2))
#define PT_GRID_X ((int)get_num_groups(0))
#define PT_GRID_Y ((int)get_num_groups(1))
#define PT_GRID_Z ((int)get_num_groups(2))
#define PT_UNROLL _Pragma("unroll")
#define PT_INFINITY_f32 INFINITY
#define PT_NAN_f32 NAN
typedef int i32;
typedef long i64;
typedef uint pt_u32;
typedef ulong pt_u64;
typedef float f32;
#ifdef cl_khr_fp64
#define PT_INFINITY_f64 ((double)INFINITY)
#define PT_NAN_f64 ((double)NAN)
typedef double f64;
#endif
PT_FUNCTION void pt_atomic_add_i32(volatile __global i32 *place, i32 value) { atomic_add(place, value); }
PT_FUNCTION void pt_atomic_add_f32(volatile __global f32 *place, f32 value)
{
    pt_u32 seen = as_uint(*place), old;
    do {
        old = seen;
        seen = atomic_cmpxchg((volatile __global pt_u32 *)place, old, as_uint(as_float(old) + value));
    } while (seen != old);
}
#ifdef cl_khr_int64_base_atomics
PT_FUNCTION void pt_atomic_add_i64(volatile __global i64 *place, i64 value) { atom_add(place, value); }
#ifdef cl_khr_fp64
PT_FUNCTION void pt_atomic_add_f64(volatile __global f64 *place, f64 value)
{
    pt_u64 seen = as_ulong(*place), old;
    do {
        old = seen;
        seen = atom_cmpxchg((volatile __global pt_u64 *)place, old, as_ulong(as_double(old) + value));
    } while (seen != old);
}
#endif
#endif
"""


def _look() -> Listing:
    what = "OpenCL"
    try:
        import pyopencl
    except ImportError as error:
        reason = f"pyopencl cannot be imported: {error}"
        return Listing(what, (), reason, f"pip install '{DISTRIBUTION}[opencl]'")
    from polytune.runtime.devices.opencl import OpenCLDevice, reason_if_unusable

    driver = "install the OpenCL driver of the device, or, for the processor itself, pip install 'pyopencl[pocl]'"
    try:
        raw_devices = [raw for platform in pyopencl.get_platforms() for raw in _devices_of(pyopencl, platform)]
    except pyopencl.Error as error:
        return Listing(what, (), f"no OpenCL driver: {error}", driver)
    found = []
    for index, raw in enumerate(raw_devices):
        identity = f"opencl:{index}"
        reason, remedy = reason_if_unusable(raw) or ("", "")
        model = raw.name.strip()
        found.append(
            Found(
                identity=identity,
                description=f"{model} ({raw.platform.name.strip()})",
                model=model,
                is_gpu=bool(raw.type & pyopencl.device_type.GPU),
                open=functools.partial(OpenCLDevice, raw, identity),
                reason=reason,
                remedy=remedy,
            )
        )
    return Listing(what, tuple(found), "" if found else "the OpenCL drivers list no device", driver)


def _devices_of(pyopencl: Any, platform: Any) -> list[Any]:
    try:
        return list(platform.get_devices())
    except pyopencl.Error:  # a driver whose devices are not there
        return []


BACKEND = Backend(
    kind="opencl",
    package="pyopencl",
    precedence=1,
    prelude=_MACROS + float_text("f32", "") + f"#ifdef cl_khr_fp64\n{float_text('f64', '')}#endif\n" + INTEGER_TEXT,
    look=_look,
)
