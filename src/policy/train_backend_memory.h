/* train_backend_memory: estimates the memory that the engine needs, before anything is loaded.
 * Threads: pure but for reading files.
 */
#pragma once

#include "policy/train_backend.h"

/* ERR_LIMIT with the figures: the engine, with its base or without, does not fit. A remote backend
 * always does. */
NODISCARD int train_backend_memory_check(const struct train_backend_options *options, bool base,
                                         struct err *err);
