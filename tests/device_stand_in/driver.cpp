// A stand-in for libcuda.so.1 that runs kernels on the processor: as much of the driver as polytune asks pycuda for.
//
// A module is a shared library that a C++ compiler has made of a kernel's text (kernel.hpp).  As with the real driver, a
// context must be current in the thread that calls, work is done when it is waited for, a kernel that fails makes every
// later call fail, and copies that leave their buffers are refused.  Tests make it fail by stand_in_set().
#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>

#include "device.hpp"

using namespace stand_in;

#define API extern "C" CUresult CUDAAPI
#define ENTER(...)                                        \
    std::lock_guard<std::recursive_mutex> guard(lock);    \
    if (const CUresult result = begin(__VA_ARGS__)) return result;

// ---- for tests -----------------------------------------------------------------------------------------------------

extern "C" int stand_in_set(const char *name, long value) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    const std::string key = name;
    if (key == "order") settings.order = value;
    else if (key == "allocations_left") settings.allocations_left = value;
    else if (key == "launches_left") settings.launches_left = value;
    else if (key == "calls_left") settings.calls_left = value;
    else if (key == "modules_fail") settings.modules_fail = value;
    else if (key == "pops_fail") settings.pops_fail = value;
    else if (key == "memory") memory.capacity = value;
    else return -1;
    return 0;
}

extern "C" long stand_in_get(const char *name) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    const std::string key = name;
    return key == "launches" ? launches : key == "copies" ? copies : key == "used" ? (long)memory.used : -1;
}

extern "C" const char *stand_in_fault() { return fault.c_str(); }

// A new device, with its memory as it was.
extern "C" void stand_in_reset() {
    std::lock_guard<std::recursive_mutex> guard(lock);
    settings = Settings{};
    memory.capacity = (size_t)1 << 30;
    failed = CUDA_SUCCESS;
    fault.clear();
    for (Stream *stream : streams) stream->work.clear();
    launches = copies = 0;
}

// ---- the device ----------------------------------------------------------------------------------------------------

API cuInit(unsigned) { return CUDA_SUCCESS; }
API cuDriverGetVersion(int *version) { return *version = CUDA_VERSION, CUDA_SUCCESS; }
API cuDeviceGetCount(int *count) { return *count = 1, CUDA_SUCCESS; }
API cuDeviceGet(CUdevice *device, int index) { return *device = index, index ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }
API cuDeviceGetName(char *name, int size, CUdevice) { return snprintf(name, size, "stand-in"), CUDA_SUCCESS; }
API cuDeviceComputeCapability(int *major, int *minor, CUdevice) { return *major = 9, *minor = 0, CUDA_SUCCESS; }
API cuDeviceTotalMem_v2(size_t *size, CUdevice) { return *size = memory.capacity, CUDA_SUCCESS; }

API cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = THREADS_PER_BLOCK; break;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *value = 0x7fffffff; break;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *value = 65535; break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = SHARED_PER_BLOCK; break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 2; break;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
        default: *value = 0;
    }
    return CUDA_SUCCESS;
}

// NVRTC asks every driver that it finds for tables of its own, and does without them.
API cuGetExportTable(const void **table, const CUuuid *) { return *table = nullptr, CUDA_ERROR_NOT_SUPPORTED; }

API cuGetErrorString(CUresult error, const char **text) {
    switch (error) {
        case CUDA_ERROR_OUT_OF_MEMORY: *text = "out of memory"; break;
        case CUDA_ERROR_ILLEGAL_ADDRESS: *text = fault.c_str(); break;
        case CUDA_ERROR_UNKNOWN: *text = fault.c_str(); break;
        case CUDA_ERROR_INVALID_VALUE: *text = "invalid argument"; break;
        case CUDA_ERROR_INVALID_CONTEXT: *text = "no context is current in this thread"; break;
        case CUDA_ERROR_INVALID_IMAGE: *text = "the module cannot be loaded"; break;
        case CUDA_ERROR_NOT_FOUND: *text = "named symbol not found"; break;
        case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: *text = "too many resources requested for launch"; break;
        default: *text = "not supported by the stand-in";
    }
    return CUDA_SUCCESS;
}

// ---- contexts ------------------------------------------------------------------------------------------------------

API cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
    ENTER(false)
    return *context = (CUcontext)&context_object, CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
