/* A step of a trainer that is not ours: warpgym_rl_step. */
#include "rl/library/library.h"

#include "base/array.h"

#include <math.h>
#include <string.h>

/* What a method takes, and a caller has not given. */
static int check_given(const struct warpgym_rl_rows *rows, const struct rl_library_options *options,
                       struct err *err)
{
    const struct rl_method *method = &options->method;
    bool ratios = method->bounds.level != RL_NO_LEVEL || method->bounds.veto > 0 ||
                  method->importance != RL_NO_LEVEL || method->gates.shift > 0;
    const enum rl_baseline baseline = method->estimator->baseline;
    bool scores = rl_method_needs_scores(method), greedy = baseline == RL_BASELINE_GREEDY;
    const struct {
        bool needed;
        const void *given;
        const char *name, *by;
    } rows_needed[] = {
        {ratios, rows->trained, "trained", "bounds_level, veto and importance compare"},
        {ratios, rows->sampled, "sampled", "bounds_level, veto and importance compare"},
        {options->kl > 0, rows->sampled, "sampled", "kl compares"},
        {options->kl > 0, rows->base, "base", "kl compares"},
        {method->coverage.enabled, rows->coverage, "coverage", "coverage rejection looks at"},
        {method->coverage.enabled && !method->coverage.every_turn, rows->correct, "correct",
         "coverage rejection (of correct turns) looks at"},
        {method->gates.instability > 0, rows->sampled, "sampled", "gate_instability looks at"},
        {method->gates.instability > 0 && !rows->collision, rows->top, "top",
         "gate_instability looks at"},
        {method->returns.bonus > 0 || method->returns.penalty > 0, rows->correct, "correct",
         "success_bonus and failure_penalty look at"},
        {scores, rows->trained, "trained", "an optimal baseline weighs by"},
        {scores, rows->collision, "collision", "an optimal baseline weighs by"},
        {greedy, rows->baseline, "baseline", "remax compares with"},
    };
    for (size_t i = 0; i < COUNT(rows_needed); i++)
        if (rows_needed[i].needed && !rows_needed[i].given)
            return err_set(err, ERR_INPUT, "%s '%s', which is not given", rows_needed[i].by,
                           rows_needed[i].name);
    if (rows->baseline && !greedy && baseline != RL_BASELINE_GIVEN)
        return err_set(err, ERR_INPUT,
                       "a baseline is given, but the estimator '%s' has its own; leave it out, or "
                       "take estimator=return or remax",
                       method->estimator->name);
    if (rows->tokens == 0 && (rows->mask || rows->trained || rows->sampled || rows->base ||
                              rows->collision || rows->value || rows->top))
        return err_set(err, ERR_INPUT, "an array of tokens is given, but their number is 0");
    return 0;
}

/* The caller's row at each place, or its tokens, for one array. */
struct scatter {
    const struct warpgym_rl_rows *rows;
    const struct rl_order *order;
    const struct rl_batch *batch;
};

static void scatter_rows(const struct scatter *scatter, const double *from, double *to)
{
    for (size_t at = 0; to && at < scatter->batch->rows; at++)
        to[scatter->order->row[at]] = from[at];
}

static void scatter_tokens(const struct scatter *scatter, const double *from, double *to)
{
    const struct rl_batch *batch = scatter->batch;
    for (size_t at = 0; to && scatter->rows->tokens > 0 && at < batch->rows; at++) {
        double *row = to + rl_row_begin(scatter->rows, scatter->order->row[at]);
        size_t count = batch->first[at + 1] - batch->first[at];
        memcpy(row, from + batch->first[at], count * sizeof *row);
    }
}

