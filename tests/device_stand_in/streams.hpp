// Streams whose work is done as late as it can be: only when somebody waits for it.
//
// So a program that reads a result too early, or reuses memory that a copy still needs, goes wrong every time.
#pragma once
#include <cuda.h>
#include <stdint.h>
#include <time.h>

#include <deque>
#include <functional>
#include <utility>

namespace stand_in {

struct Stream;

struct Event {
    Stream *stream = nullptr;        // in which it was recorded last
    uint64_t recorded = 0;           // how often it has been recorded
    uint64_t passed = 0;             // the last of these that has been passed
    timespec time{};
    bool is_passed() const { return passed == recorded; }
};

struct Stream {
    std::deque<std::function<CUresult()>> work;

    // The first failure ends it; what is left is never done, as nothing is after a device has failed.
    CUresult finish() {
        while (!work.empty()) {
            const auto next = std::move(work.front());
            work.pop_front();
            if (const CUresult result = next()) {
                work.clear();
                return result;
            }
        }
        return CUDA_SUCCESS;
    }

    void record(Event *event) {
        event->stream = this;
        const uint64_t number = ++event->recorded;
        work.push_back([event, number] {
            event->passed = number;
            clock_gettime(CLOCK_MONOTONIC, &event->time);
            return CUDA_SUCCESS;
        });
    }

    void wait(Event *event) {
        if (event->stream == nullptr || event->stream == this) return;
        work.push_back([stream = event->stream, event, number = event->recorded] { return pass(stream, event, number); });
    }

    // Does a stream's work until it has passed an event as it was recorded the given time.
    static CUresult pass(Stream *stream, Event *event, uint64_t number) {
        while (event->passed < number && !stream->work.empty()) {
            const auto next = std::move(stream->work.front());
            stream->work.pop_front();
            if (const CUresult result = next()) return result;
        }
        return CUDA_SUCCESS;
    }
};

}  // namespace stand_in
