/* finetune: the cold start of a run: steps of supervised fine-tuning before those of reinforcement
 * learning, on conversations (lm/train/dataset.h), by whichever learner it is.
 *
 * A step's loss is the mean over its tokens with a weight, so that a rate means the same whatever a
 * step's size is. A place in the data is all that a checkpoint needs. Threads: one at a time.
 */
#ifndef WARPGYM_RL_TRAIN_FINETUNE_H
#define WARPGYM_RL_TRAIN_FINETUNE_H

#include "lm/train/dataset.h"
#include "rl/train/config.h"

struct finetune {
    const struct settings *settings;
    struct tokenizer *tokenizer;
    struct dataset *data; /* NULL: there is no cold start */
    struct dataset_place place;
    uint64_t steps; /* of train.sft_epochs */
};

struct finetune_figures {
    double loss, rate, norm;
    uint64_t tokens, targets;
    bool not_finite; /* no weight was changed */
};

/* Reads and encodes everything. ERR_INPUT with FILE:LINE. */
NODISCARD int finetune_open(struct finetune *finetune, const struct settings *settings,
                            struct err *err);
/* A zeroed one is fine. */
void finetune_close(struct finetune *finetune);

/* Step number `step`, from 0; the place moves on. */
NODISCARD int finetune_step(struct finetune *finetune, struct train_backend *backend,
                            const struct train_config *config, uint64_t step,
                            struct finetune_figures *figures, struct err *err);

#endif
