#include "lm/train/trainer.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/train/checkpoint.h"
#include "lm/weights/sidecar_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STATE_FORMAT 1

struct lm_trainer {
    struct lm_model *model;
    struct lm_pass *pass;
    struct lm_optimizer *optimizer;
    size_t batch_tokens;
    int32_t *tokens, *starts; /* [batch_tokens], [batch_tokens + 1] */
    int32_t *targets;
    size_t targets_capacity;
};

/* What the pass is asked for, and what becomes of its answers. */
struct work {
    struct lm_datum *datums; /* of the batch */
    size_t count;
    const int32_t *starts; /* of the batch's datums, and the end */
    const struct loss *loss;
    struct loss_config config;
    struct loss_sums sums;
};

static size_t targets_of(const struct lm_datum *datum)
{
    return datum->targets_per_row > 0 ? datum->targets_per_row : 1;
}

int lm_trainer_open(struct lm_trainer **out, struct lm_model *model,
                    const struct lm_trainer_options *options, struct err *err)
{
    const struct lm_pass_options pass = {.rows = options->batch_tokens,
                                         .backward = !options->forward,
                                         .recompute = options->recompute};
    if (options->batch_tokens == 0 || options->batch_tokens > INT32_MAX)
        return err_set(err, ERR_INPUT, "a batch of %zu tokens: it must be from 1 to %d",
                       options->batch_tokens, INT32_MAX);
    struct lm_trainer *trainer = mem_alloc(sizeof *trainer);
    trainer->model = model;
    trainer->batch_tokens = options->batch_tokens;
    trainer->tokens = mem_alloc(options->batch_tokens * sizeof *trainer->tokens);
    trainer->starts = mem_alloc((options->batch_tokens + 1) * sizeof *trainer->starts);
    int result = options->forward ? 0 : lm_optimizer_open(&trainer->optimizer, model, err);
    if (result == 0)
        result = lm_pass_open(&trainer->pass, model, &pass, err);
    if (result < 0) {
        lm_trainer_close(trainer);
        return result;
    }
    *out = trainer;
    return 0;
}

void lm_trainer_close(struct lm_trainer *trainer)
{
    if (!trainer)
        return;
    lm_pass_close(trainer->pass);
    lm_optimizer_close(trainer->optimizer);
    mem_free(trainer->tokens);
    mem_free(trainer->starts);
    mem_free(trainer->targets);
    mem_free(trainer);
}

static int check_finite(const float *values, size_t count, size_t per_row, const char *what,
                        struct err *err)
{
    for (size_t i = 0; values && i < count * per_row; i++)
        if (!isfinite(values[i]))
            return err_set(err, ERR_INPUT, "row %zu: the %s is %g; it must be finite", i / per_row,
                           what, (double)values[i]);
    return 0;
}

static int check_sampled(const struct lm_datum *datum, const char *loss, struct err *err)
{
    if (!datum->sampled || !datum->advantages)
        return err_set(err, ERR_INPUT, "the loss %s needs %s", loss,
                       datum->sampled ? "advantages" : "the sampler's log-probabilities");
    if (targets_of(datum) != 1)
        return err_set(err, ERR_INPUT, "the loss %s takes one target a row, not %zu", loss,
                       targets_of(datum));
    int result = check_finite(datum->advantages, datum->count, 1, "advantage", err);
    for (size_t i = 0; i < datum->count && result == 0; i++) {
        bool unknown = isnan(datum->sampled[i]) && datum->advantages[i] == 0;
        if (!unknown && !isfinite(datum->sampled[i]))
            result = err_set(err, ERR_INPUT,
                             "row %zu: the sampler's log-probability is %g; it must be finite "
                             "where the advantage is not 0",
                             i, (double)datum->sampled[i]);
    }
    return result;
}

