/* lm train: `warpgym lm train`: fine-tunes a model on conversations, or trains a fresh one. */
#include "cli/cli.h"

#include "base/array.h"
#include "base/limits.h"
#include "cli/lm/lm.h"
#include "cli/progress.h"
#include "lm/tokenizer/chat.h"
#include "lm/train/sft.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RATE_ALL 1e-5
#define RATE_ADAPTER 1e-4
#define RATE_FRESH 1e-3

/* Words of options, by the enum that each stands for. */
enum { STYLE_AUTO = CHAT_PLAIN + 1 };
static const char *const style_names[] = {[CHAT_QWEN2] = "qwen2",
                                          [CHAT_QWEN3] = "qwen3",
                                          [CHAT_PLAIN] = "plain",
                                          [STYLE_AUTO] = "auto",
                                          NULL};
static const char *const schedule_names[] = {WORD_NAMES(LM_SCHEDULES)};
static const char *const too_long_names[] = {
    [DATASET_CUT] = "cut", [DATASET_DROP] = "drop", [DATASET_SPLIT] = "split", NULL};
static_assert(COUNT(style_names) == STYLE_AUTO + 2 && COUNT(too_long_names) == DATASET_SPLIT + 2,
              "each value has its word, and NULL ends each list");

struct arguments {
    struct cli_words data, evaluations, targets;
    const char *model; /* NULL: fresh */
    const char *out, *fresh, *tokenizer, *backend;
    int64_t lora, epochs, steps, warmup, seed, threads;
    int64_t step_tokens, pass_tokens, max_tokens, checkpoint_every, evaluate_every, keep;
    double alpha, rate, floor, clip, decay;
    int schedule, too_long, style;
    bool recompute, thinking, quiet;
};

/* The parts of a run, in the order in which they are opened. */
struct training {
    const struct arguments *arguments;
    const char *tokenizer_directory;
    struct lm_backend *backend;
    struct lm_model *model;
    struct tokenizer *tokenizer;
    struct dataset *data, *evaluation;
    struct progress *progress;
    double loss, evaluation_loss;
    uint64_t began, step, tokens;
    char saved[1024], exported[1024];
};

static void progress_show_loss(struct training *training, const struct sft_event_info *event)
{
    char text[128];
    int used = snprintf(text, sizeof text, "loss %.4f", training->loss);
    if (!isnan(training->evaluation_loss))
        used += snprintf(text + used, sizeof text - (size_t)used, " (evaluation %.4f)",
                         training->evaluation_loss);
    if (event->tokens_per_s > 0)
        snprintf(text + used, sizeof text - (size_t)used, ", %.0f tokens/s", event->tokens_per_s);
    progress_note(training->progress, text);
}

static void on_sft_event(void *context, const struct sft_event_info *event)
{
    struct training *training = context;
    training->step = event->step;
    switch (event->event) {
    case SFT_BEGAN:
        training->began = event->step;
        training->progress = progress_new(STDERR_FILENO, "training", event->steps,
                                          training->arguments->quiet);
        for (uint64_t step = 0; step < event->step; step++)
            progress_found(training->progress, true);
        break;
    case SFT_STEPPED:
        training->loss = event->loss;
        training->tokens += event->tokens;
        progress_show_loss(training, event);
        progress_add(training->progress, !event->skipped);
        break;
    case SFT_EVALUATED:
        training->evaluation_loss = event->evaluation_loss;
        progress_show_loss(training, event);
        break;
    case SFT_SAVED:
        snprintf(training->saved, sizeof training->saved, "%s", event->path);
        break;
    case SFT_EXPORTED:
        snprintf(training->exported, sizeof training->exported, "%s", event->path);
        break;
    }
}

static void say_what(const struct training *training)
{
    const struct arguments *arguments = training->arguments;
    struct dataset_stats stats = dataset_stats(training->data);
    if (arguments->quiet)
        return;
    fprintf(stderr,
            "model of %.2f M parameters, %.2f M of them trained; %zu examples, %" PRIu64
            " tokens, %" PRIu64 " of them targets",
            (double)lm_model_count(training->model) * 1e-6,
            (double)lm_model_trained(training->model) * 1e-6, stats.count, stats.rows,
            stats.targets);
    if (stats.cut > 0)
        fprintf(stderr, "; %zu exceeded --max-tokens", stats.cut);
    if (stats.dropped > 0)
        fprintf(stderr, "; %zu dropped", stats.dropped);
    fprintf(stderr, "\n");
}

static int say_interrupted(const struct training *training)
{
    fprintf(stderr,
            "warpgym: interrupted; step %" PRIu64
            " is in %s; the same command resumes from there\n",
            training->step, training->saved);
    return EXIT_INTERRUPTED;
}

