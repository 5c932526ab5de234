/* The checks of arrays that need no knowledge of the kernel: that written ones overlap with nothing, and that numbers in
   index arrays are in range. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WORK = 100000, MOST_ELEMENTS = 1000000, MOST_TERMS = 160 };

static int is_empty(const struct pt_array *array)
{
    for (int k = 0; k < array->axes; k++)
        if (array->extents[k] == 0) return 1;
    return 0;
}

/* The first byte that an array touches, and the one behind its last. */
static void ends(const struct pt_array *array, pt_integer *first, pt_integer *behind)
{
    *first = *behind = (pt_integer)(intptr_t)array->data;
    for (int k = 0; k < array->axes; k++) {
        pt_integer reach = (pt_integer)array->strides[k] * (array->extents[k] - 1);
        if (reach < 0) *first += reach;
        else *behind += reach;
    }
    *behind += array->item;
}

struct term {
    pt_integer factor, most; /* factor * x, for 0 <= x <= most */
};

struct equation {
    struct term terms[MOST_TERMS];
    pt_integer reach[MOST_TERMS + 1];   /* of the terms from here on */
    pt_integer divisor[MOST_TERMS + 1]; /* the greatest common divisor of their factors */
    int count, work;
};

static int by_factor(const void *left, const void *right)
{
    pt_integer first = ((const struct term *)left)->factor, second = ((const struct term *)right)->factor;
    return (first < second) - (first > second);
}

/* Whether the terms from a place on can add up to a sum; also where that takes too long to find out. */
static int has_solution(struct equation *equation, int place, pt_integer sum)
{
    if (sum < 0 || sum > equation->reach[place]) return 0;
    if (sum == 0) return 1;
    if (place == equation->count || sum % equation->divisor[place] != 0) return 0;
    if (++equation->work > MOST_WORK) return 1;
    const struct term *term = &equation->terms[place];
    pt_integer rest = equation->reach[place + 1];
    pt_integer low = sum > rest ? (sum - rest + term->factor - 1) / term->factor : 0;
    pt_integer high = sum / term->factor < term->most ? sum / term->factor : term->most;
    for (pt_integer x = high; x >= low; x--) {
        if (has_solution(equation, place + 1, sum - x * term->factor)) return 1;
        if (++equation->work > MOST_WORK) return 1;
    }
    return 0;
}

static void add_term(struct equation *equation, pt_integer factor, pt_integer most)
{
    if (factor != 0 && most > 0) equation->terms[equation->count++] = (struct term){factor, most};
}

static void add_array(struct equation *equation, const struct pt_array *array)
{
    for (int k = 0; k < array->axes; k++) {
        pt_integer stride = array->strides[k];
        add_term(equation, stride < 0 ? -stride : stride, array->extents[k] - 1);
    }
    add_term(equation, 1, array->item - 1);
}

/* Whether two arrays have a byte in common: first + a = second + b for bytes a and b of theirs, which is an equation in
   numbers from 0 on, as (behind - 1) - a' counts the bytes of the second one from its end. */
static int share(const struct pt_array *left, const struct pt_array *right)
{
    pt_integer first, behind, other_first, other_behind;
    struct equation equation;
    if (is_empty(left) || is_empty(right)) return 0;
    ends(left, &first, &behind);
    ends(right, &other_first, &other_behind);
    if (behind <= other_first || other_behind <= first) return 0;
    if (left->axes + right->axes + 2 > MOST_TERMS) return 1;
    equation.count = equation.work = 0;
    add_array(&equation, left);
    add_array(&equation, right);
    qsort(equation.terms, (size_t)equation.count, sizeof equation.terms[0], by_factor);
    equation.reach[equation.count] = 0;
    equation.divisor[equation.count] = 0;
    for (int k = equation.count - 1; k >= 0; k--) {
        pt_integer a = equation.terms[k].factor, b = equation.divisor[k + 1];
        equation.reach[k] = equation.reach[k + 1] + equation.terms[k].factor * equation.terms[k].most;
        while (b != 0) {
            pt_integer rest = a % b;
            a = b;
            b = rest;
        }
        equation.divisor[k] = a;
    }
    return has_solution(&equation, 0, other_behind - 1 - first);
}

static int by_number(const void *left, const void *right)
{
    int64_t first = *(const int64_t *)left, second = *(const int64_t *)right;
    return (first > second) - (first < second);
}

