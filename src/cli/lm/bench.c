/* lm bench: how fast the engine trains and decodes, relative to the machine. */
#include "cli/cli.h"

#include "base/array.h"
#include "base/mem.h"
#include "cli/lm/bench_work.h"
#include "cli/lm/lm.h"
#include "cli/progress.h"
#include "judge/numeric/stats.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS_MAX 1000

struct arguments {
    struct cli_words batches;
    const char *config, *backend;
    int64_t threads, rounds, tokens, length, prompt, answer;
    bool train, json, quiet;
};

/* One line of the report: a rate per round, and its share of the machine's. */
struct figure {
    char name[48];
    const char *unit;
    double scale; /* of the unit */
    double values[ROUNDS_MAX];
    double shares[ROUNDS_MAX]; /* NULL if it is the machine's own rate */
    const char *of;            /* the rate that the share refers to; NULL: none */
};

struct report {
    struct lm_bench_plan plan;
    size_t rounds, count;
    struct figure figures[3 + LM_BENCH_BATCHES_MAX];
};

/* Ten million parameters: small enough for every machine, and larger than most caches. */
static const struct lm_config ten_million = {.family = LM_QWEN2,
                                             .vocab = 8192,
                                             .width = 384,
                                             .inner = 1024,
                                             .layers = 4,
                                             .heads = 6,
                                             .kv_heads = 6,
                                             .head_width = 64,
                                             .positions = 2048,
                                             .norm_epsilon = 1e-6F,
                                             .init_range = 0.02F,
                                             .rope = {.kind = LM_ROPE_DEFAULT, .theta = 10000},
                                             .tied = true,
                                             .qkv_bias = true,
                                             .begin_token = -1,
                                             .pad_token = -1};

static struct figure *add_figure(struct report *report, const char *unit, double scale,
                                 const char *of)
{
    struct figure *figure = &report->figures[report->count++];
    figure->unit = unit;
    figure->scale = scale;
    figure->of = of;
    return figure;
}

static void name_figures(struct report *report)
{
    struct figure *figure = add_figure(report, "GFLOP/s", 1e-9, NULL);
    snprintf(figure->name, sizeof figure->name, "products");
    figure = add_figure(report, "GB/s", 1e-9, NULL);
    snprintf(figure->name, sizeof figure->name, "reading");
    if (report->plan.train) {
        figure = add_figure(report, "tokens/s", 1, "products");
        snprintf(figure->name, sizeof figure->name, "training");
    }
    for (size_t i = 0; i < report->plan.batch_count; i++) {
        figure = add_figure(report, "tokens/s", 1, "reading");
        snprintf(figure->name, sizeof figure->name, "decoding %zu", report->plan.batches[i]);
    }
}

static void add_round(struct report *report, const struct lm_config *config,
                      const struct lm_bench_round *round)
{
    const struct lm_bench_plan *plan = &report->plan;
    struct figure *figure = report->figures;
    size_t at = report->rounds++;
    (figure++)->values[at] = round->product_flops;
    (figure++)->values[at] = round->read_bytes;
    if (plan->train) {
        figure->values[at] = round->train_tokens;
        figure->shares[at] = round->train_tokens * lm_bench_train_flops(config, plan->length) /
                             round->product_flops;
        figure++;
    }
    double positions = (double)plan->prompt + (double)plan->answer / 2;
    for (size_t i = 0; i < plan->batch_count; i++, figure++) {
        double steps = round->decode_tokens[i] / (double)plan->batches[i];
        figure->values[at] = round->decode_tokens[i];
        figure->shares[at] = steps * lm_bench_decode_bytes(config, plan->batches[i], positions) /
                             round->read_bytes;
    }
}

