/* train_backend_memory: estimates the memory that the engine needs, before anything is loaded.
 * Threads: pure but for reading files.
 */
#pragma once

#include "policy/train_backend.h"

/* ERR_LIMIT with the figures: the engine, with its base or without, does not fit. ERR_INPUT: one
 * pass of it cannot hold the longest turn. A remote backend always fits. */
NODISCARD int train_backend_memory_check(const struct train_backend_options *options, bool base,
                                         struct err *err);