static int check_size(const struct lm_trainer *trainer, const struct lm_datum *datum,
                      struct err *err)
{
    size_t positions = trainer->model->positions;
    if (datum->count == 0 || !datum->tokens || !datum->targets)
        return err_set(err, ERR_INPUT, "it is empty");
    if (datum->count > trainer->batch_tokens)
        return err_set(err, ERR_INPUT, "its %zu tokens exceed the %zu of a pass (batch_tokens)",
                       datum->count, trainer->batch_tokens);
    if (datum->count > positions)
        return err_set(err, ERR_INPUT, "its %zu tokens are more than the model's %zu positions",
                       datum->count, positions);
    if (targets_of(datum) > LIMIT_LM_TARGETS)
        return err_set(err, ERR_LIMIT, "%zu targets a row are more than %d", targets_of(datum),
                       LIMIT_LM_TARGETS);
    return 0;
}

static int check_datum(const struct lm_trainer *trainer, const struct lm_datum *datum,
                       const struct loss *loss, struct err *err)
{
    const size_t per_row = targets_of(datum);
    int result = check_size(trainer, datum, err);
    if (result == 0)
        result = lm_model_check_ids(trainer->model, datum->tokens, datum->count, 1, "token", err);
    if (result == 0)
        result = lm_model_check_ids(trainer->model, datum->targets, datum->count * per_row, per_row,
                                    "target", err);
    if (result == 0 && loss->ratio)
        result = check_sampled(datum, loss->name, err);
    if (result == 0)
        result = check_finite(datum->weights, datum->count, per_row, "weight", err);
    return result;
}

/* Rows `from` to `to` of a datum lie in the block from its row `at`. */
static void take_rows(struct work *work, const struct lm_head_block *block, struct lm_datum *datum,
                      size_t from, size_t to, size_t at)
{
    size_t k = block->targets_per_row, count = to - from;
    const struct loss_input input = {.count = count,
                                     .targets_per_row = k,
                                     .logprob = block->logprob + at * k,
                                     .weights = datum->weights ? datum->weights + from * k : NULL,
                                     .sampled = datum->sampled ? datum->sampled + from : NULL,
                                     .advantages = datum->advantages ? datum->advantages + from
                                                                     : NULL};
    struct loss_sums sums;
    loss_apply(work->loss, &work->config, &input, block->dlogprob ? block->dlogprob + at * k : NULL,
               &sums);
    if (block->entropy)
        loss_entropy(work->loss, &work->config, &input, block->entropy + at,
                     block->dentropy ? block->dentropy + at : NULL, &sums);
    loss_sums_add(&work->sums, &sums);
    if (datum->logprob)
        memcpy(datum->logprob + from * k, input.logprob, count * k * sizeof(float));
    if (datum->entropy && block->entropy)
        memcpy(datum->entropy + from, block->entropy + at, count * sizeof(float));
    if (datum->collision && block->collision)
        memcpy(datum->collision + from, block->collision + at, count * sizeof(float));
}

static void take_block(void *context, const struct lm_head_block *block)
{
    struct work *work = context;
    size_t end = block->first + block->rows;
    for (size_t i = 0; i < work->count; i++) {
        size_t start = (size_t)work->starts[i], stop = (size_t)work->starts[i + 1];
        size_t from = start > block->first ? start : block->first, to = stop < end ? stop : end;
        if (from < to)
            take_rows(work, block, &work->datums[i], from - start, to - start, from - block->first);
    }
}

/* Datums from the first that make one batch: as many as there is room for, all with as many targets
 * a row. */
static size_t batch_of(const struct lm_trainer *trainer, const struct lm_datum *datums,
                       size_t count)
{
    size_t rows = 0, taken = 0;
    while (taken < count && rows + datums[taken].count <= trainer->batch_tokens &&
           targets_of(&datums[taken]) == targets_of(datums))
        rows += datums[taken++].count;
    return taken;
}

static void pack(struct lm_trainer *trainer, const struct lm_datum *datums, size_t count)
{
    size_t rows = 0, k = targets_of(datums);
    if (trainer->targets_capacity < trainer->batch_tokens * k) {
        trainer->targets_capacity = trainer->batch_tokens * k;
        trainer->targets = mem_resize(trainer->targets,
                                      trainer->targets_capacity * sizeof *trainer->targets);
    }
    for (size_t i = 0; i < count; i++) {
        size_t added = datums[i].count;
        trainer->starts[i] = (int32_t)rows;
        memcpy(trainer->tokens + rows, datums[i].tokens, added * sizeof(int32_t));
        memcpy(trainer->targets + rows * k, datums[i].targets, added * k * sizeof(int32_t));
        rows += added;
    }
    trainer->starts[count] = (int32_t)rows;
}

