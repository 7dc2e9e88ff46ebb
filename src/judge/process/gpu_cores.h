/* gpu_cores: a core of its own for each GPU's timed calls.
 *
 * A call whose kernels take less time than launching them takes as long as its processor needs for
 * that. Other work on that processor, or on the other half of its core, makes it half as long
 * again. So no thread or process of this program runs on those cores, except a judging thread and
 * the main thread of the child that it times on that GPU (cpu_affinity_pin_to).
 *
 * Ownership: the caller's storage. Threads: any, once they are kept.
 */
#pragma once

#include <sched.h>

#define GPU_CORES 64

struct gpu_cores {
    int count; /* 0: none are kept */
    int processors[GPU_CORES];
};

/* As many as this machine has device files of. */
int gpu_cores_wanted(void);
/* The last ones of those processors, which are left without their cores. None where there are less
 * than four processors for each. */
void gpu_cores_choose(struct gpu_cores *cores, int count, cpu_set_t *processors);
/* Of those that the calling thread may use; it leaves them, and so does what it makes from now
 * on. */
void gpu_cores_keep(struct gpu_cores *cores, int count);
/* The processor for the GPU with that ordinal; -1: none. */
int gpu_cores_of(const struct gpu_cores *cores, int ordinal);
