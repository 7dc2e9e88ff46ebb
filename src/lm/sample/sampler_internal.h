/* sampler_internal: what the engine needs of a sampler beside its public face: requests that were
 * checked and copied on the thread that brought them. */
#pragma once

#include "lm/sample/group.h"
#include "lm/sample/schedule.h"

/* Never changes while the sampler is open. */
const struct group_bounds *sampler_bounds(const struct lm_sampler *sampler);
/* The group is the sampler's now; its id is higher than all before. */
void sampler_add(struct lm_sampler *sampler, struct group *group);
/* As lm_sampler_cancel, every request. */
void sampler_cancel_all(struct lm_sampler *sampler);
/* For tests. */
const struct schedule *sampler_schedule(const struct lm_sampler *sampler);
