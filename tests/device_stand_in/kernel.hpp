// CUDA C++ as a processor's compiler reads it: included before the text of a kernel, which is compiled unchanged.
//
// One thread runs at a time, so that shared arrays are static ones and atomic operations are plain ones.  The sanitizer of the
// compiler guards every index into an array of known extent.
#pragma once
#include <math.h>

#include "runtime.hpp"

static stand_in::Runtime *stand_in_runtime;
extern "C" void stand_in_attach(stand_in::Runtime *runtime) { stand_in_runtime = runtime; }

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads)
// All shared arrays lie in a section of their own, so that the driver can fill them with rubbish before each block.
#define __shared__ static __attribute__((section("stand_in_shared")))
#define threadIdx (stand_in_runtime->thread)
#define blockIdx (stand_in_runtime->block)
#define blockDim (stand_in_runtime->block_extent)
#define gridDim (stand_in_runtime->grid_extent)
#define __syncthreads() stand_in_runtime->barrier(__LINE__)

template <class T> static inline void atomicAdd(T *place, T value) { *place += value; }

static inline float __int_as_float(int bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double __longlong_as_double(long long bits) {
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

// The section exists even if no kernel has a shared array; its first bytes are these.
__attribute__((section("stand_in_shared"), used)) static char stand_in_first_shared[16];
extern "C" char __start_stand_in_shared, __stop_stand_in_shared;
extern "C" char *stand_in_shared_begin() { return &__start_stand_in_shared; }
extern "C" char *stand_in_shared_end() { return &__stop_stand_in_shared; }

// A kernel's arguments lie in one buffer, each aligned to its own size.
template <class T> static unsigned long stand_in_after(unsigned long &offset) {
    return offset = (offset + alignof(T) - 1) / alignof(T) * alignof(T) + sizeof(T);
}
template <class T> static T stand_in_next(char *buffer, unsigned long &offset) {
    return *(T *)(buffer + stand_in_after<T>(offset) - sizeof(T));
}
template <class... A> struct StandInCall {
    // Initialisation by braces evaluates the arguments from left to right.
    StandInCall(void (*kernel)(A...), A... arguments) { kernel(arguments...); }
};
template <class... A> static void stand_in_call(void (*kernel)(A...), char *buffer) {
    unsigned long offset = 0;
    StandInCall<A...>{kernel, stand_in_next<A>(buffer, offset)...};
}
template <class... A> static unsigned long stand_in_size(void (*)(A...)) {
    unsigned long offset = 0;
    ((void)stand_in_after<A>(offset), ...);
    return offset;
}

#define STAND_IN_KERNEL(name, threads)                                                       \
    extern "C" void stand_in_call_##name(char *buffer) { stand_in_call(name, buffer); }      \
    extern "C" unsigned long stand_in_arguments_##name() { return stand_in_size(name); }     \
    extern "C" unsigned stand_in_threads_##name() { return threads; }
