#include "rl/train/finetune.h"

#include "base/mem.h"
#include "rl/train/train_guard.h"
#include "rl/train/train_settings.h"

#include <math.h>
#include <string.h>

#define FILES_MOST 64

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
    const struct train_settings *train = train_settings(finetune->settings);
    struct dataset_options options = dataset_defaults;
    const char *files[FILES_MOST];
    struct arena arena = {0};
    size_t count;
    options.thinking = train->thinking;
    options.seed = (uint64_t)train->seed;
    options.max_tokens = (size_t)train->sft_max_tokens;
    if (train->context.given && train->context.value < train->sft_max_tokens)
        options.max_tokens = (size_t)train->context.value;
    int result = split_paths(train->sft_data, &arena, files, &count, err);
    if (result == 0)
        result = chat_style_of(directory, &options.style, err);
    if (result == 0)
        result = dataset_open(&finetune->data, files, count, finetune->tokenizer, &options, err);
    arena_deinit(&arena);
    return result;
}

int finetune_open(struct finetune *finetune, const struct settings *settings, struct err *err)
{
    const struct train_settings *train = train_settings(settings);
    const char *directory = train->tokenizer[0] ? train->tokenizer : train->model;
    *finetune = (struct finetune){.settings = settings};
    if (!train->sft_data[0])
        return 0;
    int result = tokenizer_open(&finetune->tokenizer, directory, err);
    if (result == 0)
        result = open_data(finetune, directory, err);
    if (result < 0) {
        finetune_close(finetune);
        return err_prefix(err, "train.sft_data");
    }
    finetune->steps = dataset_count_steps(finetune->data, (size_t)train->sft_tokens,
                                          (uint64_t)train->sft_epochs);
    return 0;
}

void finetune_close(struct finetune *finetune)
{
    dataset_close(finetune->data);
    tokenizer_close(finetune->tokenizer);
    *finetune = (struct finetune){0};
}

static int update_weights(struct dataset_step *step, struct train_backend *backend,
                          const struct lm_adam *adam, struct finetune_figures *figures,
                          struct err *err)
{
    struct loss_sums sums;
    int result = train_backend_forward_backward(backend, step->datums, step->count,
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
    const struct train_settings *train = train_settings(finetune->settings);
    struct lm_adam adam = config->adam;
    struct dataset_step taken = {0};
    double peak = train->sft_rate;
    *figures = (struct finetune_figures){.norm = NAN};
    adam.rate = lm_schedule_rate(train->sft_schedule, peak, peak * train->sft_floor,
                                 (uint64_t)train->sft_warmup, finetune->steps, step);
    figures->rate = adam.rate;
    if (train->sft_beta2.given)
        adam.beta2 = train->sft_beta2.value;
    dataset_take_step(finetune->data, (size_t)train->sft_tokens, &finetune->position, &taken);
    figures->tokens = taken.rows;
    figures->targets = taken.targets;
    int result = update_weights(&taken, backend, &adam, figures, err);
    dataset_step_deinit(&taken);
    return result;
}
