/* train_backend_memory: what an engine of lm/ would take of this machine's memory, before anything is
 * loaded. Threads: pure but for reading files.
 */
#ifndef WARPGYM_POLICY_TRAIN_BACKEND_MEMORY_H
#define WARPGYM_POLICY_TRAIN_BACKEND_MEMORY_H

#include "policy/train_backend.h"

/* ERR_LIMIT with the figures: such a learner does not fit, with its base or without. A learner
 * that is elsewhere does. */
NODISCARD int train_backend_memory_check(const struct train_backend_options *options, bool base,
                                         struct err *err);

#endif
