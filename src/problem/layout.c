#include "problem/layout.h"

#include "problem/fill_check.h"
#include "problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

/* "argument 'x' with rows=3 cols=17: " before what `format` says. */
__attribute__((format(printf, 6, 7))) static int
refuse_layout(const struct problem *problem, const struct argument *argument,
              const struct size_set *sizes, int code, struct err *err, const char *format, ...)
{
    char text[ERR_TEXT_MAX], sizes_text[LIMIT_SIZES * 32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    problem_sizes_text(problem, sizes, sizes_text, sizeof sizes_text);
    return err_set(err, code, "argument '%s' with %s: %s", argument->name, sizes_text, text);
}

static int lay_out_shape(const struct problem *problem, const struct argument *argument,
                         const struct size_set *sizes, struct layout_argument *placed,
                         struct err *err)
{
    uint64_t element_bytes = dtype_facts(argument->dtype)->bytes;
    placed->count = 1;
    for (uint32_t i = 0; i < argument->dimensions; i++) {
        const char *text = expression_text(argument->shape[i]);
        double length = expression_value(argument->shape[i], sizes->value);
        if (!(length >= 1) || length != floor(length))
            return refuse_layout(problem, argument, sizes, ERR_INPUT, err,
                                 "dimension %u (%s) is %g; it must be a whole number from 1 on",
                                 i + 1, text, length);
        /* Held below 2^62 first, so that the conversion and the test after it are defined. */
        if (length > 0x1p62 ||
            __builtin_mul_overflow(placed->count, (uint64_t)length, &placed->count) ||
            placed->count > LIMIT_TENSOR_BYTES / element_bytes)
            return refuse_layout(problem, argument, sizes, ERR_LIMIT, err,
                                 "it is larger than the %llu GiB that one argument may have",
                                 (unsigned long long)(LIMIT_TENSOR_BYTES >> 30));
    }
    return 0;
}

static int lay_out_fill(const struct problem *problem, const struct argument *argument,
                        const struct size_set *sizes, struct layout_argument *placed,
                        struct err *err)
{
    char reason[160];
    placed->fill = argument->fill;
    if (argument->a)
        placed->a = expression_value(argument->a, sizes->value);
    if (argument->b)
        placed->b = expression_value(argument->b, sizes->value);
    if (!fill_check_values(argument->fill, argument->dtype, placed->count, placed->a, placed->b,
                           reason, sizeof reason))
        return refuse_layout(problem, argument, sizes, ERR_INPUT, err, "%s", reason);
    return 0;
}

static int lay_out_size(const struct problem *problem, const struct argument *argument,
                        const struct size_set *sizes, struct layout_argument *placed,
                        struct err *err)
{
    placed->dtype = DTYPE_U64;
    placed->count = 1;
    for (uint32_t i = 0; i < problem->size_count; i++) {
        if (strcmp(problem->size_names[i], argument->name) != 0)
            continue;
        if (sizes->value[i] < 1)
            return refuse_layout(problem, argument, sizes, ERR_INPUT, err,
                                 "a size must be at least 1");
        placed->value = (uint64_t)sizes->value[i];
        return 0;
    }
    return err_set(err, ERR_INTERNAL, "argument '%s': no size of that name", argument->name);
}

int problem_layout(const struct problem *problem, const struct size_set *sizes,
                   struct layout *layout, struct err *err)
{
    memset(layout, 0, sizeof *layout);
    if (problem->format != PROBLEM_NATIVE)
        return err_set(err, ERR_INPUT, "%s: a torch problem has no layout; its module makes inputs",
                       problem->id);
    uint64_t offset = 0;
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        const struct argument *argument = &problem->arguments[i];
        struct layout_argument *placed = &layout->arguments[i];
        placed->role = argument->role;
        placed->dtype = argument->dtype;
        int result = argument->role == ROLE_SIZE
                         ? lay_out_size(problem, argument, sizes, placed, err)
                         : lay_out_shape(problem, argument, sizes, placed, err);
        if (result == 0 && argument->fill != FILL_NONE)
            result = lay_out_fill(problem, argument, sizes, placed, err);
        if (result < 0)
            return result;
        /* Scalars take 8 bytes whatever their type, and a guard like arrays: one rule for all. */
        uint64_t bytes = layout_argument_bytes(placed);
        placed->offset = offset;
        offset = round_up(offset + (bytes < 8 ? 8 : bytes) + LAYOUT_GUARD_BYTES, LAYOUT_ALIGNMENT);
    }
    layout->count = problem->argument_count;
    layout->bytes = round_up(offset, LAYOUT_PAGE_BYTES);
    return 0;
}

void problem_largest(const struct problem *problem, struct layout *largest)
{
    struct layout layout;
    struct err ignored;
    *largest = (struct layout){0};
    for (uint32_t i = 0; i < problem->check_count + problem->time_count; i++) {
        const struct size_set *sizes = i < problem->check_count
                                           ? &problem->check[i]
                                           : &problem->time[i - problem->check_count];
        if (problem_layout(problem, sizes, &layout, &ignored) == 0 && layout.bytes > largest->bytes)
            *largest = layout;
    }
}
