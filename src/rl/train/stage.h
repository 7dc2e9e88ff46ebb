/* stage: rewards in turn. A policy that writes no code that compiles learns nothing from a reward
 * of speed; so the reward becomes another when measured rates are high enough.
 *
 *   "staged1 compiled 0.7, staged2 correct 0.5, staged3"
 *
 * Each stage has a preset of gym/reward/reward.h, and all but the last what it ends with: a share of the
 * step's turns (formatted, compiled, correct; fast: correct and at least as fast as the reference),
 * in the mean over the last train.stage_steps steps of that stage.
 *
 * There is no way back: rates of a later stage are another policy's. Threads: one at a time.
 */
#ifndef WARPGYM_RL_TRAIN_STAGE_H
#define WARPGYM_RL_TRAIN_STAGE_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define STAGES_MOST 8

enum stage_measure { STAGE_FORMATTED, STAGE_COMPILED, STAGE_CORRECT, STAGE_FAST };
#define STAGE_MEASURES 4

struct stage {
    char preset[64];
    enum stage_measure measure;
    double rate;
};

struct stages {
    struct stage list[STAGES_MOST];
    size_t count; /* 0: the reward stays what gym.reward says */
    size_t window;
    /* What goes with a checkpoint. */
    size_t at;
    json_t *rates; /* [number, …] of the last steps of this stage, at most `window` */
};

/* `text` as above. ERR_INPUT names what is wrong with it. */
NODISCARD int stages_open(struct stages *stages, const char *text, size_t window, struct err *err);
void stages_close(struct stages *stages);

/* The preset that counts now; `standard` where there are no stages. */
const char *stages_reward(const struct stages *stages, const char *standard);
/* After a step: shares by enum stage_measure, NAN where nothing was judged. True: the next stage
 * begins. */
bool stages_see(struct stages *stages, const double rates[STAGE_MEASURES]);

/* {"at", "rates"}: a new reference; and back. ERR_INPUT. */
json_t *stages_state(const struct stages *stages);
NODISCARD int stages_restore(struct stages *stages, const json_t *state, struct err *err);

#endif
