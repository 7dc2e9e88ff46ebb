/* Stages that are taken have rates above 0 and presets that there are, and go on through their own
 * state. */
#include "rl/train/stage.h"

#include "base/mem.h"
#include "gym/reward/reward.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct stages *stages)
{
    const double best[STAGE_MEASURE_COUNT] = {1, 1, 1, 1};
    struct reward_config config;
    struct err err;
    for (size_t i = 0; i + 1 < stages->count; i++) {
        json_t *state = stages_state(stages);
        if (!(stages->list[i].rate > 0 && stages->list[i].rate <= 1) ||
            stages_restore(stages, state, &err) < 0 || !stages_update(stages, best))
            abort();
        json_decref(state);
    }
    if (stages_update(stages, best) ||
        reward_preset(stages_reward(stages, "kevin"), &config, &err) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stages stages;
    struct err err;
    char *text = mem_copy(data, size);
    if (stages_open(&stages, text, 1, &err) == 0) {
        check(&stages);
        stages_close(&stages);
    }
    mem_free(text);
    return 0;
}
