/* tinker_sampler: samples of a model on a Tinker server, from a copy of its weights that the server
 * has frozen.
 *
 * Ownership: the model is the caller's, and outlives it. Threads: any number may sample at once,
 * beside requests of the model; freeze and forget with the model's lock held.
 */
#pragma once

#include "policy/tinker_model.h"
#include "policy/train_backend_ops.h"

struct tinker_sampler {
    struct tinker_model *model;
    int32_t stops[TRAIN_BACKEND_STOPS_MAX];
    size_t stop_count;
    uint64_t samplers; /* requested in this session; with the model's lock */
    _Atomic uint64_t questions;

    pthread_mutex_t lock; /* a sample must not wait for a pass; taken after the model's */
    char *id;             /* NULL: not created yet */
    char *kept; /* what SkyRL keeps on its disk for it, as a request's target; NULL: nothing */
};

void tinker_sampler_init(struct tinker_sampler *sampler, struct tinker_model *model,
                         const struct tokens *stops);
void tinker_sampler_deinit(struct tinker_sampler *sampler);

/* Later samples come from the current weights. */
NODISCARD int tinker_sampler_freeze(struct tinker_sampler *sampler, struct err *err);
/* The model is gone, and its copies with it. */
void tinker_sampler_forget(struct tinker_sampler *sampler);
/* Before the first freeze samples come from the model's initial weights. */
NODISCARD int tinker_sampler_sample(struct tinker_sampler *sampler, const struct tokens *prompt,
                                    const struct train_backend_sampling *sampling,
                                    struct train_backend_answer *answer, struct err *err);
