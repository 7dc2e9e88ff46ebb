/* logprob: logits of a block of rows, their sums in one pass, and their gradient in place. The
 * products are lm_linear's, with the inverse temperature for a scale. */
#include "lm/cpu/cpu.h"

#include <math.h>

struct logprob_work {
    const struct lm_cpu *cpu;
    const struct lm_logprob *op;
    size_t parts;
};

/* A separate loop: entropy is rarely requested. */
static float collision_of(const float *logits, size_t count, double lse)
{
    double sum = 0;
    for (size_t v = 0; v < count; v++)
        sum += exp(2 * ((double)logits[v] - lse));
    return (float)sum;
}

static void forward_task(const void *data, size_t task, size_t thread)
{
    const struct logprob_work *work = data;
    const struct lm_logprob *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->rows, 1, work->parts, task);
    size_t targets = op->targets_per_row;
    for (size_t r = part.first; r < part.first + part.count; r++) {
        const float *logits = (const float *)op->logits + r * op->vocab;
        struct lm_exp_sums sums = {.highest = -INFINITY};
        work->cpu->loops->exp_sums(op->vocab, logits, &sums);
        double lse = (double)sums.highest + log(sums.sum);
        op->lse[r] = (float)lse;
        if (op->entropy)
            op->entropy[r] = (float)(lse - sums.weighted / sums.sum);
        if (op->collision)
            op->collision[r] = collision_of(logits, op->vocab, lse);
        for (size_t j = 0; j < targets; j++)
            op->logprob[r * targets + j] = (float)((double)logits[op->targets[r * targets + j]] -
                                                   lse);
    }
}

void lm_cpu_logprob(struct lm_backend *backend, const struct lm_logprob *op)
{
    size_t parts = lm_pool_parts(backend->threads, op->rows * op->vocab);
    lm_cpu_linear(backend, &(struct lm_linear){.rows = op->rows,
                                               .in = op->width,
                                               .out = op->vocab,
                                               .scale = 1 / op->temperature,
                                               .x = op->x,
                                               .weight = op->weight,
                                               .y = op->logits});
    lm_pool_run(lm_cpu_of(backend)->pool, parts, forward_task,
                &(struct logprob_work){lm_cpu_of(backend), op, parts});
}

/* With D = Σ dlogprob and E = dentropy: d/dlogit = p·(-D - E·(logit - lse + entropy)), and
 * dlogprob more at a target. */
static void gradient_task(const void *data, size_t task, size_t thread)
{
    const struct logprob_work *work = data;
    const struct lm_logprob *op = work->op;
    struct lm_pool_range part = lm_pool_cut(op->rows, 1, work->parts, task);
    size_t targets = op->targets_per_row;
    for (size_t r = part.first; r < part.first + part.count; r++) {
        float *logits = (float *)op->logits + r * op->vocab;
        const float *dlogprob = op->dlogprob + r * targets;
        const int32_t *target = op->targets + r * targets;
        float slope = op->dentropy ? -op->dentropy[r] : 0, constant = 0;
        for (size_t j = 0; j < targets; j++)
            constant -= dlogprob[j];
        if (op->dentropy)
            constant += slope * (op->entropy[r] - op->lse[r]);
        work->cpu->loops->logit_gradient(op->vocab, op->lse[r], constant, slope, logits);
        for (size_t j = 0; j < targets; j++)
            logits[target[j]] += dlogprob[j];
    }
}

void lm_cpu_logprob_backward(struct lm_backend *backend, const struct lm_logprob *op)
{
    size_t parts = lm_pool_parts(backend->threads, op->rows * op->vocab);
    lm_pool_run(lm_cpu_of(backend)->pool, parts, gradient_task,
                &(struct logprob_work){lm_cpu_of(backend), op, parts});
    lm_cpu_linear_backward(backend, &(struct lm_linear){.rows = op->rows,
                                                        .in = op->width,
                                                        .out = op->vocab,
                                                        .scale = 1 / op->temperature,
                                                        .x = op->x,
                                                        .weight = op->weight,
                                                        .dy = op->logits,
                                                        .dx = op->dx,
                                                        .dweight = op->dweight});
}
