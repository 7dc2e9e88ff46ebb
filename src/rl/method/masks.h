/* masks: turns that the originals remove from training before anything else is computed, or keep in
 * it. All are off by default; a setting enables each. Ownership: the batch is the caller's.
 * Threads: pure.
 */
#pragma once

#include "rl/method/batch.h"

/* RL_VOID: a turn without reward after one of its rollout with a reward (gym/reward/reward.h's
 * reward_void_turns). Dr. Kernel's code always does so; then breaking a working kernel costs only
 * the missing share of earlier returns. */
void rl_mask_void(struct rl_batch *batch);

/* RL_FAILED: the other turns of a rollout with an excluded one. Dr. Kernel's code masks a whole
 * rollout after an error; the turns before it were judged correctly. */
void rl_mask_failed(struct rl_batch *batch);

/* Clears RL_EXCLUDED: unjudged turns have a reward of 0 and are trained on. kernel_rl does so: an
 * outage then counts against the answer. */
void rl_blame_unjudged(struct rl_batch *batch);
