/* stage: a curriculum of rewards. A policy whose code never compiles learns nothing from a reward
 * for speed; so the reward changes when the measured rates are high enough.
 *
 *   "staged1 compiled 0.7, staged2 correct 0.5, staged3"
 *
 * Each stage has a preset of gym/reward/reward.h, and all but the last a condition to end: a share
 * of the step's turns (formatted, compiled, correct; fast: correct and at least as fast as the
 * reference), averaged over the last train.stage_steps steps of that stage.
 *
 * Stages never go back: the rates of a later stage belong to another policy. Ownership: the
 * caller's storage. Threads: one at a time. Errors: ERR_INPUT.
 */
#pragma once

#include "base/word_table.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define STAGES_MOST 8

#define STAGE_MEASURES(X)                                                                          \
    X(STAGE_FORMATTED, "formatted")                                                                \
    X(STAGE_COMPILED, "compiled")                                                                  \
    X(STAGE_CORRECT, "correct")                                                                    \
    X(STAGE_FAST, "fast")
enum stage_measure { WORD_SYMBOLS(STAGE_MEASURES) STAGE_MEASURE_COUNT };

struct stage {
    char preset[64];
    enum stage_measure measure;
    double rate;
};

struct stages {
    struct stage list[STAGES_MOST];
    size_t count; /* 0: the reward is gym.reward throughout */
    size_t window;
    /* Saved with a checkpoint. */
    size_t at;
    json_t *rates; /* [number, …] of the last steps of this stage, at most `window` */
};

/* `text` as above. ERR_INPUT names the error. */
NODISCARD int stages_open(struct stages *stages, const char *text, size_t window, struct err *err);
void stages_close(struct stages *stages);

/* The current preset; `standard` without stages. */
const char *stages_reward(const struct stages *stages, const char *standard);
/* After a step: shares by enum stage_measure, NAN if nothing was judged. True: the next stage
 * begins. */
bool stages_update(struct stages *stages, const double rates[STAGE_MEASURE_COUNT]);

/* {"at", "rates"}: a new reference; and back. ERR_INPUT. */
json_t *stages_state(const struct stages *stages);
NODISCARD int stages_restore(struct stages *stages, const json_t *state, struct err *err);
