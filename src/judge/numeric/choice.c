#include "judge/numeric/choice.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* What one row is looked at with. */
struct row {
    const struct choice *choice;
    const void *values, *expected, *got;
    uint64_t first_value, first_position; /* its first elements; the next are `inner` behind */
    unsigned char *named;                 /* a flag for each position */
};

static bool position_at(const struct row *row, const void *positions, uint64_t t,
                        uint64_t *position)
{
    const struct choice *choice = row->choice;
    double at = dtype_load(choice->position_dtype, positions,
                           row->first_position + t * choice->inner);
    if (!(at >= 0 && at < (double)choice->length))
        return false;
    *position = (uint64_t)at;
    return true;
}

static bool values_agree(const struct row *row, uint64_t a, uint64_t b)
{
    const struct choice *choice = row->choice;
    double left = dtype_load(choice->value_dtype, row->values,
                             row->first_value + a * choice->inner);
    double right = dtype_load(choice->value_dtype, row->values,
                              row->first_value + b * choice->inner);
    return left == right || (isnan(left) && isnan(right)) || fabs(left - right) <= choice->slack;
}

static bool row_agrees(const struct row *row)
{
    const struct choice *choice = row->choice;
    bool agrees = true;
    if (choice->distinct)
        memset(row->named, 0, choice->length);
    for (uint64_t t = 0; agrees && t < choice->taken; t++) {
        uint64_t right;
        uint64_t mine;
        agrees = position_at(row, row->expected, t, &right) &&
                 position_at(row, row->got, t, &mine) &&
                 (right == mine || values_agree(row, right, mine)) &&
                 !(choice->distinct && row->named[mine]++);
    }
    return agrees;
}

bool choice_agrees(const struct choice *choice, const void *values, const void *expected,
                   const void *got)
{
    bool agrees = true;
    unsigned char *named = mem_alloc(choice->length + 1);
    for (uint64_t i = 0; agrees && i < choice->outer * choice->inner; i++) {
        uint64_t before = i / choice->inner;
        uint64_t behind = i % choice->inner;
        const struct row row = {
            .choice = choice,
            .values = values,
            .expected = expected,
            .got = got,
            .first_value = before * choice->length * choice->inner + behind,
            .first_position = before * choice->taken * choice->inner + behind,
            .named = named,
        };
        agrees = row_agrees(&row);
    }
    mem_free(named);
    return agrees;
}
