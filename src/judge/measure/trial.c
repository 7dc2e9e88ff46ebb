#include "judge/measure/trial.h"

#include "base/clock.h"
#include "base/log.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_judge.h"
#include "judge/numeric/input_shift.h"
#include "judge/request/judge_settings.h"
#include "problem/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void trial_state_free_gpu(struct trial_state *state)
{
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        gpu_memory_free(&state->answer.kept_on_gpu[i]);
    gpu_memory_free(&state->gpu.image);
    gpu_memory_free(&state->gpu.findings);
}

void trial_state_deinit(struct trial_state *state)
{
    trial_state_free_gpu(state);
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        mem_free(state->answer.kept[i]);
    mem_free(state->staging);
}

/* Peak resident memory of a live process, from /proc. */
static uint64_t peak_memory(const struct sandboxed *process)
{
    char path[64];
    char line[256];
    uint64_t kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->pid);
    FILE *file = process->pid > 0 ? fopen(path, "re") : NULL;
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtoull(line + 6, NULL, 10);
    fclose(file);
    return kilobytes * 1024;
}

void trial_end_candidate(struct trials *trials)
{
    struct verdict *verdict = trials->verdict;
    const struct sandboxed *process = &trials->candidate->process;
    if (process->layers)
        verdict->layers = process->layers;
    if (process->pid > 0)
        verdict->peak_memory_bytes = peak_memory(process);
    int64_t start_ns = clock_now_ns();
    child_close(trials->candidate);
    log_write(LOG_LEVEL_DEBUG, "judge", "the candidate's process ended in %.0f ms",
              clock_ms_since(start_ns));
}

bool trial_is_torch_on_gpu(const struct trials *trials)
{
    return trials->gpu && trials->job->problem->format == PROBLEM_TORCH;
}

void trial_begin(struct trials *trials)
{
    cpu_affinity_pin(&trials->state->affinity, trials->state->place);
    trials->reference->child.affinity = trials->candidate->affinity = &trials->state->affinity;
}

void trial_end(struct trials *trials)
{
    trials->reference->child.affinity = trials->candidate->affinity = NULL;
    cpu_affinity_unpin(&trials->state->affinity);
}

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

