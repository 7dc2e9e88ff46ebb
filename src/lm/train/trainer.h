/* trainer: a model that learns, in the operations of the Tinker protocol: forward_backward on
 * datums, optim_step, save and load. What the trainer of rl/ talks to through policy/.
 *
 *   datums ─► batches by token budget ─► pass ─► loss ─► gradients add up ─► step
 *
 * One result for one seed: datums are taken in order, batches depend on lengths alone.
 *
 * A checkpoint is a directory (docs/guide/lm.md): the weights or the adapter, optimizer.safetensors
 * and state.json. It is written beside its place and takes it in one step (lm/train/checkpoint.h):
 * a death in the middle leaves the one before. What is loaded goes on bit for bit as what was
 * saved.
 */
#pragma once

#include "base/json.h"
#include "lm/model/pass.h"
#include "lm/train/loss.h"
#include "lm/train/optimizer.h"

struct lm_trainer;

/* Row i of a datum sees tokens[0..i] and predicts targets[i]. */
struct lm_datum {
    size_t count;
    const int32_t *tokens;  /* [count] */
    size_t targets_per_row; /* 0 is 1 */
    const int32_t *targets; /* [count, targets_per_row] */
    const float *weights;   /* [count, targets_per_row]; NULL: all 1 */
    const float *sampled; /* [count]: the sampler's log-probabilities; NaN (unknown) where A is 0 */
    const float *advantages; /* [count] */
    float *logprob;          /* [count, targets_per_row], written; NULL: not wanted */
    float *entropy;          /* [count], written; NULL: not wanted */
    float *collision;        /* [count] Σ p² over the vocabulary, likewise */
};

struct lm_trainer_options {
    size_t batch_tokens; /* rows of one pass; a longer datum is refused */
    bool recompute;
    bool forward; /* lm_trainer_forward alone: without gradients, and so for a frozen model, too */
};

NODISCARD int lm_trainer_open(struct lm_trainer **out, struct lm_model *model,
                              const struct lm_trainer_options *options, struct err *err);
void lm_trainer_close(struct lm_trainer *trainer);

/* All datums are checked before the first is computed. `config` may be NULL (defaults). Gradients
 * are added to those that are there; an error while computing leaves none, and neither does a loss
 * that is not finite. */
NODISCARD int lm_trainer_forward_backward(struct lm_trainer *trainer, struct lm_datum *datums,
                                          size_t count, const struct loss *loss,
                                          const struct loss_config *config, struct loss_sums *sums,
                                          struct err *err);
/* The same without gradients. */
NODISCARD int lm_trainer_forward(struct lm_trainer *trainer, struct lm_datum *datums, size_t count,
                                 const struct loss *loss, const struct loss_config *config,
                                 struct loss_sums *sums, struct err *err);
NODISCARD int lm_trainer_step(struct lm_trainer *trainer, const struct lm_adam *adam, double *norm,
                              struct err *err);
uint64_t lm_trainer_steps(const struct lm_trainer *trainer);

/* Gradients that no step has used are not part of it. `more` (an object, or NULL) is the caller's
 * own state, kept in state.json: a place in the data, random streams. */
NODISCARD int lm_trainer_save(struct lm_trainer *trainer, const char *directory, const json_t *more,
                              struct err *err);
/* *more (NULL: not wanted) is the caller's reference, or NULL where none was saved. Without
 * `optimizer` only weights are taken. Another model's checkpoint, and one of other trained
 * parameters, is refused. */
NODISCARD int lm_trainer_load(struct lm_trainer *trainer, const char *directory, bool optimizer,
                              json_t **more, struct err *err);

/* Whether the adapter, or anything else, is trained. */
bool lm_model_trains(const struct lm_model *model, bool adapter);
/* Writes what is trained in the format of `warpgym lm` and Transformers, as a checkpoint is
 * written: an adapter alone, or the whole model in f32 with its adapter merged, and the sidecar
 * files of the directory `sidecars` (NULL: none). */
NODISCARD int lm_model_export(struct lm_model *model, const char *directory, const char *sidecars,
                              struct err *err);
