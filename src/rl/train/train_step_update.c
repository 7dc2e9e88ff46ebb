/* Changes of the weights: train_step_update.
 *
 * A loss that the backend has goes there as it is. One that it has not (a turn's ratio, a KL in the
 * loss) is computed here: log-probabilities under the present weights, then the slope of the loss
 * for each token, which cross entropy with these weights has, too.
 */
#include "rl/method/counter_random.h"
#include "rl/train/train_guard.h"
#include "rl/train/train_step.h"

#include <math.h>

static bool is_composed(const struct train_step *step)
{
    return step->options.turn_ratio || step->options.kl_loss;
}

/* Slopes, and from them weights of cross entropy. */
static void compose_datum(const struct train_step *step, const struct lm_datum *datum,
                          const float *base, float *weights, struct loss_sums *sums)
{
    const struct train_step_options *options = &step->options;
    const struct loss_input input = {.count = datum->count,
                                     .targets_per_row = 1,
                                     .logprob = datum->logprob,
                                     .weights = datum->weights,
                                     .sampled = datum->sampled,
                                     .advantages = datum->advantages};
    struct loss_sums own;
    (options->turn_ratio ? rl_turn_loss : loss_apply)(options->loss, &options->config, &input,
                                                      weights, &own);
    if (options->kl_loss)
        rl_kl_loss(options->kl_estimator, options->kl, &input, base, weights, &own);
    for (size_t i = 0; i < datum->count; i++)
        weights[i] = -weights[i];
    loss_sums_add(sums, &own);
}

static int pass_composed(struct train_step *step, struct train_backend *backend, size_t from,
                         size_t to, struct loss_sums *sums, struct err *err)
{
    struct arena arena = {0};
    struct lm_datum *datums = arena_alloc(&arena, (to - from + 1) * sizeof *datums);
    struct loss_sums ignored;
    for (size_t i = from; i < to; i++) {
        datums[i - from] = step->datums[i];
        datums[i - from].logprob = arena_alloc(&arena, step->datums[i].count * sizeof(float));
    }
    const struct loss *entropy = loss_find("cross_entropy");
    int result = train_backend_forward(backend, datums, to - from, entropy, NULL, &ignored, err);
    for (size_t i = from; i < to && result == 0; i++) {
        struct lm_datum *datum = &datums[i - from];
        float *weights = arena_alloc(&arena, datum->count * sizeof *weights);
        compose_datum(step, datum, step->bases[i], weights, sums);
        *datum = (struct lm_datum){.count = datum->count,
                                   .tokens = datum->tokens,
                                   .targets = datum->targets,
                                   .weights = weights};
    }
    if (result == 0)
        result = train_backend_forward_backward(backend, datums, to - from, entropy, NULL, &ignored,
                                                err);
    arena_deinit(&arena);
    return result;
}

static int train_part(struct train_step *step, struct train_backend *backend,
                      const struct lm_adam *adam, size_t from, size_t to,
                      struct train_step_result *trained, struct err *err)
{
    struct loss_sums sums = {0};
    double norm = NAN;
    int result = is_composed(step)
                     ? pass_composed(step, backend, from, to, &sums, err)
                     : train_backend_forward_backward(backend, step->datums + from, to - from,
                                                      step->options.loss, &step->options.config,
                                                      &sums, err);
    if (result < 0)
        return result;
    loss_sums_add(&trained->sums, &sums);
    result = train_guard_step(backend, sums.loss, adam, &norm, &trained->not_finite, err);
    if (result < 0 || trained->not_finite)
        return result;
    trained->changes++;
    if (!(trained->norm >= norm))
        trained->norm = norm;
    return result;
}

/* Another order for each further epoch, so that its parts are others. */
static void shuffle_datums(struct train_step *step, size_t epoch)
{
    size_t *order = mem_alloc((step->datum_count + 1) * sizeof *order);
    struct lm_datum *datums = arena_alloc(&step->arena, (step->datum_count + 1) * sizeof *datums);
    const float **bases = arena_alloc(&step->arena, (step->datum_count + 1) * sizeof *bases);
    uint64_t seed = rl_random_bits(step->options.seed, epoch, RL_STREAM_SUBSTEPS, 0);
    rl_shuffle(seed, step->options.step, RL_STREAM_SUBSTEPS, order, step->datum_count);
    for (size_t i = 0; i < step->datum_count; i++) {
        datums[i] = step->datums[order[i]];
        bases[i] = step->bases[order[i]];
    }
    step->datums = datums;
    step->bases = bases;
    mem_free(order);
}

int train_step_update(struct train_step *step, struct train_backend *backend,
                      const struct lm_adam *adam, const _Atomic int *cancelled,
                      struct train_step_result *trained, struct err *err)
{
    size_t parts = step->parts, epochs = step->options.epochs > 0 ? step->options.epochs : 1;
    int result = 0;
    *trained = (struct train_step_result){.norm = NAN};
    if (cancelled && *cancelled)
        return err_set(err, ERR_CANCELLED, "interrupted");
    trained->begun = parts > 0;
    for (size_t epoch = 0; epoch < epochs && parts > 0; epoch++) {
        if (epoch > 0 && parts > 1)
            shuffle_datums(step, epoch);
        for (size_t i = 0; i < parts && result == 0 && !trained->not_finite; i++)
            result = train_part(step, backend, adam, i * step->datum_count / parts,
                                (i + 1) * step->datum_count / parts, trained, err);
    }
    if (parts > 0) /* the mean of the parts' means */
        trained->sums.loss /= (double)train_step_part_scale(step) * (double)epochs;
    return result;
}
