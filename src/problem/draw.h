/* draw: secret sizes, for problem.c and for the loader's check that they can be drawn at all. */
#pragma once

#include "problem/problem.h"

#define DRAW_TRIES 64

/* Whether `require` (if there is one) accepts these sizes. */
bool draw_accepts(const struct problem *problem, const struct size_set *sizes);

/* One set within `draw` that `require` accepts; false when none came up in DRAW_TRIES. */
bool draw_sizes(const struct problem *problem, uint64_t seed, struct size_set *sizes);