/* Memory for the trial's slots, and the child stopped. */
static int map_child(struct trials *trials, const struct trial *trial, struct child *child,
                     bool oracle, struct err *err)
{
    int result = child_map(child, &trial->layout, &trials->job->largest,
                           trial->slots ? trial->slots : 1, oracle,
                           run_settings(trials->job->settings)->load_timeout_ms, err);
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

/* Gives one child the staged inputs, and poisons its outputs. Both children get theirs right before
 * their call, by the same steps, so that the caches hold the same, too. */
static int lay_out(const struct trials *trials, const struct trial *trial, struct child *child,
                   struct child_call *call, struct err *err)
{
    if (trial->on_gpu || trial_is_torch_on_gpu(trials)) {
        int result = trial_gpu_lay_out(trials, child, err);
        call->inputs_ns = clock_now_ns();
        return result;
    }
    for (uint32_t slot = 0; slot < child->slots; slot++)
        lay_out_slot(&child->layout, trials->state->staging + slot * child->layout.bytes,
                     child->slot.data + slot * child->layout.bytes);
    return child_push(child, err);
}

void trial_make_staging(struct trials *trials)
{
    uint64_t bytes = trials->reference->child.slots * trials->reference->child.layout.bytes;
    if (trials->state->staging_bytes >= bytes)
        return;
    mem_free(trials->state->staging);
    trials->state->staging = mem_alloc(bytes);
    trials->state->staging_bytes = bytes;
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

static int prepare_torch(struct trials *trials, const struct trial *trial, uint64_t seed)
{
    struct err err;
    bool one = trial->slots > 1 && trials->state->shift_passed && !trial->alike;
    enum wire_shift shift = trial->shifted ? WIRE_SHIFTED : one ? WIRE_ONE_SHIFTED : WIRE_UNSHIFTED;
    if (child_fill(&trials->reference->child, seed, shift, trial->timeout_ms, &err) < 0 ||
        sandboxed_freeze(&trials->reference->child.process, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
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
    bool gone = trials->candidate->process.pid <= 0; /* confirm.c ended it */
    if (!gone && sandboxed_freeze(&trials->candidate->process, &err) < 0)
        return fault_set(trials->fault, FAULT_CANDIDATE, &err);
    if (trials->job->problem->format == PROBLEM_TORCH)
        return prepare_torch(trials, trial, seed);
    if (trial->on_gpu)
        return trial_gpu_prepare(trials);
    trial_make_staging(trials);
    fill_slots(trials, seed);
    if (trial->shifted)
        input_shift_apply(&trials->reference->child.layout, trials->state->staging,
                          seed ^ clock_secret());
    return 0;
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

/* A stopped process's kernels run on, so on a GPU the clock starts before the inputs come: kernels
 * that work as soon as they are there work on the clock. */
static int start_clock(struct child *child, struct child_call *call, struct err *err)
{
    int result = child_wake(child, call->noise, call->timeout_ms, err);
    call->clock_ns = clock_now_ns();
    return result;
}

static struct child_call describe_call(const struct trials *trials, const struct trial *trial,
                                       uint32_t mode)
{
    return (struct child_call){.mode = mode,
                               .calls = trial->calls,
                               .noise = trials->state->noise,
                               .timeout_ms = trial->timeout_ms,
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
    if (trials->job->problem->format == PROBLEM_TORCH && keep_oracle(trials, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    return 0;
}

int trial_reference(struct trials *trials, const struct trial *trial, struct child_time *time)
{
    struct err err;
    struct child *child = &trials->reference->child;
    struct trial_answer *answer = &trials->state->answer;
    struct child_call call = describe_call(trials, trial, WIRE_RUN);
    bool torch = trials->job->problem->format == PROBLEM_TORCH;
    if (trial->on_gpu && start_clock(child, &call, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    if (lay_out(trials, trial, child, &call, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    answer->has_oracle = trial->oracle && trials->reference->oracle;
    if (answer->has_oracle && call_oracle(trials, call) < 0)
        return -1;
    if (answer->has_oracle) /* its call took that clock */
        call.clock_ns = 0;
    if (child_call(child, &call, time, &err) < 0)
        return fault_set(trials->fault, FAULT_REFERENCE, &err);
    trials->verdict->reference_ms += time->ms;
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

int trial_candidate(struct trials *trials, const struct trial *trial, struct child_time *time)
{
    struct err err;
    struct child *child = trials->candidate;
    struct child_call call = describe_call(trials, trial, WIRE_RUN);
    if (trial->on_gpu && start_clock(child, &call, &err) < 0)
        return fault_set(trials->fault, FAULT_CANDIDATE, &err);
    if (lay_out(trials, trial, child, &call, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    if (child_call(child, &call, time, &err) < 0)
        return fault_set(trials->fault, FAULT_CANDIDATE, &err);
    trials->verdict->candidate_ms += time->ms;
    if (child->breach == CHILD_LATE) {
        verdict_violation(trials->verdict, "H21",
                          "its outputs still changed after it had said that it was done");
        return -1;
    }
    return 0;
}

int trial_in(struct trials *trials, const struct trial *trial, struct child *child, uint32_t mode,
             struct child_time *time, struct err *err)
{
    struct child_call call = describe_call(trials, trial, mode);
    int result = lay_out(trials, trial, child, &call, err);
    return result < 0 ? result : child_call(child, &call, time, err);
}

enum trial_result trial_run(struct trials *trials, const struct trial *trial)
{
    struct child_time ignored;
    if (trial_prepare(trials, trial) < 0 || trial_reference(trials, trial, &ignored) < 0 ||
        trial_candidate(trials, trial, &ignored) < 0)
        return TRIAL_ENDED;
    return trial_judge(trials, trial);
}
