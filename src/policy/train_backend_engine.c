/* The engine: two models of lm/ in this process. The calling thread trains one; the sampler's
 * thread reads its twin (lm_model_twin) on a backend of its own. So sampling and training run side
 * by side, and a refresh copies the trained weights.
 *
 * The sampler's backend is batch-invariant: a sample depends on weights, prompt, seed and settings
 * to the last bit, never on concurrent samples, so that a resumed run reproduces the same numbers.
 */
#include "base/file.h"
#include "base/mem.h"
#include "lm/sample/engine.h"
#include "lm/train/checkpoint.h"
#include "policy/train_backend_ops.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "checkpoints"

struct engine {
    struct lm_backend *training, *sampling;
    struct lm_model *model, *twin;
    struct lm_trainer *trainer;
    struct lm_engine *engine;
    char *tokenizer; /* its directory */
    int32_t stops[TRAIN_BACKEND_STOPS_MAX];
    size_t stop_count;
    const _Atomic int *cancelled;
    bool torn; /* a checkpoint was loaded only in part */
};

static int open_models(struct engine *engine, const struct train_backend_options *options,
                       struct err *err)
{
    const char *device = options->device ? options->device : "cpu";
    struct lm_model_options model = {
        .training = options->lora_rank > 0 ? LM_TRAIN_ADAPTER : LM_TRAIN_ALL,
        .lora = {.rank = options->lora_rank,
                 .alpha = options->lora_alpha > 0 ? options->lora_alpha
                                                  : 2 * (double)options->lora_rank,
                 .targets = (1U << LM_LORA_TARGET_COUNT) - 1},
        .seed = options->seed,
        .positions = options->context,
    };
    snprintf(model.lora.base_model, sizeof model.lora.base_model, "%s", options->model);
    int result = lm_backend_open(&engine->training, device, options->threads, err);
    if (result == 0)
        result = lm_backend_open(&engine->sampling, device, options->threads, err);
    if (result < 0)
        return result;
    engine->sampling->invariant = true;
    result = lm_model_open(&engine->model, options->model, engine->training, &model, err);
    if (result == 0)
        result = lm_model_twin(&engine->twin, engine->model, engine->sampling, err);
    if (result == 0 && options->sampling_bits > 0) {
        lm_model_twin_round(engine->twin, options->sampling_bits);
        lm_model_twin_update(engine->twin, engine->model);
    }
    return result;
}

static int open_trainer(struct engine *engine, const struct train_backend_options *options,
                        bool forward, struct err *err)
{
    const size_t rows = options->batch_tokens > 0 ? options->batch_tokens
                                                  : engine->model->positions;
    return lm_trainer_open(&engine->trainer, engine->model,
                           &(struct lm_trainer_options){.batch_tokens = rows,
                                                        .recompute = options->recompute,
                                                        .forward = forward},
                           err);
}

/* Capacity for all samples at their longest. */
static int open_sampler(struct engine *engine, const struct train_backend_options *options,
                        struct err *err)
{
    const struct lm_sampler_options sampler = lm_sampler_capacity(
        &engine->model->config, engine->sampling->dtype,
        options->at_once > 0 ? options->at_once : 1, engine->model->positions, LM_CACHE_BYTES);
    return lm_engine_open(&engine->engine, engine->twin, &sampler, err);
}

static void engine_close(void *state)
{
    struct engine *engine = state;
    lm_engine_close(engine->engine);
    lm_trainer_close(engine->trainer);
    lm_model_close(engine->twin);
    lm_model_close(engine->model);
    lm_backend_close(engine->sampling);
    lm_backend_close(engine->training);
    mem_free(engine->tokenizer);
    mem_free(engine);
}

static int engine_open(void **state, const struct train_backend_options *options,
                       const struct tokens *stops, size_t *context, struct err *err)
{
    struct engine *engine = mem_alloc(sizeof *engine);
    bool apart = options->tokenizer && options->tokenizer[0];
    engine->stop_count = stops->count;
    for (size_t i = 0; i < stops->count; i++)
        engine->stops[i] = stops->ids[i];
    engine->cancelled = options->cancelled;
    engine->tokenizer = mem_strdup(apart ? options->tokenizer : options->model);
    int result = open_models(engine, options, err);
    if (result == 0)
        result = open_trainer(engine, options, false, err);
    if (result == 0)
        result = open_sampler(engine, options, err);
    if (result < 0) {
        engine_close(engine);
        return result;
    }
    *context = engine->model->positions;
    *state = engine;
    return 0;
}

/* Another twin, which is never updated. It computes on the training backend, between two passes. */
static int engine_open_base(void **state, const void *of,
                            const struct train_backend_options *options, struct err *err)
{
    const struct engine *from = of;
    struct engine *engine = mem_alloc(sizeof *engine);
    int result = lm_model_twin(&engine->model, from->model, from->training, err);
    if (result == 0)
        result = open_trainer(engine, options, true, err);
    if (result < 0)
        engine_close(engine);
    else
        *state = engine;
    return result;
}

