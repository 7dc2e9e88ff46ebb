#include "judge/numeric/error_look.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE 4096
#define NEARLY 0.9 /* of the elements of a region */

/* Mismatches, as they lie. */
struct places {
    uint64_t count, first, last;
    uint64_t rows, first_row, last_row; /* with a mismatch */
    uint64_t first_column;              /* of all rows */
    uint64_t element_step, row_step;    /* from one to the next; 0: not always the same */
    uint64_t not_finite;
};

/* Sums over the elements that are finite on both sides. */
struct sums {
    double want, have, cross, error, shift; /* of want², have², want * have, error², error */
    uint64_t count;
};

/* What all looks take. */
struct seen {
    const struct comparison *spec;
    uint64_t row;
    const void *expected, *got;
    struct places places;
    struct sums sums;
};

static double want_at(const struct seen *seen, uint64_t i)
{
    return dtype_load(seen->spec->expected_dtype, seen->expected, i);
}

static double have_at(const struct seen *seen, uint64_t i)
{
    return dtype_load(seen->spec->dtype, seen->got, i);
}

static uint64_t same_step(uint64_t known, bool is_second, uint64_t step)
{
    return is_second ? step : known == step ? step : 0;
}

static void add_place(struct places *places, uint64_t i, uint64_t row_length)
{
    uint64_t row = i / row_length;
    uint64_t column = i % row_length;
    if (places->count == 0)
        *places = (struct places){.first = i, .first_column = column};
    else
        places->element_step = same_step(places->element_step, places->count == 1,
                                         i - places->last);
    if (places->count == 0 || row != places->last_row) {
        if (places->rows > 0)
            places->row_step = same_step(places->row_step, places->rows == 1,
                                         row - places->last_row);
        else
            places->first_row = row;
        places->rows++;
        places->last_row = row;
    }
    if (column < places->first_column)
        places->first_column = column;
    places->count++;
    places->last = i;
}

static void add_sums(struct sums *sums, double want, double have)
{
    double error = have - want;
    sums->want += want * want;
    sums->have += have * have;
    sums->cross += want * have;
    sums->error += error * error;
    sums->shift += error;
    sums->count++;
}

static void look_at_all(struct seen *seen, double rms)
{
    uint64_t not_finite = 0;
    for (uint64_t i = 0; i < seen->spec->count; i++) {
        double want = want_at(seen, i);
        double have = have_at(seen, i);
        bool finite = isfinite(want) && isfinite(have);
        if (finite)
            add_sums(&seen->sums, want, have);
        if (compare_values(seen->spec, rms, want, have))
            continue;
        not_finite += !finite;
        add_place(&seen->places, i, seen->row);
    }
    seen->places.not_finite = not_finite;
}

/* --- where it is --------------------------------------------------------------------------------
 * Each says nothing (0) or the length of its text. */

static int look_not_finite(const struct seen *seen, char *text)
{
    if (seen->places.not_finite == 0)
        return 0;
    return snprintf(text, ERROR_LOOK_BYTES, "NaN or infinity on one side in %" PRIu64 " elements",
                    seen->places.not_finite);
}

static int look_tail(const struct seen *seen, char *text)
{
    const struct places *places = &seen->places;
    uint64_t left = seen->spec->count - places->first;
    if (places->first * 64 < seen->spec->count || (double)places->count < NEARLY * (double)left)
        return 0;
    if (places->first % 32 == 0)
        return snprintf(text, ERROR_LOOK_BYTES,
                        "elements beyond a block boundary: nearly all from [%" PRIu64 "] on",
                        places->first);
    return snprintf(text, ERROR_LOOK_BYTES, "the tail: nearly all elements from [%" PRIu64 "] on",
                    places->first);
}

static int look_rows(const struct seen *seen, char *text)
{
    const struct places *places = &seen->places;
    uint64_t rows = seen->spec->count / seen->row;
    if (seen->row < 2 || rows < 4 || places->rows * 2 > rows)
        return 0;
    if (places->rows == 1)
        return snprintf(text, ERROR_LOOK_BYTES, "one row of %" PRIu64 ": row %" PRIu64, rows,
                        places->first_row);
    if (places->rows > 2 && places->row_step > 1)
        return snprintf(text, ERROR_LOOK_BYTES, "one row in %" PRIu64 ", from row %" PRIu64 " on",
                        places->row_step, places->first_row);
    return snprintf(text, ERROR_LOOK_BYTES,
                    "%" PRIu64 " of %" PRIu64 " rows, from row %" PRIu64 " to %" PRIu64,
                    places->rows, rows, places->first_row, places->last_row);
}