API cuCtxPushCurrent_v2(CUcontext context) { return contexts.push_back(context), CUDA_SUCCESS; }
API cuCtxPopCurrent_v2(CUcontext *context) {
    if (failed && settings.pops_fail) return failed;
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = contexts.back();
    return contexts.pop_back(), CUDA_SUCCESS;
}
API cuCtxGetDevice(CUdevice *device) { return *device = 0, contexts.empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS; }
API cuCtxGetApiVersion(CUcontext, unsigned *version) { return *version = CUDA_VERSION, CUDA_SUCCESS; }
API cuCtxSynchronize(void) {
    ENTER()
    return finish_all();
}

// ---- memory --------------------------------------------------------------------------------------------------------

API cuMemGetInfo_v2(size_t *free, size_t *total) {
    ENTER()
    *total = memory.capacity, *free = memory.capacity - memory.used;
    return CUDA_SUCCESS;
}
API cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    ENTER()
    if (settings.allocations_left == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    if (settings.allocations_left > 0) settings.allocations_left--;
    *address = memory.allocate(size);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
API cuMemFree_v2(CUdeviceptr address) {
    ENTER()
    if (const CUresult result = finish_all()) return result;
    return memory.free(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API cuMemHostAlloc(void **address, size_t size, unsigned) {
    ENTER()
    *address = malloc(size);
    pinned[(char *)*address] = size;
    return CUDA_SUCCESS;
}
API cuMemFreeHost(void *address) {
    ENTER()
    if (const CUresult result = finish_all()) return result;
    if (!pinned.erase((char *)address)) return CUDA_ERROR_INVALID_VALUE;
    return ::free(address), CUDA_SUCCESS;
}
API cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
    ENTER()
    return enqueue(stream_of(stream), flat(from, (void *)to, size), false, true);
}
API cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    ENTER()
    return enqueue(stream_of(stream), flat((void *)from, to, size), true, false);
}
API cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    ENTER()
    const CUresult result = enqueue(&null_stream, flat(from, (void *)to, size), false, true);
    return result ? result : finish_all();
}
API cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    ENTER()
    if (const CUresult result = finish_all()) return result;
    return enqueue(&null_stream, flat((void *)from, to, size), true, false);
}
API cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
    ENTER()
    const bool from_device = copy->srcMemoryType == CU_MEMORYTYPE_DEVICE, to_device = copy->dstMemoryType == CU_MEMORYTYPE_DEVICE;
    const char *from = from_device ? (const char *)copy->srcDevice : (const char *)copy->srcHost;
    char *to = to_device ? (char *)copy->dstDevice : (char *)copy->dstHost;
    const size_t from_slice = copy->srcPitch * copy->srcHeight, to_slice = copy->dstPitch * copy->dstHeight;
    if (copy->Depth > 1 && (copy->srcHeight < copy->Height || copy->dstHeight < copy->Height)) return CUDA_ERROR_INVALID_VALUE;
    const Copy rectangles{from + copy->srcZ * from_slice + copy->srcY * copy->srcPitch + copy->srcXInBytes,
                          to + copy->dstZ * to_slice + copy->dstY * copy->dstPitch + copy->dstXInBytes,
                          copy->WidthInBytes, copy->Height, copy->Depth, copy->srcPitch, copy->dstPitch, from_slice, to_slice};
    return enqueue(stream_of(stream), rectangles, from_device, to_device);
}

// ---- streams and events; they stay until the process ends ----------------------------------------------------------

