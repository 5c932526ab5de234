"""One kernel text, several languages: what is put before a device kernel to make it CUDA C++ or OpenCL C.

A kernel is written with the macros, types and functions below alone, and with names of its own that begin neither with
``pt_`` nor with ``PT_``.  The host text of tests is the CUDA text, compiled by a C++ compiler.

Types: ``i32``, ``i64``, ``f32``, ``f64``.

=============================  ========================================================================================
``PT_KERNEL(bx, by, bz)``      stands before a kernel's name; its blocks have bx * by * bz threads
``PT_GLOBAL``                  qualifies a pointer to the memory of the device, ``PT_RESTRICT`` one without aliases
``PT_SHARED``                  declares a shared array, only at the kernel's outermost scope and without initialiser
``PT_BARRIER()``               all threads of the block arrive, and see what the others wrote
``PT_THREAD_X`` ... ``_Z``     the thread within its block, ``int``
``PT_BLOCK_X`` ... ``_Z``      the block within the grid, ``int``
``PT_GRID_X`` ... ``_Z``       the extent of the grid in blocks, ``int``
``PT_UNROLL``                  stands before a loop that is to be unrolled completely
``PT_INFINITY_T, PT_NAN_T``    constants, for T in ``f32``, ``f64``
=============================  ========================================================================================

The functions are listed in ``polytune.runtime.devices.arithmetic_text``.  ``f64`` is missing on OpenCL devices that
lack double precision, and ``pt_atomic_add_f64`` and ``pt_atomic_add_i64`` on those that lack 64-bit atomics.
"""

from __future__ import annotations

from polytune.runtime.devices.arithmetic_text import FLOAT_CALLS, FLOAT_TEXT, INTEGER_TEXT

__all__ = ["PRELUDES"]

_CUDA_MACROS = r"""
#define PT_KERNEL(bx, by, bz) extern "C" __global__ __launch_bounds__((bx) * (by) * (bz)) void
#define PT_FUNCTION __device__ __forceinline__
#define PT_GLOBAL
#define PT_SHARED __shared__
#define PT_RESTRICT __restrict__
#define PT_BARRIER() __syncthreads()
#define PT_THREAD_X ((int)threadIdx.x)
#define PT_THREAD_Y ((int)threadIdx.y)
#define PT_THREAD_Z ((int)threadIdx.z)
#define PT_BLOCK_X ((int)blockIdx.x)
#define PT_BLOCK_Y ((int)blockIdx.y)
#define PT_BLOCK_Z ((int)blockIdx.z)
#define PT_GRID_X ((int)gridDim.x)
#define PT_GRID_Y ((int)gridDim.y)
#define PT_GRID_Z ((int)gridDim.z)
#define PT_UNROLL _Pragma("unroll")
#define PT_INFINITY_f32 __int_as_float(0x7f800000)
#define PT_NAN_f32 __int_as_float(0x7fc00000)
#define PT_INFINITY_f64 __longlong_as_double(0x7ff0000000000000LL)
#define PT_NAN_f64 __longlong_as_double(0x7ff8000000000000LL)
typedef int i32;
typedef long long i64;
typedef unsigned int pt_u32;
typedef unsigned long long pt_u64;
typedef float f32;
typedef double f64;
PT_FUNCTION void pt_atomic_add_i32(i32 *place, i32 value) { atomicAdd(place, value); }
PT_FUNCTION void pt_atomic_add_i64(i64 *place, i64 value) { atomicAdd((pt_u64 *)place, (pt_u64)value); }
PT_FUNCTION void pt_atomic_add_f32(f32 *place, f32 value) { atomicAdd(place, value); }
PT_FUNCTION void pt_atomic_add_f64(f64 *place, f64 value) { atomicAdd(place, value); }
"""

# Doubles and 64-bit atomics are optional in OpenCL.  Reading the old value without an atomic is only a first guess:
# the exchange fails, and gives the right one, if it was wrong.
_OPENCL_MACROS = r"""
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


def _calls(float_type: str, suffix: str) -> str:
    """A macro for every function that the languages' own libraries have."""
    lines = []
    for name, arity in FLOAT_CALLS.items():
        names = ("x", "y")[:arity]
        passed = ", ".join(f"({float_type})({argument})" for argument in names)
        lines.append(f"#define pt_{name}_{float_type}({', '.join(names)}) {name}{suffix}({passed})")
    return "\n".join(lines) + "\n"


def _floats(float_type: str, suffix: str) -> str:
    return _calls(float_type, suffix) + FLOAT_TEXT.replace("TYPE", float_type)


_FLOATS_64 = _floats("f64", "")

PRELUDES: dict[str, str] = {
    "cuda": _CUDA_MACROS + _floats("f32", "f") + _FLOATS_64 + INTEGER_TEXT,
    "opencl": _OPENCL_MACROS + _floats("f32", "") + f"#ifdef cl_khr_fp64\n{_FLOATS_64}#endif\n" + INTEGER_TEXT,
}
"""What stands before a kernel's text, by the name of the dialect: ``Device.dialect``."""
