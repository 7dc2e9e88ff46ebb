/* Any text as a candidate's source: its launch lines parse and evaluate within their bounds, or are
 * refused with one of its lines. */
#include "base/array.h"
#include "problem/launch.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t count_lines(const char *text)
{
    uint32_t count = 1;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void check_plan(const struct launch *launch, const struct launch_plan *plan)
{
    for (uint32_t i = 0; i < launch->call_count; i++) {
        const struct launch_numbers *numbers = &plan->calls[i];
        const uint32_t *block = numbers->block;
        for (int d = 0; d < 3; d++)
            if (numbers->grid[d] < 1 || block[d] < 1 || block[d] > 1024)
                abort();
        if (block[0] * block[1] * block[2] > 1024 ||
            launch->calls[i].argument_count > LAUNCH_ARGUMENTS)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char prototype[] =
        "void solution(const float *x, float *y, float alpha, size_t rows, size_t cols)";
    static const int64_t sizes[][2] = {{1, 1}, {3, 17}, {2048, INT64_MAX}};
    struct arena arena = {0};
    struct signature signature;
    struct err err = {0};
    uint32_t line;
    char *text = mem_copy(data, size);
    struct launch *launch = arena_alloc(&arena, sizeof *launch);
    if (signature_parse(&arena, prototype, &signature, &line, &err) < 0)
        abort();
    const char *fallback = size % 2 ? "grid=(rows) block=(32)" : NULL;
    if (launch_parse(&arena, &signature, text, fallback, launch, &line, &err) == 0) {
        if (!launch->call_count || launch->call_count > LAUNCH_CALLS)
            abort();
        for (size_t i = 0; i < COUNT(sizes); i++) {
            struct launch_plan plan;
            if (launch_evaluate(launch, sizes[i], &plan, &line, &err) == 0)
                check_plan(launch, &plan);
            else if (err.code != ERR_INPUT || line > count_lines(text))
                abort();
        }
    } else if (err.code != ERR_INPUT || err.text[0] == '\0' || line > count_lines(text)) {
        abort();
    }
    (void)launch_wanted(text, fallback);
    mem_free(text);
    arena_deinit(&arena);
    return 0;
}