static struct table *report_table_of(const struct report *report)
{
    struct table *table = table_new("|>median|>quartiles||>share|");
    for (size_t i = 0; i < report->count; i++) {
        const struct figure *figure = &report->figures[i];
        struct summary value, share;
        stats_summary(figure->values, report->rounds, &value);
        stats_summary(figure->shares, report->rounds, &share);
        table_cell(table, STYLE_NONE, "%s", figure->name);
        table_cell(table, STYLE_STRONG, "%.1f", value.median * figure->scale);
        table_cell(table, STYLE_FAINT, "%.1f to %.1f", value.quartile1 * figure->scale,
                   value.quartile3 * figure->scale);
        table_cell(table, STYLE_NONE, "%s", figure->unit);
        if (figure->of)
            table_cell(table, STYLE_STRONG, "%.0f %%", share.median * 100);
        else
            table_cell(table, STYLE_NONE, "%s", "");
        table_cell(table, STYLE_FAINT, "%s%s", figure->of ? "of " : "",
                   figure->of ? figure->of : "");
    }
    return table;
}

static json_t *summary_json(const double *values, size_t count)
{
    struct summary summary;
    json_t *object = json_object();
    stats_summary(values, count, &summary);
    json_put(object, "median", json_number(summary.median));
    json_put(object, "quartile1", json_number(summary.quartile1));
    json_put(object, "quartile3", json_number(summary.quartile3));
    return object;
}

static json_t *report_json_of(const struct report *report, const struct lm_model *model)
{
    json_t *object = json_object(), *figures = json_array();
    json_put(object, "schema", json_integer(1));
    json_put(object, "backend", json_text(model->backend->name));
    json_put(object, "threads", json_integer((json_int_t)model->backend->threads));
    json_put(object, "parameters", json_integer((json_int_t)lm_model_count(model)));
    json_put(object, "config", lm_config_json(&model->config));
    json_put(object, "rounds", json_integer((json_int_t)report->rounds));
    for (size_t i = 0; i < report->count; i++) {
        const struct figure *figure = &report->figures[i];
        json_t *row = json_object();
        json_put(row, "name", json_text(figure->name));
        json_put(row, "unit", json_text(figure->scale == 1 ? figure->unit : figure->unit + 1));
        json_put(row, "rate", summary_json(figure->values, report->rounds));
        json_put(row, "share_of", json_text(figure->of));
        json_put(row, "share",
                 figure->of ? summary_json(figure->shares, report->rounds) : json_null());
        json_array_append_new(figures, row);
    }
    json_put(object, "figures", figures);
    return object;
}

static int open_model(const struct cli_words *models, const struct arguments *arguments,
                      struct lm_backend *backend, struct lm_model **out, struct err *err)
{
    const struct lm_model_options options = {.training = arguments->train ? LM_TRAIN_ALL
                                                                          : LM_FROZEN};
    struct lm_config config = ten_million;
    if (models->count > 0)
        return lm_model_open(out, models->items[0], backend, &options, err);
    int result = arguments->config ? lm_config_file(arguments->config, &config, err) : 0;
    return result < 0 ? result : lm_model_fresh(out, &config, backend, &options, err);
}

/* The first round warms up and does not count. */
static int run_rounds(const struct arguments *arguments, struct lm_bench *bench,
                      const struct lm_model *model, struct report *report, struct err *err)
{
    uint64_t rounds = (uint64_t)arguments->rounds;
    struct progress *progress = progress_new(STDERR_FILENO, "measuring", rounds + 1,
                                             arguments->quiet);
    struct lm_bench_round round = {0};
    int result = 0;
    for (uint64_t i = 0; i <= rounds && result == 0; i++) {
        result = cli_cancelled ? err_set(err, ERR_CANCELLED, "interrupted")
                               : lm_bench_round(bench, &round, err);
        if (result == 0 && i > 0)
            add_round(report, &model->config, &round);
        if (result == 0)
            progress_add(progress, true);
    }
    progress_free(progress);
    return result;
}

static int plan_of(const struct arguments *arguments, struct lm_bench_plan *plan, struct err *err)
{
    static const size_t usual[] = {1, 8, 32};
    *plan = (struct lm_bench_plan){.length = (size_t)arguments->length,
                                   .prompt = (size_t)arguments->prompt,
                                   .answer = (size_t)arguments->answer,
                                   .train = arguments->train};
    plan->tokens = (size_t)arguments->tokens / plan->length * plan->length;
    plan->tokens = plan->tokens > 0 ? plan->tokens : plan->length;
    if (arguments->batches.count > LM_BENCH_BATCHES_MAX)
        return err_set(err, ERR_INPUT, "--batch may be given %d times", LM_BENCH_BATCHES_MAX);
    for (size_t i = 0; i < arguments->batches.count; i++) {
        char *end;
        long batch = strtol(arguments->batches.items[i], &end, 10);
        if (*end || batch < 1 || batch > 4096)
            return err_set(err, ERR_INPUT, "--batch %.64s: must be a number from 1 to 4096",
                           arguments->batches.items[i]);
        plan->batches[plan->batch_count++] = (size_t)batch;
    }
    if (plan->batch_count == 0) {
        memcpy(plan->batches, usual, sizeof usual);
        plan->batch_count = COUNT(usual);
    }
    return 0;
}