static int compute(struct lm_trainer *trainer, struct work *work, bool gradients, struct err *err)
{
    bool entropy = work->config.entropy != 0, collision = false;
    for (size_t i = 0; i < work->count; i++) {
        entropy |= work->datums[i].entropy != NULL;
        collision |= work->datums[i].collision != NULL;
    }
    pack(trainer, work->datums, work->count);
    work->starts = trainer->starts;
    const struct lm_batch batch = {.rows = (size_t)trainer->starts[work->count],
                                   .sequences = work->count,
                                   .tokens = trainer->tokens,
                                   .starts = trainer->starts};
    const struct lm_head head = {.targets = trainer->targets,
                                 .targets_per_row = targets_of(work->datums),
                                 .temperature = 1,
                                 .entropy = entropy,
                                 .collision = collision,
                                 .loss = take_block,
                                 .context = work};
    return (gradients ? lm_pass_train : lm_pass_score)(trainer->pass, &batch, &head, err);
}

static int run(struct lm_trainer *trainer, struct lm_datum *datums, size_t count,
               const struct loss *loss, const struct loss_config *config, bool gradients,
               struct loss_sums *sums, struct err *err)
{
    struct work work = {.loss = loss, .config = config ? *config : loss_config_defaults};
    int result = loss_config_check(loss, &work.config, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        result = check_datum(trainer, &datums[i], loss, err);
        if (result < 0)
            err_prefix(err, "datum %zu", i);
    }
    if (result < 0)
        return result;
    for (size_t at = 0; at < count && result == 0; at += work.count) {
        work.datums = datums + at;
        work.count = batch_of(trainer, work.datums, count - at);
        result = compute(trainer, &work, gradients, err);
    }
    /* A part of a batch is no gradient of anything, nor is what comes of no number. */
    if (gradients && (result < 0 || !isfinite(work.sums.loss)))
        lm_model_zero_gradients(trainer->model);
    *sums = work.sums;
    return result;
}

int lm_trainer_forward_backward(struct lm_trainer *trainer, struct lm_datum *datums, size_t count,
                                const struct loss *loss, const struct loss_config *config,
                                struct loss_sums *sums, struct err *err)
{
    return run(trainer, datums, count, loss, config, true, sums, err);
}

int lm_trainer_forward(struct lm_trainer *trainer, struct lm_datum *datums, size_t count,
                       const struct loss *loss, const struct loss_config *config,
                       struct loss_sums *sums, struct err *err)
{
    return run(trainer, datums, count, loss, config, false, sums, err);
}

int lm_trainer_step(struct lm_trainer *trainer, const struct lm_adam *adam, double *norm,
                    struct err *err)
{
    return lm_optimizer_step(trainer->optimizer, adam, norm, err);
}

uint64_t lm_trainer_steps(const struct lm_trainer *trainer)
{
    return lm_optimizer_steps(trainer->optimizer);
}

bool lm_model_trains(const struct lm_model *model, bool adapter)
{
    for (size_t i = 0; i < model->parameter_count; i++)
        if (model->parameters[i].gradient && model->parameters[i].adapter == adapter)
            return true;
    return false;
}

static const char *weights_of(const struct lm_model *model)
{
    bool adapter = lm_model_trains(model, true);
    return lm_model_trains(model, false) ? adapter ? "model and adapter" : "model" : "adapter";
}

static int write_state(const struct lm_trainer *trainer, const char *path, const json_t *more,
                       struct err *err)
{
    json_t *state = json_object();
    json_put(state, "format", json_integer(STATE_FORMAT));
    json_put(state, "weights", json_text(weights_of(trainer->model)));
    json_put(state, "steps", json_integer((json_int_t)lm_trainer_steps(trainer)));
    if (more)
        json_put(state, "more", json_deep_copy(more));
    int result = json_file_write(path, state, true, err);
    json_decref(state);
    return result;
}

