#include "rl/train/finetune.h"

#include "base/limits.h"
#include "base/mem.h"
#include "rl/train/train_guard.h"

#include <math.h>
#include <string.h>

#define FILES_MOST 64

/* The datums of one step. */
struct plan {
    struct lm_datum *datums;
    size_t count, capacity;
};

/* The step that begins at the position, which moves on: up to train.sft_tokens; a longer example
 * makes a step of its own, and an epoch's end ends the step. */
static void make_plan(const struct finetune *finetune, struct dataset_place *place,
                      struct plan *plan)
{
    size_t rows = 0;
    uint64_t epoch = place->epoch;
    plan->count = 0;
    while (place->epoch == epoch) {
        struct dataset_place before = *place;
        struct lm_datum datum;
        dataset_next(finetune->data, place, &datum);
        rows += datum.count;
        if (plan->count > 0 && rows > (size_t)finetune->settings->train_sft_tokens) {
            *place = before;
            break;
        }
        if (plan->count == plan->capacity) {
            plan->capacity = 2 * plan->capacity + 16;
            plan->datums = mem_resize(plan->datums, plan->capacity * sizeof *plan->datums);
        }
        plan->datums[plan->count++] = datum;
    }
}

static uint64_t count_steps(const struct finetune *finetune)
{
    struct dataset_place position = {0};
    struct plan plan = {0};
    uint64_t steps = 0;
    while (position.epoch < (uint64_t)finetune->settings->train_sft_epochs &&
           steps < LIMIT_LM_STEPS) {
        make_plan(finetune, &position, &plan);
        steps++;
    }
    mem_free(plan.datums);
    return steps;
}

/* The files of a colon-separated list, with a NULL after them. */
static int split_paths(const char *text, struct arena *arena, const char **files, size_t *count,
                       struct err *err)
{
    for (*count = 0; *text; text += *text == ':') {
        size_t length = strcspn(text, ":");
        if (*count == FILES_MOST)
            return err_set(err, ERR_LIMIT, "more than %d files", FILES_MOST);
        if (length > 0)
            files[(*count)++] = arena_strndup(arena, text, length);
        text += length;
    }
    return 0;
}

static int open_data(struct finetune *finetune, const char *directory, struct err *err)
{
    const struct settings *settings = finetune->settings;
    struct dataset_options options = dataset_defaults;
    const char *files[FILES_MOST];
    struct arena arena = {0};
    size_t count;
    options.thinking = settings->train_thinking;
    options.seed = (uint64_t)settings->train_seed;
    options.max_tokens = (size_t)settings->train_sft_max_tokens;
    if (settings->train_context > 0 && settings->train_context < settings->train_sft_max_tokens)
        options.max_tokens = (size_t)settings->train_context;
    int result = split_paths(settings->train_sft_data, &arena, files, &count, err);
    if (result == 0)
        result = chat_style_of(directory, &options.style, err);
    if (result == 0)
        result = dataset_open(&finetune->data, files, count, finetune->tokenizer, &options, err);
    arena_deinit(&arena);
    return result;
}

int finetune_open(struct finetune *finetune, const struct settings *settings, struct err *err)
{
    const char *directory = settings->train_tokenizer[0] ? settings->train_tokenizer
                                                         : settings->train_model;
    *finetune = (struct finetune){.settings = settings};
    if (!settings->train_sft_data[0])
        return 0;
    int result = tokenizer_open(&finetune->tokenizer, directory, err);
    if (result == 0)
        result = open_data(finetune, directory, err);
    if (result < 0) {
        finetune_close(finetune);
        return err_prefix(err, "train.sft_data");
    }
    finetune->steps = count_steps(finetune);
    return 0;
}

void finetune_close(struct finetune *finetune)
{
    dataset_close(finetune->data);
    tokenizer_close(finetune->tokenizer);
    *finetune = (struct finetune){0};
}

/* Weights scaled to a sum of 1, in `arena`. */
static void normalise(struct plan *plan, struct arena *arena, struct finetune_figures *figures)
{
    double sum = 0;
    for (size_t i = 0; i < plan->count; i++)
        for (size_t k = 0; k < plan->datums[i].count; k++) {
            sum += plan->datums[i].weights[k];
            figures->targets += plan->datums[i].weights[k] != 0;
        }
    for (size_t i = 0; i < plan->count; i++) {
        struct lm_datum *datum = &plan->datums[i];
        float *weights = arena_alloc(arena, datum->count * sizeof *weights);
        for (size_t k = 0; k < datum->count; k++)
            weights[k] = (float)(datum->weights[k] / (sum > 0 ? sum : 1));
        datum->weights = weights;
        figures->tokens += datum->count;
    }
}

static int update_weights(struct plan *plan, struct train_backend *backend,
                          const struct lm_adam *adam, struct finetune_figures *figures,
                          struct err *err)
{
    struct loss_sums sums;
    int result = train_backend_forward_backward(backend, plan->datums, plan->count,
                                                loss_find("cross_entropy"), NULL, &sums, err);
    if (result < 0)
        return result;
    figures->loss = sums.loss;
    return train_guard_step(backend, sums.loss, adam, &figures->norm, &figures->not_finite, err);
}

int finetune_step(struct finetune *finetune, struct train_backend *backend,
                  const struct train_config *config, uint64_t step,
                  struct finetune_figures *figures, struct err *err)
{
    const struct settings *settings = finetune->settings;
    struct lm_adam adam = config->adam;
    struct plan plan = {0};
    struct arena arena = {0};
    double peak = settings->train_sft_rate;
    *figures = (struct finetune_figures){.norm = NAN};
    adam.rate = lm_schedule_rate(config->sft_schedule, peak, peak * settings->train_sft_floor,
                                 (uint64_t)settings->train_sft_warmup, finetune->steps, step);
    figures->rate = adam.rate;
    if (settings->train_sft_beta2 >= 0)
        adam.beta2 = settings->train_sft_beta2;
    make_plan(finetune, &finetune->position, &plan);
    normalise(&plan, &arena, figures);
    int result = update_weights(&plan, backend, &adam, figures, err);
    arena_deinit(&arena);
    mem_free(plan.datums);
    return result;
}
