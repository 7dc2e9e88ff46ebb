/* finetune: the cold start of a run: supervised fine-tuning steps before reinforcement learning, on
 * conversations (lm/train/dataset.h), with any training backend.
 *
 * A step's loss is the mean over its weighted tokens, so that a learning rate means the same for
 * every step size. A position in the data is all that a checkpoint needs.
 *
 * Ownership: settings are borrowed. Threads: one at a time. Errors: ERR_INPUT, those of the
 * backend.
 */
#pragma once

#include "lm/train/dataset.h"
#include "rl/train/config.h"

struct finetune {
    const struct settings *settings;
    struct tokenizer *tokenizer;
    struct dataset *data; /* NULL: no cold start */
    struct dataset_place position;
    uint64_t steps; /* of train.sft_epochs */
};

struct finetune_figures {
    double loss, rate, norm;
    uint64_t tokens, targets;
    bool not_finite; /* no weight was changed */
};

/* Reads and encodes all data. ERR_INPUT with FILE:LINE. */
NODISCARD int finetune_open(struct finetune *finetune, const struct settings *settings,
                            struct err *err);
/* A zeroed one is fine. */
void finetune_close(struct finetune *finetune);

/* Runs step `step`, from 0, and moves the position on. */
NODISCARD int finetune_step(struct finetune *finetune, struct train_backend *backend,
                            const struct train_config *config, uint64_t step,
                            struct finetune_figures *figures, struct err *err);
