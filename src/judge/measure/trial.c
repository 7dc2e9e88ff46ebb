#include "judge/measure/trial.h"

#include "base/clock.h"
#include "base/log.h"
#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_inputs.h"
#include "judge/numeric/input_shift.h"
#include "judge/process/memory_budget.h"
#include "problem/fill.h"
#include "sandbox/memory_use.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void trial_begin(struct trials *trials, bool alone)
{
    bool has_own = alone && trials->unit;
    int own = has_own ? gpu_cores_of(trials->cores, trials->unit->facts.ordinal) : -1;
    if (own >= 0)
        cpu_affinity_pin_to(&trials->state->affinity, own);
    else
        cpu_affinity_pin(&trials->state->affinity, trials->state->place);
    trials->reference->child.affinity = trials->candidate->affinity = &trials->state->affinity;
}

void trial_end(struct trials *trials)
{
    trials->reference->child.affinity = trials->candidate->affinity = NULL;
    cpu_affinity_unpin(&trials->state->affinity);
}

int trial_make_way(struct trials *trials)
{
    struct sandboxed *reference = &trials->reference->child.process;
    struct sandboxed *candidate = &trials->candidate->process;
    struct err err;
    if (!device_lease_over(trials->lease))
        return 0;
    if (reference->pid > 0 && sandboxed_freeze(reference, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    if (candidate->pid > 0 && sandboxed_freeze(candidate, &err) < 0)
        return fault_set(trials->fault, FAULT_CANDIDATE, &err);
    return device_lease_pass(trials->lease, &err) < 0 ? fault_set(trials->fault, FAULT_JUDGE, &err)
                                                      : 0;
}

static void keep_on_host(struct trial_answer *answer, uint32_t output, struct tensor *tensor)
{
    if (answer->kept_bytes[output] < tensor->bytes) {
        answer->kept[output] = mem_resize(answer->kept[output], tensor->bytes);
        answer->kept_bytes[output] = tensor->bytes;
    }
    if (tensor->bytes > 0)
        memcpy(answer->kept[output], tensor->data, tensor->bytes);
    tensor->data = answer->kept[output];
}

/* The copy has ended when it returns: the child's next call writes where it reads. */
static int keep_on_gpu(struct trials *trials, uint32_t output, struct tensor *tensor,
                       struct err *err)
{
    struct gpu_memory *memory = &trials->state->answer.kept_on_gpu[output];
    const struct cuda *cuda = &trials->gpu->cuda;
    cuda_result copied = 0;
    int result = 0;
    if (memory->bytes < tensor->bytes || memory->gpu != trials->gpu) {
        gpu_memory_free(memory);
        result = gpu_memory_make(memory, trials->gpu, tensor->bytes, err);
    }
    if (result < 0)
        return result;
    if (tensor->bytes > 0)
        copied = cuda->copy_on_device(memory->address, tensor->at, tensor->bytes);
    if (copied == 0)
        copied = cuda->synchronize();
    tensor->at = memory->address;
    return cuda_check(cuda, copied, "cannot keep the oracle's answer", err);
}

/* How large answers on the CPU are is known once a PyTorch reference has made one. */
static int check_memory(struct trials *trials, uint64_t copies, uint64_t candidate)
{
    struct err err;
    uint64_t had = candidate ? memory_use_bytes(trials->candidate->process.pid, true) : 0;
    if (memory_budget_check_answers(trials->job->problem->id, copies, candidate, had, &err) == 0)
        return 0;
    return fault_set(trials->fault, FAULT_MEMORY, &err);
}

/* The oracle's are copied twice. */
static int check_oracle_memory(struct trials *trials)
{
    const struct child *child = &trials->reference->child;
    const struct trial_answer *answer = &trials->state->answer;
    uint64_t copies = child_copies_grow(child, child);
    for (uint32_t i = 0; !child->gpu && i < child->outputs.done.count; i++) {
        uint64_t wanted = child->outputs.done.outputs[i].bytes;
        copies += wanted > answer->kept_bytes[i] ? wanted - answer->kept_bytes[i] : 0;
    }
    return check_memory(trials, copies, 0);
}

/* At its first call a candidate takes as much as the reference has taken: what lies between its
 * layers, too, and indices that a pooling makes and drops. */
static int check_answer_memory(struct trials *trials)
{
    const struct child *child = &trials->reference->child;
    uint64_t copies = child_copies_grow(trials->candidate, child);
    uint64_t candidate = copies ? memory_use_peak_bytes(child->process.pid) : 0;
    if (candidate > 0)
        trials->state->reference_bytes = candidate;
    return check_memory(trials, copies + child_copies_grow(child, child), candidate);
}

/* Copies what the oracle said, because the next call's outputs take its place (torch). */
static int keep_oracle(struct trials *trials, struct err *err)
{
    struct trial_answer *answer = &trials->state->answer;
    struct child *child = &trials->reference->child;
    uint32_t count = child_output_count(child);
    for (uint32_t i = 0; i < count; i++) {
        struct tensor tensor;
        int result = child_output(child, 0, i, &tensor, err);
        if (result < 0)
            return result;
        result = child->gpu ? keep_on_gpu(trials, i, &tensor, err) : 0;
        if (result < 0)
            return result;
        if (!child->gpu)
            keep_on_host(answer, i, &tensor);
        answer->oracle[i] = tensor;
    }
    return 0;
}

/* Native: the oracle's outputs lie in its own memory. */
static void point_to_oracle(struct trials *trials)
{
    const struct child *child = &trials->reference->child;
    uint32_t output = 0;
    for (uint32_t i = 0; i < child->layout.count; i++) {
        const struct layout_argument *argument = &child->oracle_layout.arguments[i];
        if (!layout_is_output(argument))
            continue;
        trials->state->answer.oracle[output++] = (struct tensor){
            .dtype = argument->dtype,
            .count = argument->count,
            .bytes = layout_argument_bytes(argument),
            .data = child->oracle.data + argument->offset,
        };
    }
}

/* How far the reference itself is from its oracle: no candidate has to be nearer. */
static int measure_own_error(struct trials *trials, struct err *err)
{
    struct trial_answer *answer = &trials->state->answer;
    for (uint32_t i = 0; i < answer->count; i++) {
        struct comparison spec = {
            .dtype = answer->reference[i].dtype,
            .expected_dtype = answer->oracle[i].dtype,
            .count = answer->reference[i].count,
            .tolerance = trial_tolerance(trials, i, answer->reference[i].dtype),
        };
        struct difference difference;
        answer->own_error[i] = 0;
        if (spec.tolerance.exact || answer->oracle[i].count != spec.count)
            continue;
        int result = trial_compare(trials, &spec, &answer->oracle[i], &answer->reference[i],
                                   &difference, err);
        if (result < 0)
            return result;
        answer->own_error[i] = isfinite(difference.max_relative) ? difference.max_relative : 0;
    }
    return 0;
}

/* Whether an output is still the poison that the judge put there. No arithmetic gives a NaN of
 * these bits; of whole numbers it is -1, so that all of them must be, and as many as no honest
 * output of signs has by chance. */
static bool is_untouched(const struct tensor *tensor)
{
    const struct dtype_facts *facts = dtype_facts(tensor->dtype);
    const unsigned char *data = tensor->data;
    uint64_t bytes = (facts->floating ? 1 : tensor->count) * facts->bytes;
    if (tensor->count < (facts->floating ? 1 : 64))
        return false;
    for (uint64_t i = 0; i < bytes; i++)
        if (data[i] != TRIAL_POISON_BYTE)
            return false;
    return true;
}

/* A reference that writes nothing (a kernel that cannot be launched, say) would agree with a
 * candidate that writes nothing. */
static int check_written(struct trials *trials)
{
    struct err err;
    for (uint32_t i = 0; i < trials->state->answer.count; i++)
        if (is_untouched(&trials->state->answer.reference[i])) {
            (void)!err_set(&err, ERR_INPUT, "it did not write its output %u", i);
            return fault_set(trials->fault, FAULT_REFERENCE, &err);
        }
    return 0;
}

/* Before its inputs come, a PyTorch child does all that a call needs beside them. A stopped
 * process's kernels run on, so on a GPU the clock starts then, too: kernels that work as soon as
 * the inputs are there work on the clock. */
static int get_ready(const struct trial *trial, struct child *child, struct child_call *call,
                     struct err *err)
{
    int result = 0;
    if (trial->on_gpu || child->kind == CHILD_TORCH)
        result = child_wake(child, trial->warm_ups, trial->poison, call->limit, err);
    call->clock_ns = trial->on_gpu ? clock_now_ns() : 0;
    return result < 0 ? result : child_prepare_call(child, &call->limit, err);
}

static struct child_call describe_call(const struct trials *trials, const struct trial *trial,
                                       const struct child *child, uint32_t mode)
{
    return (struct child_call){.mode = mode,
                               .calls = trial->calls,
                               .noise = trials->state->noise,
                               .limit = trial_limit(trials, trial, child),
                               .yield_after_ms = trial->yield_after_ms,
                               .trace = trial->trace,
                               .stays_on_gpu = trial->on_gpu};
}

/* The oracle's answer to the inputs that the reference's slot holds. */
static int call_oracle(struct trials *trials, struct child_call call)
{
    struct err err;
    struct child_time time;
    call.mode = WIRE_DOUBLE;
    if (child_call(&trials->reference->child, &call, &time, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    trials->verdict->reference_ms += time.ms;
    if (trials->job->problem->format != PROBLEM_TORCH)
        return 0;
    if (check_oracle_memory(trials) < 0)
        return -1;
    if (keep_oracle(trials, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    return 0;
}

int trial_reference(struct trials *trials, const struct trial *trial, struct child_time *time)
{
    struct err err;
    struct child *child = &trials->reference->child;
    struct trial_answer *answer = &trials->state->answer;
    struct child_call call = describe_call(trials, trial, child, WIRE_RUN);
    bool torch = trials->job->problem->format == PROBLEM_TORCH;
    if (trial->yield_after_ms > 0) /* how long it takes is the problem's doing */
        call.yield_after_ms = INFINITY;
    if (get_ready(trial, child, &call, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    if (trial_lay_out(trials, trial, child, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    answer->has_oracle = trial->oracle && trials->reference->oracle;
    if (answer->has_oracle && call_oracle(trials, call) < 0)
        return -1;
    if (answer->has_oracle) /* its call took that clock */
        call.clock_ns = 0;
    if (child_call(child, &call, time, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    trials->verdict->reference_ms += time->ms;
    trials->state->most_ms = fmax(trials->state->most_ms, time->ms);
    if (torch && check_answer_memory(trials) < 0)
        return -1;
    answer->count = child_output_count(child);
    for (uint32_t i = 0; i < answer->count; i++)
        if (child_output(child, 0, i, &answer->reference[i], &err) < 0)
            return fault_set(trials->fault, FAULT_REFERENCE, &err);
    if (!torch && !trial->on_gpu && check_written(trials) < 0)
        return -1;
    if (answer->has_oracle && !torch)
        point_to_oracle(trials);
    if (answer->has_oracle && measure_own_error(trials, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    return 0;
}

/* The reference's are read after its call, so the candidate's are, too: whichever call comes second
 * finds as much in the caches. Only what is as large as the reference's: a candidate may claim more
 * outputs than this machine has memory for, and trial_judge says so. */
static void read_outputs(const struct trials *trials)
{
    struct child *child = trials->candidate;
    const struct trial_answer *answer = &trials->state->answer;
    struct tensor tensor;
    struct err ignored;
    if (child_output_count(child) != answer->count)
        return;
    for (uint32_t i = 0; i < answer->count; i++)
        if (child_output_form(child, 0, i, &tensor, &ignored) < 0 ||
            tensor.bytes != answer->reference[i].bytes ||
            child_output(child, 0, i, &tensor, &ignored) < 0)
            return;
}

int trial_candidate(struct trials *trials, const struct trial *trial, struct child_time *time)
{
    struct err err;
    struct child *child = trials->candidate;
    struct child_call call = describe_call(trials, trial, child, WIRE_RUN);
    if (get_ready(trial, child, &call, &err) < 0)
        return fault_set(trials->fault, FAULT_CANDIDATE, &err);
    if (trial_lay_out(trials, trial, child, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    if (child_call(child, &call, time, &err) < 0)
        return fault_set(trials->fault, FAULT_CANDIDATE, &err);
    trials->verdict->candidate_ms += time->ms;
    if (child->breach == CHILD_LATE) {
        verdict_violation(trials->verdict, "H21", "%s", CHILD_LATE_TEXT);
        return -1;
    }
    read_outputs(trials);
    return 0;
}

int trial_in(struct trials *trials, const struct trial *trial, struct child *child, uint32_t mode,
             struct child_time *time, struct err *err)
{
    struct child_call call = describe_call(trials, trial, child, mode);
    int result = trial_lay_out(trials, trial, child, err);
    return result < 0 ? result : child_call(child, &call, time, err);
}

int trial_answer_again(struct trials *trials, const struct trial *trial, struct err *err)
{
    struct child *child = &trials->reference->child;
    struct trial_answer *answer = &trials->state->answer;
    struct child_time ignored;
    int result = trial_in(trials, trial, child, WIRE_RUN, &ignored, err);
    for (uint32_t i = 0; result == 0 && i < answer->count; i++)
        result = child_output(child, 0, i, &answer->reference[i], err);
    return result;
}

enum trial_result trial_run(struct trials *trials, const struct trial *trial)
{
    struct child_time ignored;
    int64_t start_ns = clock_now_ns();
    if (trial_prepare(trials, trial) < 0)
        return TRIAL_ENDED;
    int64_t prepared_ns = clock_now_ns();
    if (trial_reference(trials, trial, &ignored) < 0)
        return TRIAL_ENDED;
    int64_t answered_ns = clock_now_ns();
    if (trial_candidate(trials, trial, &ignored) < 0)
        return TRIAL_ENDED;
    int64_t called_ns = clock_now_ns();
    enum trial_result result = trial_judge(trials, trial);
    log_write(LOG_LEVEL_DEBUG, "check",
              "ms: prepare %.1f, reference %.1f, candidate %.1f, judge %.1f",
              (double)(prepared_ns - start_ns) * 1e-6, (double)(answered_ns - prepared_ns) * 1e-6,
              (double)(called_ns - answered_ns) * 1e-6, clock_ms_since(called_ns));
    return result;
}