static void write_decisions(const struct scatter *scatter, struct warpgym_rl_result *result)
{
    const struct rl_batch *batch = scatter->batch;
    for (size_t at = 0; at < batch->rows; at++) {
        size_t row = scatter->order->row[at], begin = batch->first[at];
        if (result->drop)
            result->drop[row] = batch->drop[at];
        for (size_t i = begin;
             result->kept && scatter->rows->tokens > 0 && i < batch->first[at + 1]; i++)
            result->kept[rl_row_begin(scatter->rows, row) + i - begin] = batch->drop[at] == 0 &&
                                                                         batch->mask[i];
    }
}

/* The rest of a call, once there is a batch. */
static int compute(struct rl_batch *batch, struct arena *arena, const struct scatter *scatter,
                   const struct rl_library_options *options, struct warpgym_rl_result *result,
                   struct err *err)
{
    const struct warpgym_rl_rows *rows = scatter->rows;
    struct rl_step_report report;
    struct rl_method method = options->method;
    double *advantage = arena_alloc(arena, (batch->tokens + 1) * sizeof *advantage);
    double *weight = arena_alloc(arena, (batch->tokens + 1) * sizeof *weight);
    double *baseline = arena_alloc(arena, batch->rows * sizeof *baseline);
    for (size_t at = 0; rows->baseline && at < batch->rows; at++)
        baseline[at] = rows->baseline[scatter->order->row[at]];
    method.advantage.baseline = rows->baseline ? baseline : NULL;
    for (size_t i = 0; i < batch->tokens; i++)
        batch->weight[i] = 1;
    rl_method_reject(batch, &method, options->seed, options->step, &report);
    int status = rl_method_weigh(batch, &method, options->wanted, options->seed, options->step,
                                 advantage, err);
    if (status < 0)
        return status;
    rl_token_weights(batch, &method.normalisation, weight);
    result->kl = NAN;
    if (options->kl > 0)
        result->kl = rl_kl_penalty(batch,
                                   rl_order_floats(batch, arena, rows, scatter->order, rows->base),
                                   options->kl, options->kl_discount, weight, advantage);
    scatter_rows(scatter, batch->returns, result->returns);
    scatter_rows(scatter, batch->advantage, result->advantage);
    scatter_tokens(scatter, batch->weight, result->importance);
    scatter_tokens(scatter, weight, result->weight);
    scatter_tokens(scatter, advantage, result->token_advantage);
    write_decisions(scatter, result);
    if (result->put)
        rl_step_report_put(&report, rows->trained && rows->sampled, result->put, result->context);
    return 0;
}

int rl_library_step(const struct warpgym_rl_rows *rows, const struct rl_library_options *options,
                    struct warpgym_rl_result *result, struct err *err)
{
    struct arena arena = {0};
    struct rl_order order;
    struct rl_batch batch;
    const struct scatter scatter = {rows, &order, &batch};
    int status = rl_order_find(&order, &arena, rows, err);
    if (status == 0)
        status = check_given(rows, options, err);
    if (status == 0)
        status = rl_batch_read(&batch, &arena, rows, &order, err);
    if (status == 0)
        status = compute(&batch, &arena, &scatter, options, result, err);
    arena_deinit(&arena);
    return status;
}

int warpgym_rl_step(const struct warpgym_rl_rows *rows, const struct warpgym_rl_options *options,
                    struct warpgym_rl_result *result, struct warpgym_rl_error *error)
{
    static const struct warpgym_rl_options standard = {.gamma = NAN};
    struct rl_library_options taken;
    struct settings settings;
    struct err err;
    options = options ? options : &standard;
    const struct rl_plan plan = {options->prompts, options->samples, options->turns};
    int status = rl_library_settings(&settings, options->settings, &err);
    if (status == 0)
        status = rl_library_options_take(&taken, method_settings(&settings), options->gamma, &plan,
                                         &err);
    if (status == 0) {
        taken.seed = options->seed;
        taken.step = options->step;
        taken.wanted = options->wanted;
        taken.method.rollouts = options->rollouts;
        status = rl_library_step(rows, &taken, result, &err);
    }
    settings_deinit(&settings);
    return rl_library_status(status, &err, error);
}
