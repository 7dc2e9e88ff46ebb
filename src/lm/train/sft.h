/* sft: supervised fine-tuning: a model, a data set and a run directory.
 *
 *   data set ─► steps of up to step_tokens rows ─► trainer ─► metrics.jsonl, checkpoints/,
 *                                                             model/ or adapter/
 *
 * A step's loss is the mean over its rows with a weight: losses are plain sums, so each weight is
 * divided by the sum of the step's weights, and a rate means the same whatever a step's size is.
 *
 * A run that dies at any instant goes on from its last checkpoint to the same numbers, on the same
 * backend with the same number of threads. What it consists of is written down when it begins
 * (run.json); a call that asks for something else is refused.
 *
 * A step whose loss or gradient is not finite changes nothing and raises an event; several in a row
 * end the run.
 *
 * Threads: sft_run keeps its thread until it is done and calls `on_event` in it.
 */
#pragma once

#include "lm/train/dataset.h"
#include "lm/train/trainer.h"

#define SFT_SKIPS_MOST 3 /* steps in a row that were not finite */

enum sft_event {
    SFT_BEGAN,     /* `step`: where; above 0 after a resume */
    SFT_STEPPED,   /* loss, rate, norm, tokens, targets, tokens_per_s, skipped */
    SFT_EVALUATED, /* evaluation_loss */
    SFT_SAVED,     /* path, of a checkpoint */
    SFT_EXPORTED,  /* path, of the model or adapter */
};

struct sft_event_info {
    enum sft_event event;
    uint64_t step, steps; /* done, all */
    double loss, rate, norm, tokens_per_s, evaluation_loss;
    uint64_t tokens, targets; /* of this step: rows, and those with a weight */
    bool skipped;
    const char *path;
};

struct sft_options {
    const char *directory; /* of the run; made, or gone on with */
    uint64_t steps;        /* 0: what `epochs` need */
    uint64_t epochs;
    /* Rows of one step: a longer example makes one alone, and an epoch's end ends one. */
    size_t step_tokens;
    size_t batch_tokens; /* rows of one pass, or the longest example's; 0: step_tokens */
    bool recompute;
    enum lm_schedule schedule;
    uint64_t warmup;
    double floor; /* part of the rate that the schedule ends with */
    struct lm_adam adam;
    uint64_t checkpoint_every, evaluate_every; /* steps; 0: at the end alone */
    uint64_t keep;                             /* checkpoints; at least 1 */
    const json_t *configuration;  /* what else must be as it was on a resume, or NULL */
    const char *sidecars;         /* the directory of those of an exported model, or NULL */
    const _Atomic int *cancelled; /* other than 0: save and end; or NULL */
    void (*on_event)(void *context, const struct sft_event_info *event); /* or NULL */
    void *context;
};
extern const struct sft_options sft_defaults;

/* `evaluation` may be NULL. ERR_CANCELLED after a checkpoint was saved. A finished run
 * trains nothing more: 0, and no step event. */
NODISCARD int sft_run(struct lm_model *model, const struct dataset *data,
                      const struct dataset *evaluation, const struct sft_options *options,
                      struct err *err);
