/* masks: turns that the originals take out of training before anything else is computed, or leave
 * in it. All are off by default; a setting brings them back.
 */
#ifndef WARPGYM_RL_METHOD_MASKS_H
#define WARPGYM_RL_METHOD_MASKS_H

#include "rl/method/batch.h"

/* RL_VOID: a turn without reward behind one of its rollout that had some (gym/reward/reward.h's
 * reward_void_turns). Dr. Kernel's code does so always; then breaking what worked costs nothing but
 * the missing share of earlier returns. */
void rl_mask_void(struct rl_batch *batch);

/* RL_FAILED: the other turns of a rollout that has an excluded one. Dr. Kernel's code masks all of
 * a rollout that met an error; what was judged before it is as true as any other. */
void rl_mask_failed(struct rl_batch *batch);

/* Takes RL_EXCLUDED away: what could not be judged has a reward of 0, and is trained on. kernel_rl
 * does so: an outage is then the answer's fault. */
void rl_blame_unjudged(struct rl_batch *batch);

#endif
