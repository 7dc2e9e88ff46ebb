/* Any bytes as problem.yaml: refused with a place, or a problem whose every promise holds. */
#include "base/file.h"
#include "problem/native.h"
#include "problem/problem.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 loses 4 KiB for a text like '''''''''''' (five quoted quotes and more). */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml\n";
}

static void check_sizes(const struct problem *problem, const struct size_set *sizes)
{
    struct layout layout;
    char text[512];
    if (problem_layout(problem, sizes, &layout, NULL) < 0 || layout.bytes % 4096 != 0 ||
        layout.count != problem->argument_count)
        abort();
    if (!(problem_flops(problem, sizes) >= 0) || !(problem_bytes(problem, sizes) >= 0))
        abort();
    problem_sizes_text(problem, sizes, text, sizeof text);
}

static void check_problem(const struct problem *problem)
{
    struct size_set sizes;
    struct layout layout;
    if (problem->argument_count == 0 || problem->check_count == 0 || problem->time_count == 0)
        abort();
    for (uint32_t i = 0; i < problem->check_count; i++)
        check_sizes(problem, &problem->check[i]);
    for (uint32_t i = 0; i < problem->time_count; i++)
        check_sizes(problem, &problem->time[i]);
    for (uint64_t seed = 0; seed < 4; seed++) {
        problem_draw_sizes(problem, seed, &sizes);
        (void)!problem_layout(problem, &sizes, &layout, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char path[] = "problems/fuzz/problem.yaml";
    struct problem problem;
    struct err err = {0};
    char *text = mem_copy(data, size);
    if (problem_parse_yaml(&problem, path, text, size, &err) == 0) {
        check_problem(&problem);
        problem_deinit(&problem);
    } else if (err.code != ERR_INPUT || strncmp(err.text, path, sizeof path - 1) != 0 ||
               file_check_text("error", err.text, strlen(err.text), NULL) < 0) {
        abort();
    }
    mem_free(text);
    return 0;
}
