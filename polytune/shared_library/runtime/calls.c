/* A call: which version runs, exact integers, and the message of what went wrong. */
#include "runtime.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[4096];

const char *pt_message(void) { return message; }

void pt_say(const char *text)
{
    size_t used = strlen(message);
    snprintf(message + used, sizeof message - used, "%s", text);
}

int pt_fail(int status, const char *text)
{
    message[0] = 0;
    pt_say(text);
    return status;
}

void pt_say_integer(pt_integer value)
{
    char digits[48], *place = digits + sizeof digits - 1;
    unsigned __int128 rest = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    *place = 0;
    do {
        *--place = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest != 0);
    if (value < 0) *--place = '-';
    pt_say(place);
}

void pt_say_number(double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    pt_say(text);
}

void pt_say_shape(int axes, const int64_t *extents)
{
    pt_say("(");
    for (int k = 0; k < axes; k++) {
        if (k > 0) pt_say(", ");
        pt_say_integer(extents[k]);
    }
    pt_say(axes == 1 ? ",)" : ")");
}

pt_integer pt_add(pt_integer left, pt_integer right, int *wide)
{
    pt_integer result = 0;
    *wide |= __builtin_add_overflow(left, right, &result);
    return result;
}

pt_integer pt_subtract(pt_integer left, pt_integer right, int *wide)
{
    pt_integer result = 0;
    *wide |= __builtin_sub_overflow(left, right, &result);
    return result;
}

pt_integer pt_multiply(pt_integer left, pt_integer right, int *wide)
{
    pt_integer result = 0;
    *wide |= __builtin_mul_overflow(left, right, &result);
    return result;
}

/* Python's //, which rounds down.  Division by 0 is as bad as a number that is too wide. */
pt_integer pt_quotient(pt_integer left, pt_integer right, int *wide)
{
    if (right == 0) {
        *wide = 1;
        return 0;
    }
    if (right == -1) return pt_subtract(0, left, wide);
    return left / right - (left % right != 0 && (left % right < 0) != (right < 0));
}

pt_integer pt_remainder(pt_integer left, pt_integer right, int *wide)
{
    if (right == 0) {
        *wide = 1;
        return 0;
    }
    if (right == -1) return 0;
    pt_integer rest = left % right;
    return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

pt_integer pt_truncated(double value, int *wide)
{
    if (!(fabs(value) < 1e38)) {
        *wide = 1;
        return 0;
    }
    return (pt_integer)value;
}

int64_t pt_word(pt_integer value, int *wide)
{
    *wide |= value < INT64_MIN || value > INT64_MAX;
    return (int64_t)value;
}

/* A number as contexts have it. */
int64_t pt_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What was chosen for the sizes that are nearest, by the ratios of sizes. */
static const struct pt_choice *nearest(const struct pt_code *code, const int64_t *parameters, int count)
{
    const struct pt_choice *best = &code->choices[0];
    double least = INFINITY, logarithms[count > 0 ? count : 1];
    if (code->choice_count == 1) return best;
    for (int k = 0; k < count; k++) logarithms[k] = log2(1.0 + (parameters[k] > 0 ? (double)parameters[k] : 0.0));
    for (int c = 0; c < code->choice_count; c++) {
        double distance = 0.0;
        for (int k = 0; k < count; k++) distance += fabs(logarithms[k] - code->choices[c].logarithms[k]);
        if (distance < least) {
            least = distance;
            best = &code->choices[c];
        }
    }
    return best;
}

int pt_run(const struct pt_kernel *kernel, const int64_t *words)
{
    int level = pt_level();
    if (level < 0) return pt_fail(PT_NO_PROCESSOR, "the library has no code that this processor can run");
    const struct pt_code *code = &kernel->code[level];
    const struct pt_choice *choice =
        nearest(code, words + kernel->words - kernel->parameters, kernel->parameters);
    if (pt_run_version(&code->versions[choice->version], choice->threads, words, (size_t)kernel->words,
                       choice->sizes) != PT_OK)
        return pt_fail(PT_NO_MEMORY, "there is no memory for the call");
    return PT_OK;
}
