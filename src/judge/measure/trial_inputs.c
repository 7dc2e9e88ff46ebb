#include "judge/measure/trial_inputs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "judge/measure/trial_gpu.h"
#include "judge/numeric/input_shift.h"
#include "problem/fill.h"

#include <math.h>
#include <string.h>

int trial_layout(const struct trials *trials, uint32_t at, struct layout *layout, double *bytes,
                 struct err *err)
{
    const struct problem *problem = trials->job->problem;
    *layout = trials->reference->torch_layout;
    *bytes = 0;
    if (trials->reference->cases.count > 1) { /* the first one is timed, and traced */
        layout->count = trials->reference->cases.first_tensors;
        layout->cases = 1;
    }
    if (problem->format == PROBLEM_TORCH)
        return 0;
    const struct size_set *sizes = at < problem->time_count ? &problem->time[at]
                                                            : &problem->check[0];
    *bytes = problem_bytes(problem, sizes);
    return problem_layout(problem, sizes, layout, err);
}

struct time_limit trial_limit(const struct trials *trials, const struct trial *trial,
                              const struct child *child)
{
    struct time_limit load = time_limit_load(trials->job->settings);
    if (child == trials->candidate)
        return time_limit_beside(trial->limit, trials->state->most_ms);
    return load.ms > trial->limit.ms ? load : trial->limit;
}

/* Memory for the trial's slots, and the child stopped. */
static int map_child(struct trials *trials, const struct trial *trial, struct child *child,
                     bool oracle, struct err *err)
{
    int result = child_map(child, &trial->layout, &trials->job->largest,
                           trial->slots ? trial->slots : 1, oracle,
                           time_limit_load(trials->job->settings), err);
    return result < 0 ? result : sandboxed_freeze(&child->process, err);
}

int trial_map_reference(struct trials *trials, const struct trial *trial, bool oracle)
{
    struct err err;
    oracle = oracle && trials->reference->oracle && trials->job->problem->format == PROBLEM_NATIVE;
    if (map_child(trials, trial, &trials->reference->child, oracle, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    if (trial_is_torch_on_gpu(trials) && trial_gpu_make_image(trials, trial, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    return 0;
}

int trial_map(struct trials *trials, const struct trial *trial, bool oracle)
{
    struct err err;
    if (trial->oracle) /* of the problem or sizes before; timed trials take the warm-up's */
        memset(trials->state->answer.own_error, 0, sizeof trials->state->answer.own_error);
    if (trial_map_reference(trials, trial, oracle) < 0)
        return -1;
    return map_child(trials, trial, trials->candidate, false, &err) < 0
               ? fault_set(trials->fault, FAULT_CANDIDATE, &err)
               : 0;
}

/* Poisons a slot's outputs, and fills the guard bytes between arguments. */
static void poison_slot(const struct layout *layout, char *slot)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        uint64_t bytes = layout_argument_bytes(argument);
        char *place = slot + argument->offset;
        if (argument->role == ROLE_OUT)
            memset(place, TRIAL_POISON_BYTE, bytes);
        memset(place + bytes, TRIAL_GUARD_BYTE, LAYOUT_GUARD_BYTES);
    }
}

static void lay_out_slot(const struct layout *layout, const char *staged, char *slot)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        if (argument->role != ROLE_OUT)
            memcpy(slot + argument->offset, staged + argument->offset,
                   layout_argument_bytes(argument));
    }
    poison_slot(layout, slot);
}

int trial_lay_out(const struct trials *trials, const struct trial *trial, struct child *child,
                  struct err *err)
{
    sandboxed_mark_idle(&child->process);
    if (trial->on_gpu || trial_is_torch_on_gpu(trials))
        return trial_gpu_lay_out(trials, child, err);
    for (uint32_t slot = 0; slot < child->slots; slot++)
        lay_out_slot(&child->layout, trials->state->staging + slot * child->layout.bytes,
                     child->slot.data + slot * child->layout.bytes);
    return child_push(child, err);
}

