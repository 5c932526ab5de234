/* The levels of processors that a library has code for, and the one that is used here. */
#include "runtime.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* The bits that decide which instructions there are; not those of the system's or of debuggers' concern. */
static const uint32_t MASKS[PT_FACTS] = {
    0x72d83203u, /* 1, ecx: SSE3 to RDRAND */
    0x00210961u, /* 80000001, ecx: LAHF, LZCNT, SSE4A, PREFETCHW, XOP, FMA4, TBM */
    0xfdaf0939u, /* 7, ebx: BMI1, AVX2, AVX-512 and others */
    0x3a405f63u, /* 7, ecx */
    0x03c1412cu, /* 7, edx */
    0x00e000bfu, /* 7.1, eax */
    0xffffffffu, /* 7.1, edx */
    0x000600e6u, /* state that the system keeps: SSE, AVX, AVX-512, AMX */
};

void pt_read_facts(uint32_t facts[PT_FACTS])
{
    uint32_t a, b, c, d;
    memset(facts, 0, PT_FACTS * sizeof facts[0]);
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        facts[0] = c;
        if (c & (1u << 27)) { /* OSXSAVE */
            uint32_t low, high;
            __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
            facts[7] = low;
        }
    }
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) facts[1] = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        uint32_t most = a;
        facts[2] = b;
        facts[3] = c;
        facts[4] = d;
        if (most >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
            facts[5] = a;
            facts[6] = d;
        }
    }
    for (int k = 0; k < PT_FACTS; k++) facts[k] &= MASKS[k];
}
#else
void pt_read_facts(uint32_t facts[PT_FACTS])
{
    memset(facts, 0, PT_FACTS * sizeof facts[0]);
}
#endif

static int has_all(const struct pt_level *level)
{
    uint32_t facts[PT_FACTS];
    pt_read_facts(facts);
    for (int k = 0; k < PT_FACTS; k++)
        if ((facts[k] & level->facts[k]) != level->facts[k]) return 0;
    return 1;
}

static atomic_int chosen = -2; /* -2 before anybody has looked, -1 for none */

/* The best level of this library that the processor has, or the one that was set; -1 for none. */
int pt_level(void)
{
    int level = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (level == -2) {
        int expected = -2;
        level = pt_level_count - 1;
        while (level >= 0 && !has_all(&pt_levels[level])) level--;
        if (!atomic_compare_exchange_strong(&chosen, &expected, level)) level = expected;
    }
    return level;
}

int pt_set_level(const char *name)
{
    for (int k = 0; k < pt_level_count; k++)
        if (name != NULL && strcmp(name, pt_levels[k].name) == 0) {
            if (!has_all(&pt_levels[k])) return pt_fail(PT_NO_PROCESSOR, "this processor is not of that level");
            atomic_store(&chosen, k);
            return PT_OK;
        }
    return pt_fail(PT_ARGUMENT, "the library has no code of that level");
}

#ifdef PT_PRINT_FACTS
#include <stdio.h>
int pt_fail(int status, const char *text) { (void)text; return status; }
const struct pt_level pt_levels[1];
const int pt_level_count = 0;
int main(void)
{
    uint32_t facts[PT_FACTS];
    pt_read_facts(facts);
    for (int k = 0; k < PT_FACTS; k++) printf("%u\n", facts[k]);
    return 0;
}
#endif
