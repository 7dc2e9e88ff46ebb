/* memory_plan: how much of a device's memory a problem takes, so that an evaluation that needs much
 * gets several of a GPU's slots, and waits until they are free (on the CPU: memory_gate.h).
 *
 *   not judged yet   what its arguments and weights take at the least: memory_plan_least, or on the
 *                    CPU memory_plan_machine_least
 *   opened           what that took, too, above all for an oracle: memory_plan_opened
 *   judged before    what it took: memory_plans_note
 *
 * A plan is no limit: where memory was missing among others, the candidate is judged again with all
 * slots (device_lease.h), and what its reference takes there is noted.
 *
 * The table has one entry for each value of a hash's first digits: a problem takes the place of
 * another there, which is then learned again. Threads: any, for every function.
 */
#pragma once

#include "base/hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define MEMORY_PLANS 1024

struct memory_plan {
    char hash[HASH_HEX_BYTES]; /* reference_key */
    uint64_t bytes;
    uint64_t argument_bytes, weight_bytes; /* by their forms; 0: not known */
    bool sized;                            /* these were looked for */
};

struct memory_plans {
    pthread_mutex_t lock;
    struct memory_plan *entries;
};

void memory_plans_init(struct memory_plans *plans);
void memory_plans_deinit(struct memory_plans *plans);
/* It took that much at one time; the most counts. */
void memory_plans_note(struct memory_plans *plans, const char *hash, uint64_t bytes);
/* 0: not known. */
uint64_t memory_plans_find(struct memory_plans *plans, const char *hash);

/* What arguments and weights take by their forms. False: that was not looked for. */
bool memory_plans_sized(struct memory_plans *plans, const char *hash, uint64_t *argument_bytes,
                        uint64_t *weight_bytes);
void memory_plans_size(struct memory_plans *plans, const char *hash, uint64_t argument_bytes,
                       uint64_t weight_bytes);

/* Of a problem whose calls have so many bytes of arguments, and whose models have such weights. */
uint64_t memory_plan_least(uint64_t argument_bytes, uint64_t weight_bytes);
/* The same, of a reference that took `peak_bytes` while it was opened. An oracle's answer takes as
 * much again, while both children, the image and the candidate's answer have theirs. */
uint64_t memory_plan_opened(uint64_t argument_bytes, uint64_t peak_bytes);
/* On the CPU: copies of the arguments, and both children's weights. */
uint64_t memory_plan_machine_least(uint64_t argument_bytes, uint64_t weight_bytes);
/* On the CPU, of a reference whose process has had `peak_bytes` in memory: copies of the arguments,
 * and for both children what it has had beyond those and what any PyTorch process has. */
uint64_t memory_plan_machine(uint64_t argument_bytes, uint64_t peak_bytes);
/* How many of a GPU's slots that is: 1 to `slots`. */
int memory_plan_slots(uint64_t bytes, uint64_t gpu_bytes, int slots);
/* What cached references may have of a GPU's memory where that much of it is planned: no more than
 * half of it, so that a problem that takes more than it was planned for finds that. */
uint64_t memory_plan_spare(uint64_t planned_bytes, uint64_t gpu_bytes);