API cuStreamCreate(CUstream *stream, unsigned) {
    ENTER()
    return *stream = (CUstream)*streams.insert(new Stream).first, CUDA_SUCCESS;
}
API cuStreamDestroy_v2(CUstream) { return CUDA_SUCCESS; }
API cuStreamSynchronize(CUstream stream) {
    ENTER()
    return finish(stream_of(stream));
}
API cuStreamQuery(CUstream stream) {
    ENTER()
    return stream_of(stream)->work.empty() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
API cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    ENTER()
    return stream_of(stream)->wait((Event *)event), CUDA_SUCCESS;
}
API cuEventCreate(CUevent *event, unsigned) {
    ENTER()
    return *event = (CUevent) new Event, CUDA_SUCCESS;
}
API cuEventDestroy_v2(CUevent) { return CUDA_SUCCESS; }
API cuEventRecord(CUevent event, CUstream stream) {
    ENTER()
    return stream_of(stream)->record((Event *)event), CUDA_SUCCESS;
}
API cuEventQuery(CUevent event) {
    ENTER()
    return ((Event *)event)->is_passed() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
API cuEventSynchronize(CUevent handle) {
    ENTER()
    Event *const event = (Event *)handle;
    const CUresult result = event->stream ? Stream::pass(event->stream, event, event->recorded) : CUDA_SUCCESS;
    if (result) failed = result;
    return result;
}
#undef cuEventElapsedTime
API cuEventElapsedTime_v2(float *milliseconds, CUevent first, CUevent last) {
    ENTER()
    const Event *from = (Event *)first, *to = (Event *)last;
    if (!from->is_passed() || !to->is_passed()) return CUDA_ERROR_NOT_READY;
    *milliseconds = (to->time.tv_sec - from->time.tv_sec) * 1e3f + (to->time.tv_nsec - from->time.tv_nsec) * 1e-6f;
    return CUDA_SUCCESS;
}

// ---- modules and kernels -------------------------------------------------------------------------------------------

API cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
    ENTER()
    // The logs of the caller are written, as empty ones, whatever becomes of the module.
    for (unsigned option = 0; option < count; option++) switch (options[option]) {
            case CU_JIT_INFO_LOG_BUFFER:
            case CU_JIT_ERROR_LOG_BUFFER: *(char *)values[option] = 0; break;
            case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: values[option] = nullptr; break;
            default: break;
        }
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    if (settings.modules_fail || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_machine != EM_X86_64)
        return CUDA_ERROR_INVALID_IMAGE;
    // The section headers are the last of a shared library.
    const size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    char path[] = "/tmp/polytune-stand-in-XXXXXX";
    const int file = mkstemp(path);
    const bool written = file >= 0 && write(file, image, size) == (ssize_t)size;
    void *const library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (file >= 0) close(file), unlink(path);
    if (!library) return CUDA_ERROR_INVALID_IMAGE;
    ((void (*)(Runtime *))dlsym(library, "stand_in_attach"))(&block.runtime);
    char *const begin = ((char *(*)())dlsym(library, "stand_in_shared_begin"))();
    char *const end = ((char *(*)())dlsym(library, "stand_in_shared_end"))();
    if ((size_t)(end - begin) > SHARED_PER_BLOCK + 64) return CUDA_ERROR_INVALID_IMAGE;
    *module = (CUmodule) new Module{library, begin, (size_t)(end - begin)};
    return CUDA_SUCCESS;
}
API cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
API cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
    ENTER()
    const Module *const module = (Module *)handle;
    const auto symbol = [&](const char *prefix) { return dlsym(module->library, (std::string(prefix) + name).c_str()); };
    if (!symbol("stand_in_call_")) return CUDA_ERROR_NOT_FOUND;
    Kernel kernel{(void (*)(char *))symbol("stand_in_call_"), ((unsigned long (*)())symbol("stand_in_arguments_"))(),
                  ((unsigned (*)())symbol("stand_in_threads_"))(), module->shared, module->shared_size};
    return *function = (CUfunction) new Function{kernel}, CUDA_SUCCESS;
}
API cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    ENTER()
    const Kernel &kernel = ((Function *)function)->kernel;
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = kernel.threads; break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = kernel.shared_size; break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
        default: *value = 0;
    }
    return CUDA_SUCCESS;
}
API cuFuncSetBlockShape(CUfunction, int, int, int) { return CUDA_SUCCESS; }
API cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned, CUstream stream, void **, void **extra) {
    ENTER()
    const Kernel &kernel = ((Function *)function)->kernel;
    if (settings.launches_left == 0) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (settings.launches_left > 0) settings.launches_left--;
    const uint64_t threads = (uint64_t)bx * by * bz;
    if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || !threads || threads > kernel.threads) return CUDA_ERROR_INVALID_VALUE;
    std::string arguments;
    const char *buffer = nullptr;
    for (void **item = extra; *item != CU_LAUNCH_PARAM_END; item += 2) {
        if (*item == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = (const char *)item[1];
        if (*item == CU_LAUNCH_PARAM_BUFFER_SIZE) arguments.resize(*(size_t *)item[1]);
    }
    if (arguments.size() != kernel.arguments) return CUDA_ERROR_INVALID_VALUE;
    memcpy(arguments.data(), buffer, arguments.size());
    launches++;
    stream_of(stream)->work.push_back([kernel, gx, gy, gz, bx, by, bz, arguments] {
        const unsigned grid[3] = {gx, gy, gz}, shape[3] = {bx, by, bz};
        return run_kernel(kernel, grid, shape, arguments);
    });
    return CUDA_SUCCESS;
}
