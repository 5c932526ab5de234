"""CUDA, through pycuda."""

from __future__ import annotations

import functools

from polytune.runtime.devices.arithmetic_text import INTEGER_TEXT
from polytune.runtime.devices.backend import Backend, Found, Listing, float_text
from polytune.version import DISTRIBUTION

__all__ = ["BACKEND"]

_INSTALL_PYCUDA = (
    "for a CUDA GPU: put nvcc of a CUDA toolkit on PATH, and with a C++ compiler at hand "
    f"pip install '{DISTRIBUTION}[cuda]', which builds pycuda in a minute or two"
)
_INSTALL_DRIVER = "for a CUDA GPU: install the NVIDIA driver, which brings libcuda.so.1"

_MACROS = r"""
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


def _look() -> Listing:
    what = "CUDA"
    try:
        import pycuda.driver as driver
    except ModuleNotFoundError as error:
        return Listing(what, (), f"pycuda is not installed: {error}", _INSTALL_PYCUDA)
    except ImportError as error:
        # pycuda is linked against the driver's library.
        return Listing(what, (), f"pycuda cannot be loaded: {error}", _INSTALL_DRIVER)
    try:
        driver.init()
        models = [driver.Device(index).name() for index in range(driver.Device.count())]
    except driver.Error as error:
        return Listing(what, (), f"the driver finds no device: {error}", _INSTALL_DRIVER)
    from polytune.runtime.devices.cuda import CudaDevice

    found = tuple(
        Found(f"cuda:{index}", model, model, True, functools.partial(CudaDevice, index))
        for index, model in enumerate(models)
    )
    return Listing(what, found, "" if found else "the driver lists no device", _INSTALL_DRIVER)


BACKEND = Backend(
    kind="cuda",
    package="pycuda",
    precedence=0,
    prelude=_MACROS + float_text("f32", "f") + float_text("f64", "") + INTEGER_TEXT,
    look=_look,
)
