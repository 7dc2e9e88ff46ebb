/* learner_memory: what an engine of lm/ would take of this machine's memory, before anything is
 * loaded. Threads: pure but for reading files.
 */
#ifndef WARPGYM_POLICY_LEARNER_MEMORY_H
#define WARPGYM_POLICY_LEARNER_MEMORY_H

#include "policy/learner.h"

struct learner_memory {
    uint64_t weights;     /* of the model and of the sampler's copy */
    uint64_t training;    /* gradients and the optimiser's two moments */
    uint64_t activations; /* of one pass of batch_tokens */
    uint64_t cache;       /* keys and values of the samples under way, at their longest */
    uint64_t base;        /* learner_open_base: a copy of what is trained, a pass forward */
    uint64_t available;   /* 0: not known */
};

/* All 0 for a learner that is elsewhere. */
NODISCARD int learner_memory(struct learner_memory *memory, const struct learner_options *options,
                             struct err *err);
/* ERR_LIMIT with the figures: such a learner does not fit, with its base or without. */
NODISCARD int learner_memory_check(const struct learner_options *options, bool base,
                                   struct err *err);

#endif
