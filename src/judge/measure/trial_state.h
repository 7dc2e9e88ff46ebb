/* trial_state: what trials share: a trial, its answer, what it leaves for the next one, and what
 * measuring reads and writes.
 *
 * Ownership: struct trial_state is the session's. Threads: the session's.
 */
#pragma once

#include "device/peaks.h"
#include "judge/gpu/device_lease.h"
#include "judge/gpu/gpu_pool.h"
#include "judge/open/reference.h"
#include "judge/process/child.h"
#include "judge/process/fault.h"
#include "judge/process/gpu_cores.h"
#include "judge/request/evaluation.h"
#include "judge/verdict.h"

#define TRIAL_GUARD_BYTE 0xA5
#define TRIAL_POISON_BYTE 0xFF /* a NaN in every floating type */

struct trial {
    struct layout layout;
    uint32_t slots; /* calls on inputs of their own that one clock interval takes; 0: one */
    uint32_t calls; /* native, on a GPU: only those of the first so many slots are made; 0: all */
    bool on_gpu;    /* inputs are made and outputs compared there */
    bool shifted;   /* inputs of another distribution: input_shift.h, promises.py */
    bool alike;     /* no slot has shifted inputs: all calls are to take the same time */
    bool oracle;    /* compute the oracle's answer too */
    bool untouched; /* check that `in` arguments are as they were */
    bool poison;    /* torch: of the memory that its calls take, which costs them time */
    uint32_t warm_ups;       /* struct wire_wake */
    int trace;               /* WIRE_TRACE: where it records to */
    struct time_limit limit; /* of a call of the candidate's, and of what leads to it */
    double
        yield_after_ms; /* of timed calls: the candidate's that takes longer makes way for others;
                           0: either child's does at any time, as nothing is timed */
};

enum trial_result { TRIAL_GOOD, TRIAL_VOID, TRIAL_ENDED };

/* Expected outputs of one trial. */
struct trial_answer {
    uint32_t count;
    bool has_oracle;
    struct tensor reference[WIRE_OUTPUTS];
    struct tensor oracle[WIRE_OUTPUTS];
    double own_error[WIRE_OUTPUTS]; /* of the reference against its oracle: slack for others */
    double noise[WIRE_OUTPUTS];     /* struct comparison; torch: rounding.py says it */
    double noise_most;              /* that any of it can be */
    char *kept[WIRE_OUTPUTS];       /* copies behind `oracle` (torch) */
    size_t kept_bytes[WIRE_OUTPUTS];
    struct gpu_memory kept_on_gpu[WIRE_OUTPUTS]; /* the same on a GPU */
};

/* Of trials that stay on the GPU: trial_gpu.c. */
struct gpu_staging {
    struct gpu_memory image, findings;
    bool image_on_host; /* torch: it does not fit beside the children's, and lies in `staging` */
};

/* Outputs of positions that are not the reference's, until the values there are looked at: all at
 * once, because the reference is called twice for that. */
struct differing_positions {
    uint32_t count;
    bool looked_at; /* the values are: what is not the reference's is wrong */
    struct slot_output {
        uint32_t slot, output;
    } of[WIRE_OUTPUTS];
};

/* What trials leave for the next ones. */
struct trial_state {
    struct trial_answer answer;
    struct differing_positions positions;
    bool noise_measured; /* in the trial at hand, on its inputs */
    char *staging;       /* inputs of the trial at hand, as a slot lays them out */
    uint64_t staging_bytes;
    struct gpu_staging gpu;
    uint64_t noise;    /* of the trial at hand: seeds what layers draw, in both children alike */
    bool shift_passed; /* shifted inputs gave finite answers, which were right */
    uint64_t reference_bytes; /* PyTorch on the CPU: that it has had at the most; 0: not known */
    double most_ms;           /* that a call of the reference's took, or making its inputs */
    struct cpu_affinity affinity;
    int place; /* sessions with other places use other processors, if there are enough */
};

/* What measuring reads, and where it writes what it finds. All is the caller's. */
struct trials {
    const struct evaluation_job *job;
    const struct gpu_context *gpu; /* that both children compute on; NULL: the CPU */
    const struct gpu_unit *unit;   /* the same with its readings and peaks */
    struct device_lease *lease;    /* the same, or the CPU, and how it is held */
    const struct gpu_cores *cores; /* for calls that are timed on GPUs */
    const struct peaks *peaks;     /* of the CPU; NULL: not known */
    _Atomic int *tracing;          /* 1: launches can be traced here; -1: they cannot; 0: unknown */
    struct reference *reference;
    struct child *candidate;
    struct trial_state *state;
    struct verdict *verdict;
    struct fault *fault; /* why a function failed, unless the verdict says it */
};

/* Frees the GPU memory that the judge itself made for an evaluation, and large buffers. */
void trial_state_rest(struct trial_state *state);
void trial_state_deinit(struct trial_state *state);
/* Makes the staging large enough for all slots. */
void trial_make_staging(struct trials *trials);
/* Ends the candidate's process. Its layers and peak memory go into the verdict. */
void trial_end_candidate(struct trials *trials);

/* Whether arguments and outputs of both children never leave the GPU. */
bool trial_is_torch_on_gpu(const struct trials *trials);
