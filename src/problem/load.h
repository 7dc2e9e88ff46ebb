/* load: from a path to a problem, whatever its format. */
#pragma once

#include "problem/problem.h"

/* From a directory with problem.yaml, or from a .py module. `id` NULL: derived from the path.
 * The caller frees it with problem_deinit; on failure there is nothing to free. */
NODISCARD int problem_load(struct problem *problem, const char *path, const char *id,
                           struct err *err);