/* Whether two elements of an array lie in the same place; also where that takes too long to find out. */
static int overlaps_itself(const struct pt_array *array)
{
    struct term axes[MOST_TERMS];
    int count = 0, is_nested = 1, found = 0;
    pt_integer reach = array->item, size = 1;
    if (is_empty(array)) return 0;
    for (int k = 0; k < array->axes && count < MOST_TERMS; k++)
        if (array->extents[k] > 1) {
            pt_integer stride = array->strides[k];
            axes[count++] = (struct term){stride < 0 ? -stride : stride, array->extents[k]};
            if (stride == 0) return 1;
            size *= array->extents[k];
        }
    qsort(axes, (size_t)count, sizeof axes[0], by_factor);
    for (int k = count - 1; k >= 0; k--) {
        is_nested = is_nested && axes[k].factor >= reach;
        reach += axes[k].factor * (axes[k].most - 1);
    }
    if (is_nested) return 0;
    if (size > MOST_ELEMENTS) return 1;
    int64_t *offsets = malloc((size_t)size * sizeof *offsets);
    if (offsets == NULL) return 1;
    size_t filled = 1;
    offsets[0] = 0;
    for (int k = 0; k < count; k++) {
        size_t before = filled;
        for (pt_integer x = 1; x < axes[k].most; x++)
            for (size_t each = 0; each < before; each++)
                offsets[filled++] = offsets[each] + (int64_t)(x * axes[k].factor);
    }
    qsort(offsets, filled, sizeof *offsets, by_number);
    for (size_t k = 1; k < filled && !found; k++) found = offsets[k] - offsets[k - 1] < array->item;
    free(offsets);
    return found;
}

int pt_check_overlap(const struct pt_array *arrays, int count)
{
    for (int k = 0; k < count; k++) {
        if (!arrays[k].is_written) continue;
        if (overlaps_itself(&arrays[k])) {
            pt_fail(PT_OVERLAP, "argument '");
            pt_say(arrays[k].name);
            pt_say("': the kernel writes to it, but several of its elements lie in the same place; pass a copy");
            return PT_OVERLAP;
        }
        for (int other = 0; other < count; other++)
            if (other != k && share(&arrays[k], &arrays[other])) {
                pt_fail(PT_OVERLAP, "arguments '");
                pt_say(arrays[k].name);
                pt_say("' and '");
                pt_say(arrays[other].name);
                pt_say("' overlap in memory, and the kernel writes to '");
                pt_say(arrays[k].name);
                pt_say("'; pass a copy of one of them, or the one array that both are parts of");
                return PT_OVERLAP;
            }
    }
    return PT_OK;
}

#define IS_OUTSIDE(KIND)                                                                                              \
    for (int64_t k = 0; k < count; k++) {                                                                             \
        KIND number;                                                                                                  \
        memcpy(&number, row + k * stride, sizeof number);                                                             \
        found |= ((pt_wide)number < -(pt_wide)extent) | ((pt_wide)number >= (pt_wide)extent);                         \
    }

static int row_is_outside(const char *row, const char *kind, int64_t count, int64_t stride, int64_t extent)
{
    int found = 0;
    if (strcmp(kind, "uint64") == 0) {
        for (int64_t k = 0; k < count; k++) {
            uint64_t number;
            memcpy(&number, row + k * stride, sizeof number);
            found |= number >= (uint64_t)extent;
        }
        return found;
    }
    typedef int64_t pt_wide;
    if (strcmp(kind, "int64") == 0) { IS_OUTSIDE(int64_t) }
    else if (strcmp(kind, "int32") == 0) { IS_OUTSIDE(int32_t) }
    else if (strcmp(kind, "int16") == 0) { IS_OUTSIDE(int16_t) }
    else if (strcmp(kind, "int8") == 0) { IS_OUTSIDE(int8_t) }
    else if (strcmp(kind, "uint32") == 0) { IS_OUTSIDE(uint32_t) }
    else if (strcmp(kind, "uint16") == 0) { IS_OUTSIDE(uint16_t) }
    else if (strcmp(kind, "uint8") == 0 || strcmp(kind, "bool") == 0) { IS_OUTSIDE(uint8_t) }
    else return 1;
    return found;
}

static int is_outside(const struct pt_array *array, const char *kind, int axis, const char *at, const pt_integer *low,
                      const pt_integer *high, int64_t extent)
{
    /* As slices of NumPy, which end where the array does. */
    pt_integer begin = low[axis] > 0 ? low[axis] : 0;
    pt_integer end = high[axis] < array->extents[axis] ? high[axis] : array->extents[axis];
    if (begin >= end) return 0;
    at += (int64_t)begin * array->strides[axis];
    if (axis == array->axes - 1)
        return row_is_outside(at, kind, (int64_t)(end - begin), array->strides[axis], extent);
    for (pt_integer k = begin; k < end; k++, at += array->strides[axis])
        if (is_outside(array, kind, axis + 1, at, low, high, extent)) return 1;
    return 0;
}

/* Whether a number in a box of an array is no subscript of an axis of so many elements, from either end. */
int pt_is_outside(const struct pt_array *array, const char *kind, const pt_integer *low, const pt_integer *high,
                  pt_integer extent)
{
    return is_outside(array, kind, 0, array->data, low, high, (int64_t)extent);
}
