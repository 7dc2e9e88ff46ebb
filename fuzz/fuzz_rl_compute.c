/* `warpgym rl compute` on any bytes: the first ones choose settings, the others are the file. It is
 * refused with its place, or every row has its results, and what is dropped is not trained on. */
#include "base/array.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/rl/rows.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 32
#define SETTING_BYTES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const lists[] = {"method", "estimator", "importance", "aggregation"};

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_metric(void *context, const char *name, double value)
{
    (void)context, (void)value;
    check(*name != '\0');
}

static void check_results(const struct warpgym_rl_rows *rows,
                          const struct warpgym_rl_result *result)
{
    for (size_t row = 0; row < rows->rows; row++) {
        check(!isnan(result->advantage[row]));
        check(!result->drop[row] || result->advantage[row] == 0);
    }
    for (size_t token = 0; token < rows->tokens; token++) {
        check(result->kept[token] <= 1);
        check(result->kept[token] || result->token_advantage[token] == 0);
    }
}

/* "estimator=gae": the word of the list that the byte chooses. */
static void choose(const char *list, uint8_t byte, char text[SETTING_BYTES])
{
    size_t count = 0;
    while (warpgym_rl_word(list, count))
        count++;
    check(count > 0);
    snprintf(text, SETTING_BYTES, "%s=%s", list, warpgym_rl_word(list, byte % count));
}

static void compute(const struct warpgym_rl_rows *rows, const char *const *settings)
{
    struct arena arena = {0};
    struct warpgym_rl_error error = {.text = ""};
    const struct warpgym_rl_options options = {.settings = settings, .gamma = NAN, .seed = 1};
    struct warpgym_rl_result result = {
        .returns = arena_alloc(&arena, rows->rows * sizeof(double)),
        .advantage = arena_alloc(&arena, rows->rows * sizeof(double)),
        .drop = arena_alloc(&arena, rows->rows * sizeof(uint32_t)),
        .kept = arena_alloc(&arena, rows->tokens),
        .token_advantage = arena_alloc(&arena, rows->tokens * sizeof(double)),
        .put = check_metric,
    };
    if (warpgym_rl_step(rows, &options, &result, &error) == 0)
        check_results(rows, &result);
    else
        check(*error.text != '\0');
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct rows_reader reader;
    char path[PATH_BYTES], words[COUNT(lists)][SETTING_BYTES];
    const char *settings[COUNT(lists) + 1] = {NULL};
    if (size < COUNT(lists))
        return 0;
    for (size_t i = 0; i < COUNT(lists); i++) {
        choose(lists[i], data[i], words[i]);
        settings[i] = words[i];
    }
    int fd = file_memory_from("fuzz", data + COUNT(lists), size - COUNT(lists), &err);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rows_open(&reader, "drkernel", "time");
    int result = rows_read(&reader, path, &err);
    if (result == 0)
        result = rows_finish(&reader, &err);
    if (result == 0)
        compute(&reader.rows, settings);
    else
        check(strncmp(err.text, path, strlen(path)) == 0 || strstr(err.text, "no row"));
    rows_close(&reader);
    close(fd);
    return 0;
}
