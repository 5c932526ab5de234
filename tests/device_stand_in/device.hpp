// The stand-in's one device: its memory, its streams, its settings, and what has gone wrong with it.
#pragma once
#include <cuda.h>
#include <string.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fibers.hpp"
#include "memory.hpp"
#include "streams.hpp"

namespace stand_in {

constexpr unsigned THREADS_PER_BLOCK = 1024, SHARED_PER_BLOCK = 48 * 1024;

// What tests may change, see stand_in_set().
struct Settings {
    long order = FORWARD;
    long allocations_left = -1;  // that succeed; -1: all
    long launches_left = -1;     // that succeed
    long calls_left = -1;        // after which the device is lost
    long modules_fail = 0;       // whether none can be loaded
    long pops_fail = 0;          // whether a lost device's context stays current
};

struct Module {
    void *library;
    char *shared;
    size_t shared_size;
};

struct Function {
    Kernel kernel;
};

static std::recursive_mutex lock;
static Settings settings;
static Memory memory;
static Block block;
static std::map<char *, size_t> pinned;
static std::set<Stream *> streams;
static Stream null_stream;
static CUresult failed = CUDA_SUCCESS;  // what every call gives once a kernel has failed
static std::string fault;
static long launches, copies;
static int context_object;
static thread_local std::vector<CUcontext> contexts;

static Stream *stream_of(CUstream stream) { return stream ? (Stream *)stream : &null_stream; }

// What stands before every call: the errors that are not its own.
static CUresult begin(bool needs_context = true) {
    if (failed) return failed;
    if (settings.calls_left == 0) {
        fault = "the device was taken away";
        return failed = CUDA_ERROR_UNKNOWN;
    }
    if (settings.calls_left > 0) settings.calls_left--;
    return needs_context && contexts.empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

static CUresult finish(Stream *stream) {
    const CUresult result = stream->finish();
    if (result) failed = result;
    return result;
}

static CUresult finish_all() {
    for (Stream *stream : streams)
        if (const CUresult result = finish(stream)) return result;
    return finish(&null_stream);
}

static bool is_pinned(const void *address) {
    auto after = pinned.upper_bound((char *)address);
    if (after == pinned.begin()) return false;
    const auto &[begin, size] = *--after;
    return (char *)address < begin + size;
}

// A copy of rectangles; both sides have been checked.
struct Copy {
    const char *from;
    char *to;
    size_t width, rows, slices, from_pitch, to_pitch, from_slice, to_slice;

    CUresult run() const {
        for (size_t slice = 0; slice < slices; slice++)
            for (size_t row = 0; row < rows; row++)
                memcpy(to + slice * to_slice + row * to_pitch, from + slice * from_slice + row * from_pitch, width);
        return CUDA_SUCCESS;
    }
    static size_t extent(size_t width, size_t rows, size_t slices, size_t pitch, size_t slice) {
        return (slices - 1) * slice + (rows - 1) * pitch + width;
    }
};

static CUresult enqueue(Stream *stream, const Copy &copy, bool from_device, bool to_device) {
    if (copy.width == 0 || copy.rows == 0 || copy.slices == 0) return CUDA_SUCCESS;
    const size_t from_size = Copy::extent(copy.width, copy.rows, copy.slices, copy.from_pitch, copy.from_slice);
    const size_t to_size = Copy::extent(copy.width, copy.rows, copy.slices, copy.to_pitch, copy.to_slice);
    if (copy.rows > 1 && (copy.from_pitch < copy.width || copy.to_pitch < copy.width)) return CUDA_ERROR_INVALID_VALUE;
    if (from_device && !memory.holds((uintptr_t)copy.from, from_size)) return CUDA_ERROR_INVALID_VALUE;
    if (to_device && !memory.holds((uintptr_t)copy.to, to_size)) return CUDA_ERROR_INVALID_VALUE;
    copies++;
    if (!from_device && !is_pinned(copy.from)) {  // memory that is not locked is read at once
        const std::string kept(copy.from, from_size);
        stream->work.push_back([copy, kept] {
            Copy now = copy;
            now.from = kept.data();
            return now.run();
        });
        return CUDA_SUCCESS;
    }
    stream->work.push_back([copy] { return copy.run(); });
    return to_device || is_pinned(copy.to) ? CUDA_SUCCESS : finish(stream);
}

static Copy flat(const void *from, void *to, size_t n) { return {(const char *)from, (char *)to, n, 1, 1, n, n, n, n}; }

static CUresult run_kernel(const Kernel &kernel, const unsigned *grid, const unsigned *shape, std::string arguments) {
    if (!block.launch(kernel, grid, shape, arguments.data(), (Order)settings.order)) {
        fault = block.failure;
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (!memory.intact()) {
        fault = "a kernel wrote outside its buffers";
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    return CUDA_SUCCESS;
}

}  // namespace stand_in
