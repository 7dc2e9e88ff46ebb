#include "rl/method/masks.h"

#include "gym/reward/reward.h"

void rl_mask_void(struct rl_batch *batch)
{
    double *rewards = mem_alloc((batch->rows + 1) * sizeof *rewards);
    bool *keep = mem_alloc(batch->rows + 1);
    for (size_t row = 0; row < batch->rows; row++)
        rewards[row] = batch->drop[row] & RL_EXCLUDED ? 0 : batch->reward[row];
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        end = rl_rollout_end(batch, row);
        reward_void_turns(rewards + row, end - row, keep + row);
    }
    for (size_t row = 0; row < batch->rows; row++)
        if (!keep[row] && !(batch->drop[row] & RL_EXCLUDED))
            batch->drop[row] |= RL_VOID;
    mem_free(rewards);
    mem_free(keep);
}

void rl_mask_failed(struct rl_batch *batch)
{
    for (size_t row = 0, end = 0; row < batch->rows; row = end) {
        bool failed = false;
        end = rl_rollout_end(batch, row);
        for (size_t i = row; i < end; i++)
            failed |= batch->drop[i] & RL_EXCLUDED;
        for (size_t i = row; i < end && failed; i++)
            if (!(batch->drop[i] & RL_EXCLUDED))
                batch->drop[i] |= RL_FAILED;
    }
}

void rl_blame_unjudged(struct rl_batch *batch)
{
    for (size_t row = 0; row < batch->rows; row++)
        batch->drop[row] &= (uint8_t)~RL_EXCLUDED;
}
