/* clocks: what a GPU's clocks did while it was timed. On the CPU nothing happens.
 *
 * Ownership: the caller's storage, between begin and end. Threads: one.
 */
#pragma once

#include "judge/gpu/gpu_pool.h"
#include "judge/verdict.h"

struct clocks {
    const struct gpu_unit *unit; /* NULL: the CPU */
    struct gpu_watch *watch;     /* of the verdict */
    int64_t looked_ns;
};

void clocks_begin(struct clocks *clocks, const struct gpu_unit *unit, struct verdict *verdict);
/* Reads them, at most every 50 ms. Call it while nothing is being timed. */
void clocks_look(struct clocks *clocks);
/* A GPU that was slowed down is noted in the verdict. */
void clocks_end(struct clocks *clocks, struct verdict *verdict);