static int measure(struct cli_call *call, const struct arguments *arguments, struct report *report,
                   struct err *err)
{
    struct lm_backend *backend = NULL;
    struct lm_model *model = NULL;
    struct lm_bench *bench = NULL;
    int result = lm_backend_open(&backend, arguments->backend, (size_t)arguments->threads, err);
    if (result == 0)
        result = open_model(&call->words, arguments, backend, &model, err);
    if (result == 0)
        result = lm_bench_open(&bench, model, &report->plan, err);
    if (result == 0) {
        if (!arguments->quiet)
            fprintf(stderr, "model of %.2f M parameters, backend %s, threads %zu\n",
                    (double)lm_model_count(model) * 1e-6, backend->name, backend->threads);
        result = run_rounds(arguments, bench, model, report, err);
    }
    if (result == 0 && arguments->json)
        cli_put_json(call, report_json_of(report, model));
    else if (result == 0)
        cli_put_table(call, report_table_of(report));
    lm_bench_close(bench);
    lm_model_close(model);
    lm_backend_close(backend);
    return result == ERR_CANCELLED ? EXIT_INTERRUPTED : result;
}

static int bench_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    struct report *report = mem_alloc(sizeof *report);
    int result;
    if (call->words.count == 1 && arguments->config) {
        result = cli_usage(call, "name %s", call->command->words.wanted);
    } else if (plan_of(arguments, &report->plan, err) < 0) {
        result = cli_usage(call, "%s", err->text);
    } else {
        cli_catch_signals();
        name_figures(report);
        result = measure(call, arguments, report, err);
    }
    mem_free(report);
    return result;
}

int lm_bench_main(struct cli_call *call)
{
    struct arguments arguments = {.backend = "cpu",
                                  .rounds = 7,
                                  .tokens = 2048,
                                  .length = 512,
                                  .prompt = 32,
                                  .answer = 64,
                                  .train = true};
    struct arguments *a = &arguments;
    const struct cli_option options[] = {
        OPTION_STRING(0, "config", &a->config, "CONFIG",
                      "a fresh model: a config.json, or a directory with one; 10 M parameters"),
        OPTION_STRING(0, "backend", &a->backend, "NAME", "cpu, or reference (slow)"),
        OPTION_INT('j', "threads", &a->threads, 1, 4096, "N", "threads; one for each core"),
        OPTION_INT('n', "rounds", &a->rounds, 1, ROUNDS_MAX, "N", "rounds that count; 7"),
        OPTION_GROUP("Training"),
        OPTION_FLAG(0, "train", &a->train, "train too; --no-train: decode only"),
        OPTION_INT('b', "batch-tokens", &a->tokens, 1, 1 << 24, "N", "tokens of a step; 2048"),
        OPTION_INT(0, "length", &a->length, 1, 1 << 20, "N", "tokens of one sequence; 512"),
        OPTION_GROUP("Decoding"),
        OPTION_LIST(0, "batch", &a->batches, "N",
                    "sequences together; 1, 8 and 32; may be repeated"),
        OPTION_INT(0, "prompt", &a->prompt, 1, 1 << 20, "N", "tokens of a prompt; 32"),
        OPTION_INT(0, "answer", &a->answer, 1, 1 << 20, "N", "tokens of an answer; 64"),
        OPTION_GROUP("Output"),
        OPTION_FLAG(0, "json", &a->json, "one JSON object instead of the table"),
        OPTION_FLAG('q', "quiet", &a->quiet, "no progress"),
        OPTION_END,
    };
    return cli_run(call, options, bench_run, &arguments);
}