static void put_result(struct cli_call *call, const struct training *training)
{
    struct buf *out = &call->out;
    if (training->step == training->began)
        buf_printf(out, "all %" PRIu64 " steps were done already", training->step);
    else
        buf_printf(out, "%" PRIu64 " steps, %" PRIu64 " tokens, loss %.4f",
                   training->step - training->began, training->tokens, training->loss);
    if (!isnan(training->evaluation_loss))
        buf_printf(out, ", evaluation %.4f", training->evaluation_loss);
    buf_printf(out, "\n%s\n", training->exported);
}

static int targets_of(const struct cli_words *names, uint32_t *targets, struct err *err)
{
    *targets = names->count > 0 ? 0 : (1U << LM_LORA_TARGET_COUNT) - 1;
    for (size_t i = 0; i < names->count; i++) {
        uint32_t found = 0;
        for (int t = 0; t < LM_LORA_TARGET_COUNT; t++)
            if (strcmp(lm_lora_target_name(t), names->items[i]) == 0)
                found = 1U << t;
        if (!found)
            return err_set(err, ERR_INPUT,
                           "--target %.64s: choose from q_proj, k_proj, v_proj, o_proj, "
                           "gate_proj, up_proj, down_proj",
                           names->items[i]);
        *targets |= found;
    }
    return 0;
}