static int save_parts(struct lm_trainer *trainer, const char *directory, const json_t *more,
                      struct err *err)
{
    struct lm_model *model = trainer->model;
    char *optimizer = mem_printf("%s/" CHECKPOINT_OPTIMIZER, directory);
    char *state = mem_printf("%s/" CHECKPOINT_STATE, directory);
    int result = lm_optimizer_save(trainer->optimizer, optimizer, err);
    if (result == 0 && lm_model_trains(model, false))
        result = lm_model_save(model, directory, LM_F32, false, err);
    if (result == 0 && lm_model_trains(model, true))
        result = lm_model_save_adapter(model, directory, err);
    if (result == 0)
        result = write_state(trainer, state, more, err);
    mem_free(optimizer);
    mem_free(state);
    return result;
}

int lm_trainer_save(struct lm_trainer *trainer, const char *directory, const json_t *more,
                    struct err *err)
{
    struct checkpoint checkpoint;
    int result = checkpoint_begin(&checkpoint, directory, err);
    if (result < 0)
        return result;
    return checkpoint_end(&checkpoint, save_parts(trainer, checkpoint.path, more, err), err);
}

int lm_model_export(struct lm_model *model, const char *directory, const char *sidecars,
                    struct err *err)
{
    struct checkpoint checkpoint;
    int result = checkpoint_begin(&checkpoint, directory, err);
    if (result < 0)
        return result;
    const bool whole = lm_model_trains(model, false);
    result = whole ? lm_model_save(model, checkpoint.path, LM_F32, model->lora.rank > 0, err)
                   : lm_model_save_adapter(model, checkpoint.path, err);
    if (result == 0 && whole && sidecars)
        result = lm_sidecar_files_copy(sidecars, checkpoint.path, err);
    return checkpoint_end(&checkpoint, result, err);
}

static int read_state(const struct lm_trainer *trainer, const char *path, json_t **out,
                      struct err *err)
{
    const char *weights = NULL, *wanted = weights_of(trainer->model);
    int64_t format = 0;
    int result = json_file_read(path, LIMIT_LM_STATE_BYTES, out, err);
    if (result == 0)
        result = json_get_int(*out, "format", &format, err);
    if (result == 0)
        result = json_get_string(*out, "weights", &weights, err);
    if (result == 0 && format != STATE_FORMAT)
        result = err_set(err, ERR_INPUT, "%s: format %" PRId64 " is not known here", path, format);
    if (result == 0 && strcmp(weights, wanted) != 0)
        result = err_set(err, ERR_INPUT, "%s: the checkpoint trains the %s, this trainer the %s",
                         path, weights, wanted);
    return result;
}

static int load_parts(struct lm_trainer *trainer, const char *directory, bool optimizer,
                      struct err *err)
{
    struct lm_model *model = trainer->model;
    char *file = mem_printf("%s/" CHECKPOINT_OPTIMIZER, directory);
    int result = optimizer ? lm_optimizer_load(trainer->optimizer, file, err) : 0;
    if (result == 0 && lm_model_trains(model, false))
        result = lm_model_load(model, directory, err);
    if (result == 0 && lm_model_trains(model, true))
        result = lm_model_load_adapter(model, directory, err);
    if (result == 0)
        lm_model_zero_gradients(model);
    mem_free(file);
    return result;
}

int lm_trainer_load(struct lm_trainer *trainer, const char *directory, bool optimizer,
                    json_t **more, struct err *err)
{
    char *path = NULL, *file = NULL;
    json_t *state = NULL;
    int result = checkpoint_find(directory, &path, err);
    if (result < 0)
        return result;
    file = mem_printf("%s/" CHECKPOINT_STATE, path);
    result = read_state(trainer, file, &state, err);
    if (result == 0)
        result = load_parts(trainer, path, optimizer, err);
    if (result == 0 && more)
        *more = json_incref(json_object_get(state, "more"));
    json_decref(state);
    mem_free(file);
    mem_free(path);
    return result;
}
