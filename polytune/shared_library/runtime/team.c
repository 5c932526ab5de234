/* Teams: the calling thread and helpers, which wait at a mailbox, on their cores for some milliseconds, then asleep.
   Each call that is under way has helpers of its own.  What happens at a mailbox is in the functions pt_lead, pt_inside,
   pt_serve and pt_dismiss, which are compiled from polytune/runtime/teams/admission.py. */
#define _GNU_SOURCE
#include "layout.h" /* written for each library */
#include "runtime.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN int64_t pt_lead(int64_t mailbox, int64_t function, int64_t context, int64_t workers);
HIDDEN int64_t pt_inside(int64_t mailbox);
HIDDEN void pt_serve(int64_t mailbox, int64_t number);
HIDDEN void pt_dismiss(int64_t mailbox, int64_t helpers);

struct event {
    pthread_mutex_t lock;
    pthread_cond_t signal;
    int is_signalled;
};

HIDDEN int32_t polytune_await_event(void *address, int32_t waits)
{
    struct event *event = address;
    (void)waits;
    pthread_mutex_lock(&event->lock);
    while (!event->is_signalled) pthread_cond_wait(&event->signal, &event->lock);
    event->is_signalled = 0;
    pthread_mutex_unlock(&event->lock);
    return 1;
}

HIDDEN void polytune_signal_event(void *address)
{
    struct event *event = address;
    pthread_mutex_lock(&event->lock);
    event->is_signalled = 1;
    pthread_cond_signal(&event->signal);
    pthread_mutex_unlock(&event->lock);
}

HIDDEN int32_t polytune_yield_thread(void) { return sched_yield(); }