/* If the config names no token that ends a text, the model gets those that end the examples. */
static void add_stops(struct lm_config *config, const struct tokenizer *tokenizer)
{
    static const char *const ends[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<|im_end|>"};
    if (config->stop_count > 0)
        return;
    for (size_t i = 0; i < COUNT(ends); i++) {
        int32_t id = tokenizer_id(tokenizer, ends[i]);
        if (id >= 0 && (size_t)id < config->vocab)
            config->stop_tokens[config->stop_count++] = id;
    }
}

static int open_model(struct training *training, struct err *err)
{
    const struct arguments *arguments = training->arguments;
    struct lm_model_options options = {
        .training = arguments->lora > 0 ? LM_TRAIN_ADAPTER : LM_TRAIN_ALL,
        .lora = {.rank = (size_t)arguments->lora,
                 .alpha = arguments->alpha > 0 ? arguments->alpha : 2 * (double)arguments->lora},
        .seed = (uint64_t)arguments->seed};
    struct lm_config config;
    const char *base = arguments->model ? arguments->model : arguments->fresh;
    int result = targets_of(&arguments->targets, &options.lora.targets, err);
    snprintf(options.lora.base_model, sizeof options.lora.base_model, "%s", base);
    if (result == 0)
        result = lm_backend_open(&training->backend, arguments->backend, (size_t)arguments->threads,
                                 err);
    if (result == 0 && !arguments->fresh)
        return lm_model_open(&training->model, base, training->backend, &options, err);
    if (result == 0)
        result = lm_config_file(arguments->fresh, &config, err);
    if (result == 0) {
        add_stops(&config, training->tokenizer);
        result = lm_model_fresh(&training->model, &config, training->backend, &options, err);
    }
    return result;
}

static int open_data(struct training *training, struct err *err)
{
    const struct arguments *arguments = training->arguments;
    struct dataset_options options = dataset_defaults;
    int result = 0;
    if (tokenizer_size(training->tokenizer) > training->model->config.vocab)
        result = err_set(err, ERR_INPUT,
                         "%s: the tokenizer has %zu tokens, the model only %zu: they do not belong "
                         "together",
                         training->tokenizer_directory, tokenizer_size(training->tokenizer),
                         training->model->config.vocab);
    options.style = (enum chat_style)arguments->style;
    if (result == 0 && arguments->style == STYLE_AUTO)
        result = chat_style_of(training->tokenizer_directory, &options.style, err);
    options.thinking = arguments->thinking;
    options.max_tokens = (size_t)arguments->max_tokens;
    if (options.max_tokens > training->model->positions)
        options.max_tokens = training->model->positions;
    options.too_long = (enum dataset_long)arguments->too_long;
    options.seed = (uint64_t)arguments->seed;
    if (result == 0)
        result = dataset_open(&training->data, arguments->data.items, arguments->data.count,
                              training->tokenizer, &options, err);
    if (result == 0 && arguments->evaluations.count > 0)
        result = dataset_open(&training->evaluation, arguments->evaluations.items,
                              arguments->evaluations.count, training->tokenizer, &options, err);
    return result;
}

static void training_close(struct training *training)
{
    progress_free(training->progress);
    dataset_close(training->evaluation);
    dataset_close(training->data);
    tokenizer_close(training->tokenizer);
    lm_model_close(training->model);
    lm_backend_close(training->backend);
}

static double rate_of(const struct arguments *arguments)
{
    if (arguments->rate > 0)
        return arguments->rate;
    return arguments->lora > 0 ? RATE_ADAPTER : arguments->fresh ? RATE_FRESH : RATE_ALL;
}

/* The rest of what the numbers depend on: a run resumes only with the same. */
static json_t *configuration_of(const struct training *training)
{
    const struct arguments *arguments = training->arguments;
    const struct lm_lora *lora = &training->model->lora;
    json_t *object = json_object();
    json_put(object, "model", json_text(arguments->model));
    json_put(object, "config", lm_config_json(&training->model->config));
    json_put(object, "lora", lora->rank > 0 ? lm_adapter_json(lora) : json_null());
    json_put(object, "seed", json_integer(arguments->seed));
    return object;
}

static int fine_tune(struct training *training, struct err *err)
{
    const struct arguments *arguments = training->arguments;
    struct sft_options options = sft_defaults;
    json_t *configuration = configuration_of(training);
    options.directory = arguments->out;
    options.steps = (uint64_t)arguments->steps;
    options.epochs = (uint64_t)arguments->epochs;
    options.step_tokens = (size_t)arguments->step_tokens;
    options.batch_tokens = (size_t)arguments->pass_tokens;
    options.recompute = arguments->recompute;
    options.schedule = (enum lm_schedule)arguments->schedule;
    options.warmup = (uint64_t)arguments->warmup;
    options.floor = arguments->floor;
    options.adam.rate = rate_of(arguments);
    options.adam.decay = arguments->decay;
    options.adam.clip = arguments->clip;
    options.checkpoint_every = (uint64_t)arguments->checkpoint_every;
    options.evaluate_every = (uint64_t)arguments->evaluate_every;
    options.keep = (uint64_t)arguments->keep;
    options.configuration = configuration;
    options.sidecars = training->tokenizer_directory;
    options.cancelled = &cli_cancelled;
    options.on_event = on_sft_event;
    options.context = training;
    int result = sft_run(training->model, training->data, training->evaluation, &options, err);
    json_decref(configuration);
    return result;
}

static const char *what_is_missing(const struct arguments *arguments)
{
    if (!arguments->model && !arguments->fresh)
        return "name the directory of a model, or --fresh CONFIG.json for a new one";
    if (arguments->model && arguments->fresh)
        return "a model directory and --fresh exclude each other";
    if (arguments->fresh && !arguments->tokenizer)
        return "--fresh needs --tokenizer DIR (`warpgym lm tokenizer` makes one)";
    if (arguments->fresh && arguments->lora > 0)
        return "--lora needs a model to adapt, not --fresh";
    if (arguments->data.count == 0)
        return "--data is missing";
    return arguments->out ? NULL : "--out is missing";
}

static int lm_train_run(struct cli_call *call, void *context, struct err *err)
{
    struct arguments *arguments = context;
    struct training training = {.arguments = arguments, .evaluation_loss = NAN};
    arguments->model = call->words.count > 0 ? call->words.items[0] : NULL;
    const char *missing = what_is_missing(arguments);
    if (missing)
        return cli_usage(call, "%s", missing);
    training.tokenizer_directory = arguments->tokenizer ? arguments->tokenizer : arguments->model;
    int result = tokenizer_open(&training.tokenizer, training.tokenizer_directory, err);
    if (result == 0)
        result = open_model(&training, err);
    if (result == 0)
        result = open_data(&training, err);
    if (result == 0) {
        say_what(&training);
        cli_catch_signals();
        result = fine_tune(&training, err);
    }
    progress_free(training.progress);
    training.progress = NULL;
    if (result == 0)
        put_result(call, &training);
    else if (result == ERR_CANCELLED)
        result = say_interrupted(&training);
    training_close(&training);
    return result;
}

int lm_train_main(struct cli_call *call)
{
    struct arguments arguments = {.backend = "cpu",
                                  .epochs = (int64_t)sft_defaults.epochs,
                                  .step_tokens = (int64_t)sft_defaults.step_tokens,
                                  .pass_tokens = (int64_t)sft_defaults.batch_tokens,
                                  .max_tokens = (int64_t)dataset_defaults.max_tokens,
                                  .checkpoint_every = (int64_t)sft_defaults.checkpoint_every,
                                  .keep = (int64_t)sft_defaults.keep,
                                  .floor = sft_defaults.floor,
                                  .clip = sft_defaults.adam.clip,
                                  .decay = sft_defaults.adam.decay,
                                  .schedule = sft_defaults.schedule,
                                  .style = STYLE_AUTO};
    struct arguments *a = &arguments;
    const struct cli_option options[] = {
        OPTION_LIST('d', "data", &a->data, "FILE",
                    "JSONL of {\"messages\"}, {\"prompt\", \"completion\"} or {\"text\"}; may be "
                    "repeated"),
        OPTION_LIST(0, "eval", &a->evaluations, "FILE",
                    "the same, for a loss on data that is not trained on; may be repeated"),
        OPTION_STRING('o', "out", &a->out, "DIR",
                      "the run's directory; an existing run is resumed"),
        OPTION_GROUP("What is trained"),
        OPTION_STRING(0, "fresh", &a->fresh, "CONFIG",
                      "a new model: a config.json, or a directory with one"),
        OPTION_STRING(0, "tokenizer", &a->tokenizer, "DIR",
                      "the tokenizer; default: the model's own"),
        OPTION_INT(0, "lora", &a->lora, 1, LIMIT_LM_RANK, "RANK",
                   "an adapter of that rank instead of all parameters"),
        OPTION_FLOAT(0, "alpha", &a->alpha, 1e-6, 1e6, "A", "the adapter's alpha; twice its rank"),
        OPTION_LIST(0, "target", &a->targets, "NAME",
                    "layers that get an adapter, such as q_proj; default all; may be repeated"),
        OPTION_INT(0, "seed", &a->seed, 0, INT64_MAX / 1024, "N",
                   "for fresh parameters and the order of the examples; 0"),
        OPTION_GROUP("Examples"),
        OPTION_CHOICE(0, "style", &a->style, style_names, "NAME",
                      "the chat format: plain is ChatML alone, auto the tokenizer's own; auto"),
        OPTION_FLAG(0, "thinking", &a->thinking, "qwen3: answers with thinking blocks"),
        OPTION_INT(0, "max-tokens", &a->max_tokens, 1, LIMIT_LM_POSITIONS, "N",
                   "of one example; 2048, at most the model's"),
        OPTION_CHOICE(0, "too-long", &a->too_long, too_long_names, "WHAT",
                      "what to do with longer ones (split: only of {\"text\"}); cut"),
        OPTION_GROUP("How"),
        OPTION_INT(0, "epochs", &a->epochs, 1, 1000000, "N", "times through the data; 1"),
        OPTION_INT(0, "steps", &a->steps, 1, 100000000, "N", "steps, instead of epochs"),
        OPTION_INT('b', "batch-tokens", &a->step_tokens, 1, 100000000, "N",
                   "tokens of a step; 8192"),
        OPTION_INT(0, "pass-tokens", &a->pass_tokens, 1, 100000000, "N",
                   "tokens computed at once, which bounds memory; 2048, or the longest example"),
        OPTION_FLAG(0, "recompute", &a->recompute,
                    "recompute each layer in the backward pass: less memory, same bits"),
        OPTION_FLOAT('r', "rate", &a->rate, 1e-12, 1, "R",
                     "learning rate at its peak; 1e-5, with --lora 1e-4, with --fresh 1e-3"),
        OPTION_CHOICE(0, "schedule", &a->schedule, schedule_names, "NAME",
                      "of the rate, after the warmup; cosine"),
        OPTION_INT(0, "warmup", &a->warmup, 0, 100000000, "N", "steps to the peak; 0"),
        OPTION_FLOAT(0, "floor", &a->floor, 0, 1, "F", "final fraction of the rate; 0.1"),
        OPTION_FLOAT(0, "decay", &a->decay, 0, 10, "D", "weight decay of matrices; 0.01"),
        OPTION_FLOAT(0, "clip", &a->clip, 0, 1e9, "C",
                     "bound of the gradient's norm; 1, 0 for none"),
        OPTION_STRING(0, "backend", &a->backend, "NAME", "cpu, or reference (slow)"),
        OPTION_INT('j', "threads", &a->threads, 1, 4096, "N", "threads; one for each core"),
        OPTION_GROUP("Output"),
        OPTION_INT(0, "checkpoint-every", &a->checkpoint_every, 0, 100000000, "N",
                   "steps; 100, 0 for only the last one"),
        OPTION_INT(0, "keep", &a->keep, 1, 1000000, "N", "checkpoints kept, the newest; 2"),
        OPTION_INT(0, "evaluate-every", &a->evaluate_every, 0, 100000000, "N", "steps; at the end"),
        OPTION_FLAG('q', "quiet", &a->quiet, "no progress"),
        OPTION_END,
    };
    return cli_run(call, options, lm_train_run, &arguments);
}