static int look_columns(const struct seen *seen, char *text)
{
    const struct places *places = &seen->places;
    if (seen->row < 8 || places->first_column * 8 < seen->row)
        return 0;
    return snprintf(text, ERROR_LOOK_BYTES, "the ends of rows: columns from %" PRIu64 " on%s",
                    places->first_column,
                    places->first_column % 16 == 0 ? ", beyond a block boundary" : "");
}

static int look_stride(const struct seen *seen, char *text)
{
    const struct places *places = &seen->places;
    if (places->count < 3 || places->element_step < 2)
        return 0;
    return snprintf(text, ERROR_LOOK_BYTES, "one element in %" PRIu64 ", from [%" PRIu64 "] on",
                    places->element_step, places->first);
}

/* --- how it goes with the values ---------------------------------------------------------------*/

static int look_factor(const struct seen *seen, char *text)
{
    const struct sums *sums = &seen->sums;
    double factor = sums->cross / sums->want;
    double rest = sums->have - factor * sums->cross;
    if (sums->count < 3 || !(fabs(factor - 1) > 1e-3) || !(fabs(rest) < 1e-4 * sums->error))
        return 0;
    return snprintf(text, ERROR_LOOK_BYTES, "a constant factor of %.4g", factor);
}

static int look_shift(const struct seen *seen, char *text)
{
    const struct sums *sums = &seen->sums;
    double mean = sums->shift / (double)sums->count;
    double rest = sums->error - mean * sums->shift;
    if (sums->count < 3 || !(fabs(rest) < 1e-4 * sums->error))
        return 0;
    return snprintf(text, ERROR_LOOK_BYTES, "the same amount everywhere: %+.3g", mean);
}

struct point {
    double want, error;
};

static int compare_points(const void *left, const void *right)
{
    double a = ((const struct point *)left)->want, b = ((const struct point *)right)->want;
    return a < b ? -1 : a > b;
}

/* In the order of the values, neighbours of a smooth function have the same error; rounding gives
 * them different ones. */
static bool is_smooth(const struct seen *seen)
{
    struct point *points = mem_alloc(SAMPLE * sizeof *points);
    uint64_t step = seen->spec->count / SAMPLE + 1;
    size_t count = 0;
    double alike = 0;
    double size = 0;
    for (uint64_t i = 0; i < seen->spec->count; i += step) {
        double want = want_at(seen, i);
        double have = have_at(seen, i);
        if (isfinite(want) && isfinite(have))
            points[count++] = (struct point){want, have - want};
    }
    qsort(points, count, sizeof *points, compare_points);
    for (size_t i = 1; i < count; i++) {
        alike += points[i - 1].error * points[i].error;
        size += points[i].error * points[i].error;
    }
    mem_free(points);
    return count > 16 && alike > 0.5 * size;
}

/* Root mean square of the error, in that of what was expected, up to which it is of that kind. The
 * products of numbers with 11 and with 8 bits are off by 2^-12 and 2^-9. */
static const struct {
    double most;
    const char *text;
} sizes[] = {
    {0x1p-14, "of a sum in another order that loses digits, or of fast functions"},
    {0x1p-10, "the size of TF32 or float16"},
    {0x1p-6, "the size of bfloat16"},
    {0.5, "too large for rounding: some terms are missing, or counted otherwise"},
    {INFINITY, "the size of the output itself"},
};

static int look_size(const struct seen *seen, char *text)
{
    const struct sums *sums = &seen->sums;
    double size = sqrt(sums->error / sums->want);
    if (!isfinite(size))
        return 0;
    if (size < 0.1 && is_smooth(seen))
        return snprintf(text, ERROR_LOOK_BYTES,
                        "of an approximation: it depends on the value, %.2g of the output's scale",
                        size);
    size_t kind = 0;
    while (size > sizes[kind].most)
        kind++;
    return snprintf(text, ERROR_LOOK_BYTES, "%s (%.2g of the output's scale)", sizes[kind].text,
                    size);
}

void error_look(const struct comparison *spec, double rms, uint64_t row, const void *expected,
                const void *got, char text[ERROR_LOOK_BYTES])
{
    static int (*const looks[])(const struct seen *seen, char *text) = {
        look_not_finite, look_tail,   look_rows,  look_columns,
        look_stride,     look_factor, look_shift, look_size, /* of real numbers alone */
    };
    enum { PLACES = 5, ALL = sizeof looks / sizeof *looks };
    struct seen seen = {.spec = spec, .row = row ? row : 1, .expected = expected, .got = got};
    text[0] = '\0';
    look_at_all(&seen, rms);
    if (seen.places.count == 0 || !dtype_facts(spec->dtype))
        return;
    size_t count = dtype_facts(spec->dtype)->floating ? ALL : PLACES;
    for (size_t i = 0; i < count; i++)
        if (looks[i](&seen, text) > 0)
            return;
}