static int check_weights_usable(const struct engine *engine, struct err *err)
{
    return engine->torn ? err_set(err, ERR_INPUT,
                                  "the last checkpoint was loaded only in part: "
                                  "load another")
                        : 0;
}

static int engine_sample(void *state, const struct tokens *prompt,
                         const struct train_backend_sampling *sampling,
                         struct train_backend_answer *answer, struct err *err)
{
    struct engine *engine = state;
    struct lm_sample sample = {0};
    const struct lm_request request = {
        .prompt = prompt->ids,
        .prompt_count = prompt->count,
        .samples = 1,
        .sampling = {.temperature = sampling->temperature,
                     .top_p = sampling->top_p,
                     .top_k = sampling->top_k,
                     .max_tokens = sampling->max_tokens,
                     .seed = sampling->seed,
                     .stop_tokens = engine->stops,
                     .stop_token_count = engine->stop_count},
    };
    int result = lm_engine_run(engine->engine, &request, &sample, engine->cancelled, err);
    if (result < 0) {
        lm_sample_deinit(&sample);
        return result;
    }
    answer->tokens = sample.tokens;
    answer->logprobs = sample.logprobs;
    answer->count = sample.count;
    answer->stopped = sample.finish == LM_STOP;
    return 0;
}

static int copy_weights(void *context, struct err *err)
{
    struct engine *engine = context;
    lm_model_twin_update(engine->twin, engine->model);
    return 0;
}

/* A version is the number of steps behind it, so that a resumed run continues the count. */
static int engine_refresh(void *state, uint64_t *version, struct err *err)
{
    struct engine *engine = state;
    int result = check_weights_usable(engine, err);
    if (result == 0)
        result = lm_engine_change(engine->engine, copy_weights, engine, err);
    if (result == 0)
        *version = lm_trainer_steps(engine->trainer);
    return result;
}

static int engine_pass(void *state, struct lm_datum *datums, size_t count, const struct loss *loss,
                       const struct loss_config *config, bool gradients, struct loss_sums *sums,
                       struct err *err)
{
    struct engine *engine = state;
    int result = check_weights_usable(engine, err);
    if (result < 0)
        return result;
    return (gradients ? lm_trainer_forward_backward : lm_trainer_forward)(engine->trainer, datums,
                                                                          count, loss, config, sums,
                                                                          err);
}

static int engine_step(void *state, const struct lm_adam *adam, double *norm, struct err *err)
{
    struct engine *engine = state;
    int result = check_weights_usable(engine, err);
    return result < 0 ? result : lm_trainer_step(engine->trainer, adam, norm, err);
}

static uint64_t engine_steps(void *state)
{
    struct engine *engine = state;
    return lm_trainer_steps(engine->trainer);
}

static int engine_save(void *state, const char *directory, const char *name, char **where,
                       struct err *err)
{
    struct engine *engine = state;
    int result = check_weights_usable(engine, err);
    if (result < 0)
        return result;
    char *path = mem_printf("%s/" FOLDER "/%s", directory, name);
    result = lm_trainer_save(engine->trainer, path, NULL, err);
    if (result == 0)
        *where = mem_printf(FOLDER "/%s", name);
    mem_free(path);
    return result;
}

static int engine_load(void *state, const char *directory, const char *where, bool optimizer,
                       uint64_t steps, struct err *err)
{
    struct engine *engine = state;
    char *path = file_from(directory, where), *found = NULL;
    int result = checkpoint_find(path, &found, err);
    if (result == 0) {
        engine->torn = true;
        result = lm_trainer_load(engine->trainer, path, optimizer, NULL, err);
        engine->torn = result < 0;
    }
    mem_free(found);
    mem_free(path);
    return result;
}

static int engine_forget(void *state, const char *directory, const char *where, struct err *err)
{
    if (strncmp(where, FOLDER "/", strlen(FOLDER "/")) != 0 || strstr(where, ".."))
        return err_set(err, ERR_INPUT, "'%.200s' is not a checkpoint of this run", where);
    char *path = mem_printf("%s/%s", directory, where);
    checkpoint_remove(path);
    mem_free(path);
    return 0;
}

static int engine_export(void *state, const char *directory, struct err *err)
{
    struct engine *engine = state;
    int result = check_weights_usable(engine, err);
    return result < 0 ? result : lm_model_export(engine->model, directory, engine->tokenizer, err);
}

const struct train_backend_ops train_backend_engine = {
    .kind = TRAIN_ENGINE,
    .open = engine_open,
    .base = engine_open_base,
    .close = engine_close,
    .sample = engine_sample,
    .pass = engine_pass,
    .step = engine_step,
    .steps = engine_steps,
    .refresh = engine_refresh,
    .save = engine_save,
    .load = engine_load,
    .forget = engine_forget,
    .export = engine_export,
};