void trial_stage(struct trials *trials)
{
    trial_make_staging(trials);
    memcpy(trials->state->staging, trials->reference->child.slot.data,
           trials->reference->child.layout.bytes);
}

static void fill_slots(struct trials *trials, uint64_t seed)
{
    const struct layout *layout = &trials->reference->child.layout;
    for (uint32_t slot = 0; slot < trials->reference->child.slots; slot++)
        fill_slot(layout, slot ? clock_secret() : seed,
                  trials->state->staging + slot * layout->bytes);
}

static int fill_child(struct trials *trials, const struct trial *trial, struct child *child,
                      uint64_t seed, enum wire_shift shift)
{
    struct err err;
    int64_t start_ns = clock_now_ns();
    double waited_ms = trials->lease->waited_ms; /* while others had their turns */
    if (child_fill(child, seed, shift, trial_limit(trials, trial, child), &err) == 0 &&
        sandboxed_freeze(&child->process, &err) == 0) {
        if (child != trials->candidate)
            trials->state->most_ms = fmax(trials->state->most_ms,
                                          clock_ms_since(start_ns) -
                                              (trials->lease->waited_ms - waited_ms));
        return 0;
    }
    return fault_set(trials->fault, child == trials->candidate ? FAULT_CANDIDATE : FAULT_REFERENCE,
                     &err);
}

static int fill_reference(struct trials *trials, const struct trial *trial, uint64_t seed)
{
    bool one = trial->slots > 1 && trials->state->shift_passed && !trial->alike;
    enum wire_shift shift = trial->shifted ? WIRE_SHIFTED : one ? WIRE_ONE_SHIFTED : WIRE_UNSHIFTED;
    return fill_child(trials, trial, &trials->reference->child, seed, shift);
}

/* A process that has just made inputs is quicker in its next calls: a model of 100 us got a
 * speedup of 0.9 against itself. So before timed calls the candidate makes some, too, of the same
 * forms. The judge writes over them. */
static int fill_both(struct trials *trials, const struct trial *trial, uint64_t seed)
{
    bool reference_first = clock_secret() & 1;
    if (reference_first && fill_reference(trials, trial, seed) < 0)
        return -1;
    if (fill_child(trials, trial, trials->candidate, clock_secret(), WIRE_UNSHIFTED) < 0)
        return -1;
    return reference_first ? 0 : fill_reference(trials, trial, seed);
}

static int prepare_torch(struct trials *trials, const struct trial *trial, uint64_t seed, bool gone)
{
    struct err err;
    bool both = trial->yield_after_ms > 0 && !gone && !trials->gpu;
    if (trials->gpu && trial->warm_ups > 0 && trial_gpu_lay_out_again(trials, trial, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    if ((both ? fill_both : fill_reference)(trials, trial, seed) < 0)
        return -1;
    if (!trials->gpu)
        trial_stage(trials);
    else if (trial_gpu_stage(trials, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    return 0;
}

int trial_prepare(struct trials *trials, const struct trial *trial)
{
    struct err err;
    uint64_t seed = clock_secret();
    trials->state->noise = clock_secret();
    bool gone = trials->candidate->process.pid <= 0; /* reference_alone.c ended it */
    if (!gone && sandboxed_freeze(&trials->candidate->process, &err) < 0)
        return fault_set(trials->fault, FAULT_CANDIDATE, &err);
    if (trials->job->problem->format == PROBLEM_TORCH)
        return prepare_torch(trials, trial, seed, gone);
    if (trial->on_gpu)
        return trial_gpu_prepare(trials);
    trial_make_staging(trials);
    fill_slots(trials, seed);
    if (trial->shifted)
        input_shift_apply(&trials->reference->child.layout, trials->state->staging,
                          seed ^ clock_secret());
    return 0;
}
