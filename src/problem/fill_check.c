#include "problem/fill_check.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Beyond this many deviations fill_numbers.c gives nothing. */
#define NORMAL_REACH 6.04

/* Fill parameters are doubles: whole numbers beyond this are not exact. */
#define EXACT 0x1p53

struct bounds {
    double low, high; /* what the type holds */
    double whole;     /* and up to which magnitude it holds every whole number */
};

static const struct bounds bounds_of[DTYPE_COUNT] = {
    [DTYPE_F16] = {-65504, 65504, 0x1p11},
    [DTYPE_BF16] = {-0x1.fep127, 0x1.fep127, 0x1p8},
    [DTYPE_F32] = {-FLT_MAX, FLT_MAX, 0x1p24},
    [DTYPE_F64] = {-DBL_MAX, DBL_MAX, EXACT},
    [DTYPE_I8] = {INT8_MIN, INT8_MAX, EXACT},
    [DTYPE_U8] = {0, UINT8_MAX, EXACT},
    [DTYPE_I16] = {INT16_MIN, INT16_MAX, EXACT},
    [DTYPE_I32] = {INT32_MIN, INT32_MAX, EXACT},
    [DTYPE_I64] = {-EXACT, EXACT, EXACT},
    [DTYPE_U32] = {0, UINT32_MAX, EXACT},
    [DTYPE_U64] = {0, EXACT, EXACT},
    [DTYPE_BOOL] = {0, 1, EXACT},
};

const char *fill_check_kind(enum fill_kind kind, uint32_t dtype, bool scalar)
{
    bool floating = dtype_facts(dtype)->floating;
    switch (kind) {
    case FILL_NORMAL:
    case FILL_UNIFORM:
        return floating ? NULL : "needs a floating type; whole numbers take integer(low, high)";
    case FILL_PERMUTATION:
    case FILL_OFFSETS:
        if (scalar)
            return "fills an array; a scalar takes normal, uniform, integer or constant";
        return floating || dtype == DTYPE_BOOL ? "needs an integer type" : NULL;
    default:
        return NULL;
    }
}

__attribute__((format(printf, 3, 4))) static bool refuse_fill(char *reason, size_t reason_bytes,
                                                              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, reason_bytes, format, args);
    va_end(args);
    return false;
}

static bool is_whole(double value)
{
    return value == floor(value) && fabs(value) <= EXACT;
}

static bool check_spread(enum fill_kind kind, const struct bounds *bounds, double a, double b,
                         char *reason, size_t reason_bytes)
{
    double low = a, high = b;
    if (kind == FILL_NORMAL) {
        if (!(b > 0))
            return refuse_fill(reason, reason_bytes, "normal needs a deviation above 0, not %g", b);
        low = a - NORMAL_REACH * b;
        high = a + NORMAL_REACH * b;
    } else if (!(a < b)) {
        return refuse_fill(reason, reason_bytes, "uniform needs low < high, not %g and %g", a, b);
    }
    if (low < bounds->low || high > bounds->high)
        return refuse_fill(reason, reason_bytes, "values from %g to %g pass the type's largest, %g",
                           low, high, bounds->high);
    return true;
}

static bool check_integer(const struct bounds *bounds, double a, double b, char *reason,
                          size_t reason_bytes)
{
    if (!is_whole(a) || !is_whole(b))
        return refuse_fill(reason, reason_bytes, "integer needs whole numbers, not %.17g and %.17g",
                           a, b);
    if (!(a < b))
        return refuse_fill(reason, reason_bytes,
                           "integer(%g, %g) is empty: high is exclusive and must be above low", a,
                           b);
    double low = fmax(bounds->low, -bounds->whole), high = fmin(bounds->high, bounds->whole);
    if (a < low || b - 1 > high)
        return refuse_fill(reason, reason_bytes,
                           "the type holds whole numbers from %.17g to %.17g, not %.17g to %.17g",
                           low, high, a, b - 1);
    return true;
}

bool fill_check_values(enum fill_kind kind, uint32_t dtype, uint64_t count, double a, double b,
                       char *reason, size_t reason_bytes)
{
    const struct bounds *bounds = &bounds_of[dtype];
    if (!isfinite(a) || !isfinite(b))
        return refuse_fill(reason, reason_bytes, "a parameter of its fill is %g",
                           isfinite(a) ? b : a);
    switch (kind) {
    case FILL_NORMAL:
    case FILL_UNIFORM:
        return check_spread(kind, bounds, a, b, reason, reason_bytes);
    case FILL_INTEGER:
        return check_integer(bounds, a, b, reason, reason_bytes);
    case FILL_CONSTANT:
        if (a < bounds->low || a > bounds->high || (!dtype_facts(dtype)->floating && !is_whole(a)))
            return refuse_fill(reason, reason_bytes, "the type cannot hold constant(%.17g)", a);
        return true;
    case FILL_PERMUTATION:
        if ((double)(count - 1) > bounds->high)
            return refuse_fill(reason, reason_bytes,
                               "a permutation of %llu elements passes the type's largest, %.17g",
                               (unsigned long long)count, bounds->high);
        return true;
    case FILL_OFFSETS:
        if (!is_whole(a) || a < 0 || a > bounds->high)
            return refuse_fill(reason, reason_bytes,
                               "offsets needs a whole total from 0 to %.17g, not %.17g",
                               bounds->high, a);
        if (count < 2 && a > 0)
            return refuse_fill(reason, reason_bytes,
                               "offsets needs two elements: the first 0, the "
                               "last the total");
        return true;
    default:
        return true;
    }
}
