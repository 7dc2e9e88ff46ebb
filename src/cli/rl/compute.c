/* rl compute: the mathematics of a step on files. */
#include "cli/cli.h"
#include "cli/rl/rows.h"
#include "gym/gym_settings.h"
#include "rl/library/library.h"
#include "rl/train/train_settings.h"

#include "base/array.h"
#include "base/mem.h"

#include <math.h>

struct compute {
    const char *metrics;
    int64_t step, wanted, rollouts;
    struct rows_reader reader;
    struct arena arena;
    struct warpgym_rl_result result;
    json_t *measured;
};

static void put_metric(void *context, const char *name, double value)
{
    json_put(context, name, json_number(value));
}

static void make_results(struct compute *compute)
{
    const size_t rows = compute->reader.rows.rows, tokens = compute->reader.rows.tokens;
    compute->measured = json_object();
    compute->result = (struct warpgym_rl_result){
        .returns = arena_alloc(&compute->arena, rows * sizeof(double)),
        .advantage = arena_alloc(&compute->arena, rows * sizeof(double)),
        .drop = arena_alloc(&compute->arena, rows * sizeof(uint32_t)),
        .kept = arena_alloc(&compute->arena, tokens),
        .importance = arena_alloc(&compute->arena, tokens * sizeof(double)),
        .weight = arena_alloc(&compute->arena, tokens * sizeof(double)),
        .token_advantage = arena_alloc(&compute->arena, tokens * sizeof(double)),
        .put = put_metric,
        .context = compute->measured,
    };
}

static json_t *list_numbers(const double *values, size_t from, size_t to)
{
    json_t *list = json_array();
    for (size_t i = from; i < to; i++)
        json_array_append_new(list, json_number(values[i]));
    return list;
}

static json_t *list_kept(const uint8_t *kept, size_t from, size_t to)
{
    json_t *list = json_array();
    for (size_t i = from; i < to; i++)
        json_array_append_new(list, json_boolean(kept[i]));
    return list;
}

static json_t *list_reasons(uint32_t drop)
{
    json_t *list = json_array();
    const char *name;
    for (size_t bit = 0; (name = warpgym_rl_word("drop", bit)); bit++)
        if (drop >> bit & 1)
            json_array_append_new(list, json_string(name));
    return list;
}

static void print_row(const struct compute *compute, size_t row)
{
    const struct warpgym_rl_rows *rows = &compute->reader.rows;
    const struct warpgym_rl_result *result = &compute->result;
    json_t *line = json_copy(json_array_get(compute->reader.named, row));
    json_put(line, "reward", json_number(rows->reward[row]));
    json_put(line, "return", json_number(result->returns[row]));
    json_put(line, "advantage", json_number(result->advantage[row]));
    json_put(line, "drop", list_reasons(result->drop[row]));
    if (rows->tokens > 0) {
        size_t from = (size_t)rows->offset[row], to = (size_t)rows->offset[row + 1];
        json_put(line, "kept", list_kept(result->kept, from, to));
        json_put(line, "importance", list_numbers(result->importance, from, to));
        json_put(line, "weights", list_numbers(result->weight, from, to));
        json_put(line, "token_advantages", list_numbers(result->token_advantage, from, to));
    }
    cli_print_json(line);
}

static int compute_rows(struct compute *compute, const struct settings *settings, struct err *err)
{
    const struct train_settings *train = train_settings(settings);
    const struct gym_settings *gym = gym_settings(settings);
    const struct rl_plan plan = {(size_t)train->prompts, (size_t)train->samples,
                                 (size_t)gym->turns};
    struct rl_library_options options;
    int result = rl_library_options_take(&options, method_settings(settings),
                                         gym->gamma.given ? gym->gamma.value : NAN, &plan, err);
    if (result < 0)
        return result;
    options.seed = (uint64_t)train->seed;
    options.step = (uint64_t)compute->step;
    options.wanted = (size_t)compute->wanted;
    options.method.rollouts = (size_t)compute->rollouts;
    make_results(compute);
    return rl_library_step(&compute->reader.rows, &options, &compute->result, err);
}

static int write_results(const struct compute *compute, struct err *err)
{
    if (isfinite(compute->result.kl))
        json_put(compute->measured, "policy/kl_base", json_number(compute->result.kl));
    if (compute->metrics) {
        int result = json_file_write(compute->metrics, compute->measured, true, err);
        if (result < 0)
            return result;
    }
    for (size_t row = 0; row < compute->reader.rows.rows; row++)
        print_row(compute, row);
    return EXIT_PASSED;
}

static int compute_run(struct cli_call *call, void *arguments, struct err *err)
{
    struct compute *compute = arguments;
    const struct settings *settings = &call->settings;
    int result = 0;
    rows_open(&compute->reader, gym_reward(settings),
              coverage_names[gym_settings(settings)->coverage]);
    for (size_t i = 0; i < call->words.count && result == 0; i++)
        result = rows_read(&compute->reader, call->words.items[i], err);
    if (result == 0)
        result = rows_finish(&compute->reader, err);
    if (result == 0)
        result = compute_rows(compute, settings, err);
    if (result == 0)
        result = write_results(compute, err);
    json_decref(compute->measured);
    rows_close(&compute->reader);
    arena_deinit(&compute->arena);
    return result;
}

int rl_compute_main(struct cli_call *call)
{
    struct compute compute = {0};
    const struct cli_option options[] = {
        OPTION_INT(0, "step", &compute.step, 0, 1e15, "N",
                   "number of the step: with train.seed it decides draws"),
        OPTION_INT(0, "wanted", &compute.wanted, 0, 1e9, "N",
                   "prompts that stay, the most complete ones; 0: all"),
        OPTION_INT(0, "rollouts", &compute.rollouts, 0, 1e9, "N",
                   "rollouts of a prompt that stay (train.surplus); 0: all"),
        OPTION_STRING(0, "metrics", &compute.metrics, "FILE",
                      "write the step's metrics there, as a JSON object"),
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, compute_run, &compute);
}
