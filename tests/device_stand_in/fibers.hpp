// Runs the threads of a block one after the other, each on a stack of its own, from barrier to barrier.
//
// The order of the threads between two barriers is a choice: forward, backward, or shuffled anew each time.  A kernel that
// lacks a barrier gives different results in different orders.  A barrier that not all threads reach is an error.
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "runtime.hpp"

namespace stand_in {

enum Order { FORWARD, BACKWARD, SHUFFLED };

struct Kernel {
    void (*call)(char *buffer);
    unsigned long arguments;  // bytes
    unsigned threads;         // the most that a block may have
    char *shared;
    size_t shared_size;
};

struct Fiber {
    void *stack_pointer;
    int line;  // of the barrier that it waits at; 0 before its first
    bool done;
};

// Saves what a function must preserve on the running stack, and goes on with another.
__attribute__((naked, noinline)) static void switch_stack(void **, void *) {
    __asm__ volatile(
        "pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
        "movq %rsp, (%rdi); movq %rsi, %rsp\n"
        "popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp; ret\n");
}

class Block;
static Block *running;

class Block {
public:
    Runtime runtime{};
    std::string failure;  // what went wrong in the last launch; empty if nothing

    // Whether the kernel ran to its end.
    bool launch(const Kernel &kernel, const unsigned grid[3], const unsigned block[3], char *arguments, Order order) {
        failure.clear();
        kernel_ = &kernel, arguments_ = arguments, order_ = order;
        runtime.barrier = arrive;
        runtime.block_extent = {block[0], block[1], block[2]};
        runtime.grid_extent = {grid[0], grid[1], grid[2]};
        fibers_.resize((size_t)block[0] * block[1] * block[2]);
        reserve_stacks(fibers_.size());
        running = this;
        struct sigaction former[4];
        for (int i = 0; i < 4; i++) catch_signal(SIGNALS[i], &former[i]);
        if (sigsetjmp(escape_, 1) == 0) {
            for (unsigned z = 0; z < grid[2] && failure.empty(); z++)
                for (unsigned y = 0; y < grid[1] && failure.empty(); y++)
                    for (unsigned x = 0; x < grid[0] && failure.empty(); x++) {
                        runtime.block = {x, y, z};
                        run_block();
                    }
        }
        for (int i = 0; i < 4; i++) sigaction(SIGNALS[i], &former[i], nullptr);
        return failure.empty();
    }

private:
    static constexpr size_t STACK = 1 << 16;
    static constexpr int SIGNALS[4] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

    const Kernel *kernel_ = nullptr;
    char *arguments_ = nullptr;
    Order order_ = FORWARD;
    std::vector<Fiber> fibers_;
    std::vector<unsigned> sequence_;
    char *stacks_ = nullptr;
    size_t reserved_ = 0;
    uint64_t random_ = 88172645463325252ull;
    void *scheduler_ = nullptr;
    Fiber *current_ = nullptr;
    sigjmp_buf escape_;

    void reserve_stacks(size_t count) {
        if (count <= reserved_) return;
        if (stacks_) munmap(stacks_, reserved_ * STACK);
        stacks_ = (char *)mmap(nullptr, count * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        reserved_ = count;
    }

    static void catch_signal(int signal, struct sigaction *former) {
        // The signal may come on the small stack of a fiber that has run over: it is handled on another.
        static char *stack = (char *)mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        stack_t alternate{};
        alternate.ss_sp = stack, alternate.ss_size = 1 << 16;
        sigaltstack(&alternate, nullptr);
        struct sigaction action{};
        action.sa_sigaction = [](int number, siginfo_t *information, void *) { running->fail(number, information); };
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(signal, &action, former);
    }

    void fail(int signal, siginfo_t *information) {
        char text[256];
        const char *what = signal == SIGILL   ? "an index outside an array of known extent, or an integer that overflows"
                           : signal == SIGFPE ? "an integer division by zero"
                                              : "an access outside all buffers";
        const Position &thread = runtime.thread, &block = runtime.block;
        snprintf(text, sizeof text, "%s, at %p, in thread (%u, %u, %u) of block (%u, %u, %u)", what, information->si_addr,
                 thread.x, thread.y, thread.z, block.x, block.y, block.z);
        failure = text;
        siglongjmp(escape_, 1);
    }

    static void enter() {
        running->kernel_->call(running->arguments_);
        running->current_->done = true;
        switch_stack(&running->current_->stack_pointer, running->scheduler_);
        __builtin_trap();
    }

    static void arrive(int line) {
        running->current_->line = line;
        switch_stack(&running->current_->stack_pointer, running->scheduler_);
    }

    void run_block() {
        memset(kernel_->shared, 0xff, kernel_->shared_size);  // NaN
        const size_t count = fibers_.size();
        for (size_t index = 0; index < count; index++) {
            void **top = (void **)(stacks_ + (index + 1) * STACK) - 2;  // at entry, the stack is off a multiple of 16 by 8
            *top = (void *)enter;
            fibers_[index] = Fiber{top - 6, 0, false};
        }
        for (size_t left = count; left != 0;) {
            const size_t finished = run_to_barrier();
            if (finished != 0 && finished != left) failure = "a barrier that some threads of the block do not reach";
            left -= finished;
            for (size_t index = 1; index < count && left != 0 && failure.empty(); index++)
                if (fibers_[index].line != fibers_[0].line) failure = "threads of one block wait at different barriers";
            if (!failure.empty()) return;
        }
    }

    // Every thread that is not done, up to its next barrier or its end; how many have ended.
    size_t run_to_barrier() {
        const unsigned count = (unsigned)fibers_.size();
        const Position extent = runtime.block_extent;
        size_t finished = 0;
        arrange(count);
        for (unsigned index : sequence_) {
            if (fibers_[index].done) continue;
            current_ = &fibers_[index];
            runtime.thread = {index % extent.x, index / extent.x % extent.y, index / (extent.x * extent.y)};
            switch_stack(&scheduler_, current_->stack_pointer);
            finished += current_->done;
        }
        return finished;
    }

    void arrange(unsigned count) {
        sequence_.resize(count);
        for (unsigned index = 0; index < count; index++) sequence_[index] = order_ == BACKWARD ? count - 1 - index : index;
        if (order_ != SHUFFLED) return;
        for (unsigned index = count; index > 1; index--) {
            random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
            const unsigned other = random_ % index;
            const unsigned kept = sequence_[index - 1];
            sequence_[index - 1] = sequence_[other], sequence_[other] = kept;
        }
    }
};

}  // namespace stand_in
