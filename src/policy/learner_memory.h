/* learner_memory: what an engine of lm/ would take of this machine's memory, before anything is
 * loaded. Threads: pure but for reading files.
 */
#ifndef WARPGYM_POLICY_LEARNER_MEMORY_H
#define WARPGYM_POLICY_LEARNER_MEMORY_H

#include "policy/learner.h"

/* ERR_LIMIT with the figures: such a learner does not fit, with its base or without. A learner
 * that is elsewhere does. */
NODISCARD int learner_memory_check(const struct learner_options *options, bool base,
                                   struct err *err);

#endif
