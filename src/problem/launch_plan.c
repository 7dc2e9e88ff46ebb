#include "base/array.h"
#include "problem/launch.h"
#include "problem/launch_type.h"

#include <math.h>
#include <string.h>

#define SCRATCH_MOST ((double)LIMIT_TENSOR_BYTES)
#define SHARED_MOST 262144 /* more than any device gives to a block; the driver knows exactly */

const struct launch_type launch_types[] = {
    {"size_t", 8, false, 0, 0x1p53},         {"int", 4, false, -0x1p31, 0x1p31 - 1},
    {"unsigned", 4, false, 0, 0x1p32 - 1},   {"int32_t", 4, false, -0x1p31, 0x1p31 - 1},
    {"uint32_t", 4, false, 0, 0x1p32 - 1},   {"int64_t", 8, false, -0x1p53, 0x1p53},
    {"uint64_t", 8, false, 0, 0x1p53},       {"long", 8, false, -0x1p53, 0x1p53},
    {"float", 4, true, -INFINITY, INFINITY}, {"double", 8, true, -INFINITY, INFINITY},
};

const uint32_t launch_type_count = COUNT(launch_types);

static int is_whole_number(const struct expression *expression, const int64_t *sizes, double low,
                           double high, const char *what, uint64_t *value, struct err *err)
{
    double number = expression_value(expression, sizes);
    if (!(number >= low && number <= high) || number != floor(number))
        return err_set(err, ERR_INPUT,
                       "%s: %.100s is %.15g here, and must be a whole number from "
                       "%.15g to %.15g",
                       what, expression_text(expression), number, low, high);
    *value = (uint64_t)(int64_t)number;
    return 0;
}

static int evaluate_extent(const struct expression *const extent[3], const int64_t *sizes,
                           const double most[3], const char *what, uint32_t numbers[3],
                           struct err *err)
{
    for (int i = 0; i < 3; i++) {
        uint64_t value = 1;
        int result = extent[i] ? is_whole_number(extent[i], sizes, 1, most[i], what, &value, err)
                               : 0;
        if (result < 0)
            return result;
        numbers[i] = (uint32_t)value;
    }
    return 0;
}

/* Every type's low bytes come first in memory. */
static int evaluate_argument(const struct launch_argument *argument, const int64_t *sizes,
                             uint64_t *value, struct err *err)
{
    const struct launch_type *type = &launch_types[argument->type];
    double number = expression_value(argument->value, sizes);
    float narrow = (float)number;
    *value = 0;
    if (!type->floating)
        return is_whole_number(argument->value, sizes, type->low, type->high, type->name, value,
                               err);
    if (type->bytes == sizeof narrow)
        memcpy(value, &narrow, sizeof narrow);
    else
        memcpy(value, &number, sizeof number);
    return 0;
}

static int evaluate_call(const struct launch_call *call, const int64_t *sizes,
                         struct launch_numbers *numbers, struct err *err)
{
    static const double grids[3] = {0x1p31 - 1, 65535, 65535};
    static const double blocks[3] = {1024, 1024, 64};
    uint64_t shared = 0;
    int result = evaluate_extent(call->grid, sizes, grids, "grid", numbers->grid, err);
    if (result == 0)
        result = evaluate_extent(call->block, sizes, blocks, "block", numbers->block, err);
    const uint32_t *block = numbers->block;
    if (result == 0 && block[0] * block[1] * block[2] > 1024)
        result = err_set(err, ERR_INPUT, "block: %u x %u x %u are more than 1024 threads", block[0],
                         block[1], block[2]);
    if (result == 0 && call->shared)
        result = is_whole_number(call->shared, sizes, 0, SHARED_MOST, "shared", &shared, err);
    numbers->shared_bytes = (uint32_t)shared;
    for (uint32_t i = 0; i < call->argument_count && result == 0; i++)
        if (call->arguments[i].source == LAUNCH_VALUE)
            result = evaluate_argument(&call->arguments[i], sizes, &numbers->values[i], err);
    return result;
}

int launch_evaluate(const struct launch *launch, const int64_t *sizes, struct launch_plan *plan,
                    uint32_t *line, struct err *err)
{
    int result = 0;
    memset(plan, 0, sizeof *plan);
    for (uint32_t i = 0; i < launch->scratch_count && result == 0; i++) {
        *line = launch->scratches[i].line;
        result = is_whole_number(launch->scratches[i].bytes, sizes, 1, SCRATCH_MOST, "bytes",
                                 &plan->scratch_bytes[i], err);
    }
    for (uint32_t i = 0; i < launch->call_count && result == 0; i++) {
        *line = launch->calls[i].line;
        result = evaluate_call(&launch->calls[i], sizes, &plan->calls[i], err);
    }
    return result;
}
