/* opening: what the layer that opens reference and candidate reads, and where it writes what it
 * finds.
 *
 * Ownership: all is the caller's. Threads: the session's. Errors: functions that return int return
 * 0, or -1 if opening->fault was set or the verdict has an end.
 */
#pragma once

#include "judge/build/scratch.h"
#include "judge/open/reference_cache.h"
#include "judge/process/fault.h"
#include "judge/request/evaluation.h"
#include "judge/verdict.h"

/* Times a problem's arguments that a process may have in memory: its own, an oracle's, and as much
 * to work in. */
#define OPENING_COPIES 3

struct opening {
    struct evaluation_job *job;
    struct spawner *spawner;
    struct spawner_reserve *reserve; /* processes with a GPU context for both */
    struct gpu_unit *unit;           /* that both compute on; NULL: the CPU */
    const struct gpu_context *gpu;   /* the same */
    const struct gpu_work *work;     /* the judge's kernels there; NULL: none, or not yet */
    struct device_lease *lease;      /* the device, for children while they are loaded */
    const struct err *no_gpu;        /* why a CUDA candidate has none */
    const struct build_context *build;
    struct child_builder *builder;      /* for what torch processes request */
    struct reference_cache *references; /* of the judge */
    uint32_t threads;                   /* that a child may use */
    struct reference *reference;
    struct child *candidate;
    struct verdict *verdict;
    struct fault *fault;
};

/* Another session's reference, which is at rest, in place of its own. */
void opening_take_reference(struct opening *opening, struct reference *from);
/* Whether opening->reference is the reference of the problem at hand, alive; takes it from the
 * cache if it is there. */
bool opening_has_reference(struct opening *opening);