HIDDEN int32_t polytune_core(void)
{
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

struct helper {
    int64_t *mailbox;
    int64_t number;
    pthread_t thread;
    struct event event;
};

struct team {
    struct team *next_idle, *next;
    int64_t *mailbox, *context, *spare;
    struct helper *helpers;
    int started;
    int is_left; /* whether a helper may still read the context */
    int64_t core_left_out;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct team *idle, *all;

/* As many threads as the process may keep busy, by its affinity, its container, and OMP_NUM_THREADS. */

#ifdef __linux__
static int container_cores(void)
{
    char own[2048] = "/", path[4096], line[2048];
    int least = 0;
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (file != NULL) {
        while (fgets(line, sizeof line, file))
            if (strncmp(line, "0::", 3) == 0) {
                line[strcspn(line, "\n")] = 0;
                snprintf(own, sizeof own, "%s", line + 3);
            }
        fclose(file);
    }
    for (;;) {
        long quota, period;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", own);
        file = fopen(path, "r");
        if (file != NULL) {
            if (fscanf(file, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0) {
                int cores = (int)((quota + period - 1) / period);
                if (least == 0 || cores < least) least = cores;
            }
            fclose(file);
        }
        char *last = strrchr(own, '/');
        if (last == NULL) return least;
        *last = 0;
    }
}
#else
static int container_cores(void) { return 0; }
#endif

static int most_threads(void)
{
    static atomic_int known;
    int threads = atomic_load(&known);
    if (threads > 0) return threads;
    threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) threads = CPU_COUNT(&cores);
#endif
    int limit = container_cores();
    if (limit > 0 && limit < threads) threads = limit;
    const char *said = getenv("OMP_NUM_THREADS");
    int wanted = said == NULL ? 0 : atoi(said);
    if (wanted > 0 && wanted < threads) threads = wanted;
    if (threads < 1) threads = 1;
    atomic_store(&known, threads);
    return threads;
}

static atomic_int threads_set;

int pt_threads(void)
{
    int set = atomic_load(&threads_set), most = most_threads();
    return set > 0 && set < most ? set : most;
}

/* Have calls use so many threads at most; 0 for as many as there are.  The number that holds then. */
int pt_set_threads(int threads)
{
    atomic_store(&threads_set, threads > 0 ? threads : 0);
    return pt_threads();
}

/* Teams and their helpers. */

static void *whole_lines(size_t words)
{
    void *memory = NULL;
    size_t size = (words * 8 + 127) / 128 * 128;
    if (posix_memalign(&memory, 128, size) != 0) return NULL;
    memset(memory, 0, size);
    return memory;
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    pt_serve((int64_t)(intptr_t)helper->mailbox, helper->number);
    return NULL;
}

static struct team *new_team(void)
{
    int helpers = most_threads() - 1;
    struct team *team = calloc(1, sizeof *team);
    if (team == NULL) return NULL;
    team->core_left_out = -1;
    team->mailbox = whole_lines((size_t)PT_MAILBOX_WORDS(helpers));
    team->context = whole_lines(PT_STATE_WORDS + pt_most_words);
    team->helpers = calloc((size_t)helpers + 1, sizeof team->helpers[0]);
    if (team->mailbox == NULL || team->context == NULL || team->helpers == NULL) {
        free(team->mailbox);
        free(team->context);
        free(team->helpers);
        free(team);
        return NULL;
    }
    for (int k = 0; k < helpers; k++) {
        struct helper *helper = &team->helpers[k];
        helper->mailbox = team->mailbox;
        helper->number = k + 1;
        pthread_mutex_init(&helper->event.lock, NULL);
        pthread_cond_init(&helper->event.signal, NULL);
        team->mailbox[PT_EVENT_WORD(k + 1)] = (int64_t)(intptr_t)&helper->event;
    }
    return team;
}

/* Where the system has no more threads, the work is done all the same. */
static void start_helpers(struct team *team, int wanted)
{
    sigset_t every, before;
    if (team->started >= wanted) return;
    sigfillset(&every); /* signals are for the application's threads */
    pthread_sigmask(SIG_SETMASK, &every, &before);
    while (team->started < wanted) {
        struct helper *helper = &team->helpers[team->started];
        if (pthread_create(&helper->thread, NULL, help, helper) != 0) break;
        team->started++;
        team->core_left_out = -1;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Keep the helpers off the caller's core, where a system that wakes a thread likes to put it. */
static void leave_out_core(struct team *team)
{
    int64_t core = team->mailbox[PT_CORE_WORD];
    if (core == team->core_left_out) return;
    team->core_left_out = core;
#ifdef __linux__
    cpu_set_t cores;
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof cores, &cores) != 0) return;
    CPU_CLR((int)core, &cores);
    if (CPU_COUNT(&cores) == 0) return;
    for (int k = 0; k < team->started; k++) pthread_setaffinity_np(team->helpers[k].thread, sizeof cores, &cores);
#endif
}

static void fill(int64_t *context, const int64_t *words, size_t count, const int64_t *sizes, int size_count)
{
    memset(context, 0, PT_STATE_WORDS * 8);
    memcpy(context + PT_STATE_WORDS, words, count * 8);
    if (size_count > 0) memcpy(context + PT_STATE_WORDS + count, sizes, (size_t)size_count * 8);
}

int pt_run_version(const struct pt_version *version, int threads, const int64_t *words, size_t count,
                   const int64_t *sizes)
{
    int most = pt_threads(), workers = version->is_team ? (threads > 0 && threads < most ? threads : most) : 1;
    pthread_mutex_lock(&lock);
    struct team *team = idle;
    if (team != NULL) idle = team->next_idle;
    pthread_mutex_unlock(&lock);
    if (team == NULL) {
        team = new_team();
        if (team == NULL) return PT_NO_MEMORY;
        pthread_mutex_lock(&lock);
        team->next = all;
        all = team;
        pthread_mutex_unlock(&lock);
    }
    int64_t mailbox = (int64_t)(intptr_t)team->mailbox, *context = team->context;
    int status = PT_OK;
    if (team->is_left && pt_inside(mailbox) == 0) team->is_left = 0;
    if (team->is_left) {
        /* A helper has not had a core since the last call: there are not as many as there seem to be. */
        workers = 1;
        if (team->spare == NULL) team->spare = whole_lines(PT_STATE_WORDS + pt_most_words);
        context = team->spare;
    }
    if (context == NULL) {
        status = PT_NO_MEMORY;
    } else {
        fill(context, words, count, sizes, version->sizes);
        if (!version->is_team) {
            ((void (*)(int64_t))version->code)((int64_t)(intptr_t)context);
        } else {
            if (workers > 1) {
                start_helpers(team, workers - 1);
                leave_out_core(team);
            }
            int64_t inside = pt_lead(mailbox, (int64_t)(intptr_t)version->code, (int64_t)(intptr_t)context, workers);
            if (inside != 0) team->is_left = 1;
        }
    }
    pthread_mutex_lock(&lock);
    team->next_idle = idle;
    idle = team;
    pthread_mutex_unlock(&lock);
    return status;
}

/* A forked process has none of the helpers; a library that is unloaded must have none either. */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void after_fork_in_child(void)
{
    idle = all = NULL;
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void set_up(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

__attribute__((destructor)) static void stop(void)
{
    pthread_mutex_lock(&lock);
    struct team *team = all;
    idle = all = NULL;
    pthread_mutex_unlock(&lock);
    for (; team != NULL; team = team->next) {
        pt_dismiss((int64_t)(intptr_t)team->mailbox, team->started);
        for (int k = 0; k < team->started; k++) {
#ifdef __GLIBC__
            struct timespec end;
            clock_gettime(CLOCK_REALTIME, &end);
            end.tv_sec += 1;
            pthread_timedjoin_np(team->helpers[k].thread, NULL, &end);
#else
            pthread_join(team->helpers[k].thread, NULL);
#endif
        }
    }
}
