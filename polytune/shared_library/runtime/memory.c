/* The memory of local arrays: large blocks wait for the next call, as touching fresh pages can take longer than a
   kernel.  No more waits than a sixteenth of the machine's memory. */
#define _GNU_SOURCE
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 64, MOST_WAITING = 32 };
static const size_t SMALLEST = 1u << 20; /* bytes of a block that is kept */

struct block {
    void *memory;
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block waiting[MOST_WAITING]; /* the one that waits for the longest time first */
static int waiting_count;

static size_t limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages / 16 * (size_t)page : (size_t)1 << 28;
}

static size_t rounded(pt_integer bytes)
{
    return ((size_t)(bytes > 0 ? bytes : 1) + LINE - 1) / LINE * LINE;
}

static void drop(int place)
{
    memmove(&waiting[place], &waiting[place + 1], (size_t)(waiting_count - place - 1) * sizeof waiting[0]);
    waiting_count--;
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void set_up(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

__attribute__((destructor)) static void free_all(void)
{
    while (waiting_count > 0) free(waiting[--waiting_count].memory);
}

/* Memory that begins where a cache line does; NULL where there is none. */
void *pt_take(pt_integer bytes, int is_zeroed)
{
    if (bytes > (pt_integer)(SIZE_MAX / 4)) return NULL;
    size_t size = rounded(bytes);
    void *memory = NULL;
    if (size >= SMALLEST) {
        int best = -1;
        pthread_mutex_lock(&lock);
        for (int k = 0; k < waiting_count; k++)
            if (waiting[k].bytes >= size && waiting[k].bytes / 2 <= size &&
                (best < 0 || waiting[k].bytes <= waiting[best].bytes))
                best = k;
        if (best >= 0) {
            memory = waiting[best].memory;
            drop(best);
        }
        pthread_mutex_unlock(&lock);
    }
    if (memory == NULL && posix_memalign(&memory, LINE, size) != 0) return NULL;
    if (is_zeroed) memset(memory, 0, size);
    return memory;
}

/* Keep memory for the next call; its size is the one that was asked for. */
void pt_give_back(void *memory, pt_integer bytes)
{
    size_t size = rounded(bytes), kept = 0;
    if (memory == NULL) return;
    if (size < SMALLEST || size > limit()) {
        free(memory);
        return;
    }
    pthread_mutex_lock(&lock);
    if (waiting_count == MOST_WAITING) {
        free(waiting[0].memory);
        drop(0);
    }
    waiting[waiting_count++] = (struct block){memory, size};
    for (int k = 0; k < waiting_count; k++) kept += waiting[k].bytes;
    while (kept > limit()) {
        kept -= waiting[0].bytes;
        free(waiting[0].memory);
        drop(0);
    }
    pthread_mutex_unlock(&lock);
}
