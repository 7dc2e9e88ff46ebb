#include "judge/measure/trial.h"

#include "base/clock.h"
#include "judge/fault.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_judge.h"
#include "judge/numeric/input_shift.h"
#include "judge/session_internal.h"
#include "problem/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void trials_deinit(struct trials *trials)
{
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        mem_free(trials->answer.kept[i]);
    mem_free(trials->staging);
}

bool trial_is_torch_on_gpu(const struct session *session)
{
    return session->lease.gpu && session->job.problem->format == PROBLEM_TORCH;
}

void trial_begin(struct session *session)
{
    cpu_affinity_pin(&session->trials.affinity, session->trials.place);
    session->reference.child.affinity = session->candidate.affinity = &session->trials.affinity;
}

void trial_end(struct session *session)
{
    session->reference.child.affinity = session->candidate.affinity = NULL;
    cpu_affinity_unpin(&session->trials.affinity);
}

int trial_layout(const struct session *session, uint32_t at, struct layout *layout, double *bytes,
                 struct err *err)
{
    const struct problem *problem = session->job.problem;
    *layout = session->reference.torch_layout;
    *bytes = 0;
    if (session->reference.cases.count > 1) { /* the first one is timed, and traced */
        layout->count = session->reference.cases.first_tensors;
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
static int map_child(struct session *session, const struct trial *trial, struct child *child,
                     bool oracle, struct err *err)
{
    int result = child_map(child, &trial->layout, &session->job.largest,
                           trial->slots ? trial->slots : 1, oracle,
                           session->job.settings->run_load_timeout_ms, err);
    return result < 0 ? result : sandboxed_freeze(&child->process, err);
}

int trial_map_reference(struct session *session, const struct trial *trial, bool oracle)
{
    struct err err;
    oracle = oracle && session->reference.oracle && session->job.problem->format == PROBLEM_NATIVE;
    if (map_child(session, trial, &session->reference.child, oracle, &err) < 0)
        return fault_reference(session, &err);
    if (trial_is_torch_on_gpu(session) && trial_gpu_make_image(session, trial, &err) < 0)
        return fault_judge(session, &err);
    return 0;
}

int trial_map(struct session *session, const struct trial *trial, bool oracle)
{
    struct err err;
    if (trial->oracle) /* of the problem or sizes before; timed trials take the warm-up's */
        memset(session->trials.answer.own_error, 0, sizeof session->trials.answer.own_error);
    if (trial_map_reference(session, trial, oracle) < 0)
        return -1;
    return map_child(session, trial, &session->candidate, false, &err) < 0
               ? fault_candidate(session, &err)
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
static int lay_out(const struct session *session, const struct trial *trial, struct child *child,
                   struct child_call *call, struct err *err)
{
    if (trial->on_gpu || trial_is_torch_on_gpu(session)) {
        int result = trial_gpu_lay_out(session, child, err);
        call->inputs_ns = clock_now_ns();
        return result;
    }
    for (uint32_t slot = 0; slot < child->slots; slot++)
        lay_out_slot(&child->layout, session->trials.staging + slot * child->layout.bytes,
                     child->slot.data + slot * child->layout.bytes);
    return child_push(child, err);
}

void trial_make_staging(struct session *session)
{
    uint64_t bytes = session->reference.child.slots * session->reference.child.layout.bytes;
    if (session->trials.staging_bytes >= bytes)
        return;
    mem_free(session->trials.staging);
    session->trials.staging = mem_alloc(bytes);
    session->trials.staging_bytes = bytes;
}

void trial_stage(struct session *session)
{
    trial_make_staging(session);
    memcpy(session->trials.staging, session->reference.child.slot.data,
           session->reference.child.layout.bytes);
}

static void fill_slots(struct session *session, uint64_t seed)
{
    const struct layout *layout = &session->reference.child.layout;
    for (uint32_t slot = 0; slot < session->reference.child.slots; slot++)
        fill_slot(layout, slot ? clock_secret() : seed,
                  session->trials.staging + slot * layout->bytes);
}

static int prepare_torch(struct session *session, const struct trial *trial, uint64_t seed)
{
    struct err err;
    bool one = trial->slots > 1 && session->trials.shift_passed && !trial->alike;
    enum wire_shift bias = trial->shifted ? WIRE_SHIFTED : one ? WIRE_ONE_SHIFTED : WIRE_UNSHIFTED;
    if (child_fill(&session->reference.child, seed, bias, trial->timeout_ms, &err) < 0 ||
        sandboxed_freeze(&session->reference.child.process, &err) < 0)
        return fault_reference(session, &err);
    if (!session->lease.gpu)
        trial_stage(session);
    else if (trial_gpu_stage(session, &err) < 0)
        return fault_judge(session, &err);
    return 0;
}

int trial_prepare(struct session *session, const struct trial *trial)
{
    struct err err;
    uint64_t seed = clock_secret();
    session->trials.noise = clock_secret();
    bool gone = session->candidate.process.pid <= 0; /* confirm.c ended it */
    if (!gone && sandboxed_freeze(&session->candidate.process, &err) < 0)
        return fault_candidate(session, &err);
    if (session->job.problem->format == PROBLEM_TORCH)
        return prepare_torch(session, trial, seed);
    if (trial->on_gpu)
        return trial_gpu_prepare(session);
    trial_make_staging(session);
    fill_slots(session, seed);
    if (trial->shifted)
        input_shift_apply(&session->reference.child.layout, session->trials.staging,
                          seed ^ clock_secret());
    return 0;
}

static void keep_on_host(struct answer *answer, uint32_t output, struct tensor *tensor)
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
static int keep_on_gpu(struct session *session, uint32_t output, struct tensor *tensor,
                       struct err *err)
{
    struct gpu_memory *memory = &session->trials.answer.kept_on_gpu[output];
    const struct cuda *cuda = &session->lease.gpu->cuda;
    cuda_result copied = 0;
    int result = 0;
    if (memory->bytes < tensor->bytes || memory->gpu != session->lease.gpu) {
        gpu_memory_free(memory);
        result = gpu_memory_make(memory, session->lease.gpu, tensor->bytes, err);
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
static int keep_oracle(struct session *session, struct err *err)
{
    struct answer *answer = &session->trials.answer;
    struct child *child = &session->reference.child;
    uint32_t count = child_output_count(child);
    for (uint32_t i = 0; i < count; i++) {
        struct tensor tensor;
        int result = child_output(child, 0, i, &tensor, err);
        if (result < 0)
            return result;
        result = child->gpu ? keep_on_gpu(session, i, &tensor, err) : 0;
        if (result < 0)
            return result;
        if (!child->gpu)
            keep_on_host(answer, i, &tensor);
        answer->oracle[i] = tensor;
    }
    return 0;
}

/* Native: the oracle's outputs lie in its own memory. */
static void point_to_oracle(struct session *session)
{
    const struct child *child = &session->reference.child;
    uint32_t output = 0;
    for (uint32_t i = 0; i < child->layout.count; i++) {
        const struct layout_argument *argument = &child->oracle_layout.arguments[i];
        if (!layout_is_output(argument))
            continue;
        session->trials.answer.oracle[output++] = (struct tensor){
            .dtype = argument->dtype,
            .count = argument->count,
            .bytes = layout_argument_bytes(argument),
            .data = child->oracle.data + argument->offset,
        };
    }
}

/* How far the reference itself is from its oracle: no candidate has to be nearer. */
static int measure_own_error(struct session *session, struct err *err)
{
    struct answer *answer = &session->trials.answer;
    for (uint32_t i = 0; i < answer->count; i++) {
        struct comparison spec = {
            .dtype = answer->reference[i].dtype,
            .expected_dtype = answer->oracle[i].dtype,
            .count = answer->reference[i].count,
            .tolerance = trial_tolerance(session, i, answer->reference[i].dtype),
        };
        struct difference difference;
        answer->own_error[i] = 0;
        if (spec.tolerance.exact || answer->oracle[i].count != spec.count)
            continue;
        int result = trial_compare(session, &spec, &answer->oracle[i], &answer->reference[i],
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
static bool untouched(const struct tensor *tensor)
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
static int check_written(struct session *session)
{
    struct err err;
    for (uint32_t i = 0; i < session->trials.answer.count; i++)
        if (untouched(&session->trials.answer.reference[i])) {
            (void)!err_set(&err, ERR_INPUT, "it did not write its output %u", i);
            return fault_reference(session, &err);
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

static struct child_call describe_call(const struct session *session, const struct trial *trial,
                                       uint32_t mode)
{
    return (struct child_call){.mode = mode,
                               .calls = trial->calls,
                               .noise = session->trials.noise,
                               .timeout_ms = trial->timeout_ms,
                               .trace = trial->trace,
                               .stays_on_gpu = trial->on_gpu};
}

/* The oracle's answer to the inputs that the reference's slot holds. */
static int call_oracle(struct session *session, struct child_call call)
{
    struct err err;
    struct child_time time;
    call.mode = WIRE_DOUBLE;
    if (child_call(&session->reference.child, &call, &time, &err) < 0)
        return fault_reference(session, &err);
    session->verdict->reference_ms += time.ms;
    if (session->job.problem->format == PROBLEM_TORCH && keep_oracle(session, &err) < 0)
        return fault_reference(session, &err);
    return 0;
}

int trial_reference(struct session *session, const struct trial *trial, struct child_time *time)
{
    struct err err;
    struct child *child = &session->reference.child;
    struct answer *answer = &session->trials.answer;
    struct child_call call = describe_call(session, trial, WIRE_RUN);
    bool torch = session->job.problem->format == PROBLEM_TORCH;
    if (trial->on_gpu && start_clock(child, &call, &err) < 0)
        return fault_reference(session, &err);
    if (lay_out(session, trial, child, &call, &err) < 0)
        return fault_judge(session, &err);
    answer->has_oracle = trial->oracle && session->reference.oracle;
    if (answer->has_oracle && call_oracle(session, call) < 0)
        return -1;
    if (answer->has_oracle) /* its call took that clock */
        call.clock_ns = 0;
    if (child_call(child, &call, time, &err) < 0)
        return fault_reference(session, &err);
    session->verdict->reference_ms += time->ms;
    answer->count = child_output_count(child);
    for (uint32_t i = 0; i < answer->count; i++)
        if (child_output(child, 0, i, &answer->reference[i], &err) < 0)
            return fault_reference(session, &err);
    if (!torch && !trial->on_gpu && check_written(session) < 0)
        return -1;
    if (answer->has_oracle && !torch)
        point_to_oracle(session);
    if (answer->has_oracle && measure_own_error(session, &err) < 0)
        return fault_judge(session, &err);
    return 0;
}

int trial_candidate(struct session *session, const struct trial *trial, struct child_time *time)
{
    struct err err;
    struct child *child = &session->candidate;
    struct child_call call = describe_call(session, trial, WIRE_RUN);
    if (trial->on_gpu && start_clock(child, &call, &err) < 0)
        return fault_candidate(session, &err);
    if (lay_out(session, trial, child, &call, &err) < 0)
        return fault_judge(session, &err);
    if (child_call(child, &call, time, &err) < 0)
        return fault_candidate(session, &err);
    session->verdict->candidate_ms += time->ms;
    if (child->breach == CHILD_LATE) {
        verdict_violation(session->verdict, "H21",
                          "its outputs still changed after it had said that it was done");
        return -1;
    }
    return 0;
}

int trial_in(struct session *session, const struct trial *trial, struct child *child, uint32_t mode,
             struct child_time *time, struct err *err)
{
    struct child_call call = describe_call(session, trial, mode);
    int result = lay_out(session, trial, child, &call, err);
    return result < 0 ? result : child_call(child, &call, time, err);
}

enum trial_result trial_run(struct session *session, const struct trial *trial)
{
    struct child_time ignored;
    if (trial_prepare(session, trial) < 0 || trial_reference(session, trial, &ignored) < 0 ||
        trial_candidate(session, trial, &ignored) < 0)
        return TRIAL_ENDED;
    return trial_judge(session, trial);
}
