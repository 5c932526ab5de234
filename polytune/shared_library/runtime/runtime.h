/* The runtime of a library of kernels: what all files of it share.  Nothing of it is seen outside of the library. */
#ifndef PT_RUNTIME_H
#define PT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

/* What functions return, see the library's header. */
enum {
    PT_OK = 0,
    PT_NO_MEMORY = -1,
    PT_NO_PROCESSOR = -2,
    PT_ARGUMENT = -3,
    PT_OVERLAP = -4,
    PT_SUBSCRIPT = -5,
    PT_LATE_SUBSCRIPT = -6,
    PT_UNASSIGNED = -7,
    PT_REQUIREMENT = -8
};

/* Python's integers, as far as sizes and subscripts need them: too wide is what does not fit here. */
typedef __int128 pt_integer;

/* What a processor can do: the bits of cpuid that code depends on, and the state that the system keeps. */
enum { PT_FACTS = 8 };

struct pt_level {
    const char *name;
    uint32_t facts[PT_FACTS]; /* all of which a processor must have */
};

struct pt_version {
    void (*code)(void);
    int is_team; /* takes (context, worker, workers), else (context) */
    int sizes;   /* of tiles, that its context ends with */
};

struct pt_choice {
    int version;
    int threads;              /* 0 for as many as there are */
    const double *logarithms; /* of 1 + each parameter that it was chosen for, to base 2 */
    const int64_t *sizes;
};

struct pt_code {
    const struct pt_version *versions;
    const struct pt_choice *choices;
    int choice_count;
};

struct pt_kernel {
    int words;      /* of a context behind the team's state: arrays, scalars, parameters, without sizes */
    int parameters; /* how many of these, the last ones, are parameters */
    const struct pt_code *code; /* by level */
};

struct pt_array {
    const char *name;
    const void *data;
    int64_t item; /* bytes */
    int axes;
    int is_written;
    const int64_t *extents;
    const int64_t *strides; /* in bytes */
};

/* Of this library: what it was built with. */
extern const struct pt_level pt_levels[];
extern const int pt_level_count;
extern const size_t pt_most_words; /* of a context, with sizes, without the team's state */

/* levels.c */
void pt_read_facts(uint32_t facts[PT_FACTS]);
int pt_level(void);
int pt_set_level(const char *name);

/* team.c */
int pt_threads(void);
int pt_set_threads(int threads);
int pt_run_version(const struct pt_version *version, int threads, const int64_t *words, size_t count,
                   const int64_t *sizes);

/* calls.c */
int pt_run(const struct pt_kernel *kernel, const int64_t *words);
const char *pt_message(void);
int pt_fail(int status, const char *text);
void pt_say(const char *text);
void pt_say_integer(pt_integer value);
void pt_say_number(double value);
void pt_say_shape(int axes, const int64_t *extents);
pt_integer pt_add(pt_integer left, pt_integer right, int *wide);
pt_integer pt_subtract(pt_integer left, pt_integer right, int *wide);
pt_integer pt_multiply(pt_integer left, pt_integer right, int *wide);
pt_integer pt_quotient(pt_integer left, pt_integer right, int *wide);
pt_integer pt_remainder(pt_integer left, pt_integer right, int *wide);
pt_integer pt_truncated(double value, int *wide);
int64_t pt_word(pt_integer value, int *wide);
int64_t pt_bits(double value);

/* arrays.c */
int pt_check_overlap(const struct pt_array *arrays, int count);
int pt_is_outside(const struct pt_array *array, const char *kind, const pt_integer *low, const pt_integer *high,
                  pt_integer extent);

/* memory.c */
void *pt_take(pt_integer bytes, int is_zeroed);
void pt_give_back(void *memory, pt_integer bytes);

#endif
