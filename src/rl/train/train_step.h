/* train_step: from the rollouts of one step to new weights.
 *
 *   rollouts ─► train_step_gather ─► rows and tokens ─► train_step_score: the trainer's
 *                                                       log-probabilities
 *            ─► train_step_reject ─► (too few prompts: more rollouts, and again from gather)
 *            ─► train_step_weigh ─► advantages of tokens ─► datums ─► train_step_update ─► weights
 *
 * A row of the batch is one turn; its datum, with a prompt of P and an answer of M tokens, has N =
 * P + M - 1 rows: row P - 1 + j predicts token j of the answer. Rows of the prompt have an
 * advantage of 0 and unknown log-probabilities (NAN). Turns without any advantage make no datum.
 *
 * Ownership: rollouts are borrowed until train_step_deinit; everything else is the step's. Threads:
 * one at a time. Errors: ERR_INTERNAL, those of the backend.
 */
#pragma once

#include "rl/collect/collector.h"
#include "rl/collect/problem_record.h"
#include "rl/method/method.h"
#include "rl/method/token_loss.h"

struct train_step_options {
    const struct rl_method *method;
    const struct loss *loss;
    struct loss_config config;
    bool ratio_trained; /* the loss's ratio is relative to train_step_score's log-probabilities, not
                         * the sampler's */
    bool turn_ratio;    /* that ratio is of the turn (GSPO) */
    double kl, kl_discount;
    bool kl_loss; /* the penalty is a term of the loss, by kl_estimator, and not of advantages */
    enum rl_kl_estimator kl_estimator;
    bool mask_cut;          /* answers that reached max_tokens have no tokens that count */
    size_t max_tokens;      /* of an answer of this step */
    size_t overlong_buffer; /* rl_overlong_penalty */
    double overlong_penalty;
    size_t epochs;  /* how often the datums are trained on; 0: once */
    size_t samples; /* of each task: rollouts are numbered by task and sample */
    size_t substeps;
    uint64_t seed, step;
};

struct train_step {
    struct train_step_options options;
    struct arena arena; /* of the current batch */
    struct rl_batch batch;
    const struct rl_rollout **rollouts; /* added so far */
    size_t rollout_count;
    const struct rl_rollout **greedy; /* likewise: they are a baseline, and no rows */
    size_t greedy_count;
    const struct rl_turn **turns; /* [rows] */
    struct rl_step_report report;
    float *trained, *collision, *base; /* [scored], [scored], [based]: of the first tokens */
    size_t scored, based;
    double *baseline;  /* [rows]: the last reward of the task's greedy episode; NULL: there is none,
                        * NAN: this one has none */
    double *advantage; /* [tokens] */
    double *weight;    /* [tokens]: of terms without advantage: entropy, dro's square, the
                        * penalty */
    double kl;         /* mean log π_sampled - log π_base */
    struct lm_datum *datums;
    const float **bases; /* [datum_count] of the base's log-probabilities [rows]; NAN: no KL */
    size_t datum_count;
    size_t parts; /* updates that the datums are split into; 0: there is no datum */
};

void train_step_init(struct train_step *step, const struct train_step_options *options);
void train_step_deinit(struct train_step *step);

/* Adds rollouts, without failed ones, and makes the batch of all. ERR_INTERNAL: rl_batch_check. */
NODISCARD int train_step_gather(struct train_step *step, const struct rl_rollout *rollouts,
                                size_t count, struct err *err);
/* Fills in the critic's values, from the records. */
void train_step_values(struct train_step *step, const struct problem_records *records);
/* Adds what the step's rollouts showed to the records. */
void train_step_record(const struct train_step *step, struct problem_records *records,
                       double memory, double critic);
/* Computes the log-probabilities of the new rows; backend NULL: the sampler's are used as the
 * trainer's. */
NODISCARD int train_step_score(struct train_step *step, struct train_backend *backend,
                               struct err *err);
/* The same with the initial model, for the penalty. */
NODISCARD int train_step_score_base(struct train_step *step, struct train_backend *base,
                                    struct err *err);
void train_step_reject(struct train_step *step);
/* Makes the datums of `wanted` prompts; 0: all. If the loss is a mean, each part is a mean of its
 * own, so that bounds on the gradient's norm do not depend on the number of parts. */
NODISCARD int train_step_weigh(struct train_step *step, size_t wanted, struct err *err);

/* The weight of a part's tokens that makes it a mean like that of the whole step. */
float train_step_part_scale(const struct train_step *step);

struct train_step_result {
    struct loss_sums sums;
    double norm;     /* the largest of the updates, before clipping; NAN: unknown */
    size_t changes;  /* updates of the weights */
    bool not_finite; /* the loss or its gradient: the rest of the step was skipped */
    bool begun;      /* false: the backend was not called */
};

/* train_backend_forward_backward and train_guard_step, `parts` times in each epoch. `cancelled` is
 * honoured until the first of them. */
NODISCARD int train_step_update(struct train_step *step, struct train_backend *backend,
                                const struct lm_adam *adam, const _Atomic int *cancelled,
                                struct train_step_result *trained, struct err *err);

/* Puts the metrics of the rollouts and of their use (docs/guide/runs.md) into an object of
 * numbers. */
void train_step_measure(const struct train_step *step, json_t *metrics);
