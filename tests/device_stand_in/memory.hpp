// Device memory whose every allocation ends at a page that nobody may touch.
#pragma once
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>

namespace stand_in {

class Memory {
public:
    size_t capacity = (size_t)1 << 30;
    size_t used = 0;

    // The address of n bytes, all 0xff, which reads as NaN; 0 if they are not there.
    uintptr_t allocate(size_t n) {
        if (n == 0 || used + n > capacity) return 0;
        const size_t page = sysconf(_SC_PAGESIZE), size = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        const size_t inside = (size + page - 1) / page * page;
        char *base = (char *)mmap(nullptr, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED || mprotect(base + page, inside, PROT_READ | PROT_WRITE)) return 0;
        char *begin = base + page + inside - size;
        memset(base + page, CANARY, inside);
        memset(begin, 0xff, n);
        allocations_[(uintptr_t)begin] = {n, base, inside + 2 * page, base + page, base + page + inside};
        used += n;
        return (uintptr_t)begin;
    }

    bool free(uintptr_t address) {
        const auto found = allocations_.find(address);
        if (found == allocations_.end()) return false;
        munmap(found->second.base, found->second.mapped);
        used -= found->second.size;
        allocations_.erase(found);
        return true;
    }

    // Whether n bytes from an address on lie within one allocation.
    bool holds(uintptr_t address, size_t n) const {
        auto after = allocations_.upper_bound(address);
        if (after == allocations_.begin()) return false;
        const auto &[begin, allocation] = *--after;
        return address + n <= begin + allocation.size;
    }

    // Whether all bytes that share pages with allocations, but are none of theirs, were as they are afterwards.
    bool intact() {
        bool all = true;
        for (const auto &[begin, allocation] : allocations_) {
            all &= restore(allocation.first, (char *)begin);
            all &= restore((char *)begin + allocation.size, allocation.last);
        }
        return all;
    }

private:
    static constexpr size_t ALIGNMENT = 16;
    static constexpr char CANARY = 0x5a;

    struct Allocation {
        size_t size;
        char *base;
        size_t mapped;
        char *first, *last;  // of the pages that may be touched
    };
    std::map<uintptr_t, Allocation> allocations_;

    static bool restore(char *from, const char *to) {
        bool intact = true;
        for (; from < to; from++) {
            intact &= *from == CANARY;
            *from = CANARY;
        }
        return intact;
    }
};

}  // namespace stand_in
