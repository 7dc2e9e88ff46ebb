#include "judge/problem_attempts.h"

#include "base/clock.h"
#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_inputs.h"
#include "judge/measure/trial_noise.h"
#include "judge/numeric/compare.h"
#include "problem/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_PART 16   /* of an axis, that is dropped */
#define LARGEST_PART 16 /* of an output, that is kept */
#define DRAWS_SEEN 32   /* whether inputs come again */
#define DRAWS_MS 500    /* more are not drawn after that time */
#define DRAWS 8         /* of a trial's inputs, where the reference errs by more than it may */
#define TRIALS_MORE 5   /* of what has passed all */
#define TRUTH_ALIGNMENT 256

enum { DRAWN, OTHER }; /* digests */

/* --- where tensors lie ------------------------------------------------------------------------ */

static const struct tensor_operations *operations(const struct probe *probe)
{
    return probe->work.operations;
}

/* What the reference is called with. */
static struct tensor_place slot_of(const struct probe *probe)
{
    const struct child *child = &probe->session->reference.child;
    return (struct tensor_place){child->slot.data, child->arrays.address};
}

/* The same as it was drawn. */
static struct tensor_place staged(const struct probe *probe)
{
    const struct trial_state *state = &probe->session->trials;
    if (probe->work.gpu)
        return (struct tensor_place){.at = state->gpu.image.address};
    return (struct tensor_place){.data = state->staging};
}

static struct tensor_place address_of(const struct tensor *tensor)
{
    return (struct tensor_place){(char *)(uintptr_t)tensor->data, tensor->at};
}

static struct tensor_elements elements_at(struct tensor_place place, const struct tensor *form)
{
    return (struct tensor_elements){.place = place, .count = form->count, .dtype = form->dtype};
}

static int fail(struct probe *probe, const struct err *err)
{
    return fault_set(&probe->session->fault, FAULT_JUDGE, err);
}

static int check(struct probe *probe, int result, const struct err *err)
{
    return result < 0 ? fail(probe, err) : 0;
}

static bool is_over(const struct probe *probe)
{
    return probe->terms->over && *probe->terms->over;
}

static int make_way(struct probe *probe)
{
    const struct problem_audit_terms *terms = probe->terms;
    if (terms->runs)
        terms->runs(terms->context, false);
    int result = trial_make_way(&probe->trials);
    if (terms->runs)
        terms->runs(terms->context, true);
    return result;
}

/* Before a call: between two of them its process can be kept. */
static int go_on(struct probe *probe)
{
    struct err err;
    if (!is_over(probe))
        return make_way(probe);
    (void)!err_set(&err, ERR_CANCELLED, "its time is over");
    return fail(probe, &err);
}

/* Room for a false answer to an output. */
static int reserve_attempt(struct probe *probe, uint32_t output)
{
    struct err err;
    return check(probe,
                 operations(probe)->reserve(&probe->work, &probe->attempt,
                                            probe->truth[output].bytes + 1, &err),
                 &err);
}

static int copy_bytes(struct probe *probe, struct tensor_place from, struct tensor_place to,
                      uint64_t bytes)
{
    struct err err;
    return check(probe, operations(probe)->copy(&probe->work, from, to, bytes, &err), &err);
}

static int restore_inputs(struct probe *probe)
{
    return copy_bytes(probe, staged(probe), slot_of(probe), probe->trial.layout.bytes);
}

/* --- what is recorded ------------------------------------------------------------------------- */

static struct attempt *find_attempt(const struct problem_audit *audit, const char *name)
{
    for (size_t i = 0; i < audit->count; i++)
        if (strcmp(audit->attempts[i].name, name) == 0)
            return &audit->attempts[i];
    return NULL;
}

/* Of an earlier trial, or a new one. */
static struct attempt *attempt_of(struct problem_audit *audit, const char *code, const char *name)
{
    struct attempt *found = find_attempt(audit, name);
    if (found)
        return found;
    if (audit->count == audit->capacity) {
        audit->capacity = audit->capacity ? audit->capacity * 2 : 32;
        audit->attempts = mem_resize(audit->attempts, audit->capacity * sizeof *audit->attempts);
    }
    found = &audit->attempts[audit->count++];
    *found = (struct attempt){.name = arena_strdup(&audit->arena, name), .code = code, .gain = NAN};
    return found;
}

/* False: it was refused in an earlier trial, and once is enough. */
static bool is_open(const struct probe *probe, const char *name)
{
    const struct attempt *attempt = find_attempt(probe->audit, name);
    return !probe->terms->brief || !attempt || problem_audit_passed(attempt);
}

static struct tolerance tolerance_of(const struct probe *probe, uint32_t output)
{
    return trial_tolerance(&probe->trials, output, probe->truth[output].dtype);
}

/* *passed: whether it was true, and what lies there would pass as this output; *error: the largest
 * error in tolerances. */
static int judge_output(struct probe *probe, uint32_t output, struct tensor_place place,
                        bool *passed, double *error)
{
    const struct tensor *truth = &probe->truth[output];
    struct tensor got = *truth;
    struct comparison spec = {
        .dtype = truth->dtype,
        .expected_dtype = truth->dtype,
        .count = truth->count,
        .tolerance = tolerance_of(probe, output),
        .slack = probe->session->trials.answer.own_error[output],
        .noise = probe->session->trials.answer.noise[output],
    };
    struct difference difference;
    struct err err;
    got.data = place.data;
    got.at = place.at;
    if (trial_compare(&probe->trials, &spec, truth, &got, &difference, &err) < 0)
        return fail(probe, &err);
    double allowed = spec.tolerance.relative > 0 ? spec.tolerance.relative : 1;
    *passed &= difference.mismatches == 0;
    *error = fmax(*error, spec.tolerance.exact ? (double)difference.mismatches
                                               : difference.max_relative / allowed);
    return 0;
}

static struct attempt *record_attempt(struct probe *probe, const char *code, const char *name,
                                      bool passed, double error)
{
    struct attempt *attempt = attempt_of(probe->audit, code, name);
    attempt->trials++;
    attempt->passed += passed;
    attempt->worst_error = fmax(attempt->worst_error, error);
    return attempt;
}

/* How many times as fast as the reference an answer is that is made in so many ms. */
static void record_gain(const struct probe *probe, struct attempt *attempt, double ms)
{
    double gain = probe->reference_ms / fmax(ms, 1e-3); /* no call takes less than 1 µs */
    attempt->gain = isnan(attempt->gain) ? gain : fmin(attempt->gain, gain);
}

/* --- attempts --------------------------------------------------------------------------------- */

/* The mean of one number is that number, which is what was asked for: there it is the number of
 * another draw. */
static int find_mean(struct probe *probe, uint32_t output, double *mean)
{
    const struct tensor *truth = &probe->truth[output];
    const struct tensor_elements elements = elements_at(address_of(truth), truth);
    struct err err;
    double sum = 0;
    int result = operations(probe)->sum(&probe->work, &elements, &sum, &err);
    *mean = truth->count == 1  ? probe->other_value[output]
            : truth->count > 0 ? sum / (double)truth->count
                               : 0;
    return check(probe, result, &err);
}

static int try_constant(struct probe *probe, uint32_t output, double value, bool *passed,
                        double *error, double *ms)
{
    struct err err;
    if (reserve_attempt(probe, output) < 0)
        return -1;
    const struct tensor_elements elements = elements_at(probe->attempt.place,
                                                        &probe->truth[output]);
    int64_t start_ns = clock_now_ns();
    int result = operations(probe)->set(&probe->work, &elements, value, &err);
    *ms += clock_ms_since(start_ns);
    return result < 0 ? fail(probe, &err)
                      : judge_output(probe, output, elements.place, passed, error);
}

/* All outputs at one value each: zero, or their own mean. */
static int try_constants(struct probe *probe, bool mean)
{
    const char *name = mean ? "a constant (the answer's mean)" : "zeros";
    const char *code = mean ? "H10" : "H07";
    bool passed = true;
    double error = 0;
    double ms = 0;
    if (!is_open(probe, name))
        return 0;
    for (uint32_t i = 0; i < probe->outputs; i++) {
        double value = 0;
        if ((mean && find_mean(probe, i, &value) < 0) ||
            try_constant(probe, i, value, &passed, &error, &ms) < 0)
            return -1;
    }
    record_gain(probe, record_attempt(probe, code, name, passed, error), ms);
    return 0;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a < b) - (a > b);
}

/* The magnitude that one in LARGEST_PART of its elements reaches, judged by some of them. */
static int find_large_size(struct probe *probe, const struct tensor *tensor, double *size)
{
    const struct tensor_elements elements = elements_at(address_of(tensor), tensor);
    double sizes[TENSOR_SAMPLE];
    uint64_t every = tensor->count / TENSOR_SAMPLE + 1;
    size_t count = tensor_picked(tensor->count, every);
    struct err err;
    if (operations(probe)->pick(&probe->work, &elements, every, sizes, &err) < 0)
        return fail(probe, &err);
    for (size_t i = 0; i < count; i++)
        sizes[i] = fabs(sizes[i]);
    qsort(sizes, count, sizeof *sizes, by_size);
    *size = sizes[count / LARGEST_PART];
    return 0;
}

/* Only the largest elements of an output are right, where others are not zero anyway: they decide
 * alone if a tolerance is relative to something that they dominate. */
static int try_largest_of(struct probe *probe, uint32_t output, const char *name)
{
    const struct tensor *truth = &probe->truth[output];
    struct tensor_trimmed trimmed;
    struct err err;
    double size = 0;
    double error = 0;
    bool passed = true;
    if (find_large_size(probe, truth, &size) < 0 || reserve_attempt(probe, output) < 0 ||
        copy_bytes(probe, address_of(truth), probe->attempt.place, truth->bytes) < 0)
        return -1;
    const struct tensor_elements elements = elements_at(probe->attempt.place, truth);
    if (operations(probe)->trim(&probe->work, &elements, size, &trimmed, &err) < 0)
        return fail(probe, &err);
    if (judge_output(probe, output, elements.place, &passed, &error) < 0)
        return -1;
    if (trimmed.lost > 0 && trimmed.lost * 2 >= truth->count - trimmed.kept)
        record_attempt(probe, "H14", name, passed, error);
    return 0;
}

static int try_largest(struct probe *probe)
{
    char name[64];
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < probe->outputs; i++) {
        const struct tensor *truth = &probe->truth[i];
        snprintf(name, sizeof name, "output %u zero but for its largest sixteenth", i);
        if (truth->count >= 2 && dtype_facts(truth->dtype)->floating && is_open(probe, name))
            result = try_largest_of(probe, i, name);
    }
    return result;
}

static const char *input_name(const struct probe *probe, uint32_t argument, char *name,
                              size_t bytes)
{
    const struct problem *problem = probe->session->job.problem;
    if (argument < problem->argument_count)
        snprintf(name, bytes, "`%s`", problem->arguments[argument].name);
    else
        snprintf(name, bytes, "input %u", argument);
    return name;
}

static bool is_input(const struct layout_argument *argument)
{
    return argument->role == ROLE_IN || argument->role == ROLE_INOUT;
}

static struct tensor_place past(struct tensor_place place, const struct layout_argument *argument)
{
    return tensor_place_past(place, argument->offset);
}

/* How long a copy takes, where it is all that is to be answered. */
static int time_copy(struct probe *probe, struct attempt *attempt, struct tensor_place from)
{
    if (probe->outputs > 1)
        return 0;
    if (reserve_attempt(probe, 0) < 0)
        return -1;
    int64_t start_ns = clock_now_ns();
    int result = copy_bytes(probe, from, probe->attempt.place, probe->truth[0].bytes);
    record_gain(probe, attempt, clock_ms_since(start_ns));
    return result;
}

/* At sizes where their forms differ it is refused. */
static int try_copy(struct probe *probe, uint32_t output, const struct layout_argument *argument,
                    const char *name)
{
    struct tensor_place from = past(staged(probe), argument);
    bool fits = probe->truth[output].count == argument->count;
    bool passed = fits;
    double error = fits ? 0 : INFINITY;
    if (fits && judge_output(probe, output, from, &passed, &error) < 0)
        return -1;
    struct attempt *attempt = record_attempt(probe, "H07", name, passed, error);
    return fits ? time_copy(probe, attempt, from) : 0;
}

/* One output copied from an input of the same form, the others right: enough to be let through only
 * if that output is worth nothing. */
static int try_copies(struct probe *probe)
{
    const struct layout *layout = &probe->trial.layout;
    bool torch = probe->session->job.problem->format == PROBLEM_TORCH; /* with one form */
    char name[LIMIT_NAME_BYTES + 8];
    char text[256];
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        for (uint32_t output = 0; is_input(argument) && output < probe->outputs; output++) {
            const struct tensor *truth = &probe->truth[output];
            if (truth->dtype != argument->dtype || (truth->count != argument->count && torch))
                continue;
            snprintf(text, sizeof text, "output %u a copy of %s", output,
                     input_name(probe, i, name, sizeof name));
            if (is_open(probe, text) && try_copy(probe, output, argument, text) < 0)
                return -1;
        }
    }
    return 0;
}

/* Where an output is one number: which. */
static int keep_other_value(struct probe *probe, uint32_t output, const struct tensor *tensor)
{
    const struct tensor_elements elements = elements_at(address_of(tensor), tensor);
    double values[TENSOR_SAMPLE];
    struct err err;
    if (tensor->count != 1)
        return 0;
    int result = operations(probe)->pick(&probe->work, &elements, 1, values, &err);
    if (result == 0)
        probe->other_value[output] = values[0];
    return check(probe, result, &err);
}

/* Runs the reference on the inputs as they are now in its slot, and compares with the truth. */
static int try_reference(struct probe *probe, const char *code, uint32_t mode, uint64_t noise,
                         const char *name)
{
    struct session *session = probe->session;
    struct child *child = &session->reference.child;
    struct child_time ignored;
    struct err err;
    bool passed = true;
    double error = 0;
    const struct child_call call = {.mode = mode, .noise = noise, .limit = probe->trial.limit};
    if (go_on(probe) < 0)
        return -1;
    if (child_call(child, &call, &ignored, &err) < 0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    for (uint32_t i = 0; i < probe->outputs; i++) {
        struct tensor tensor;
        if (child_output(child, 0, i, &tensor, &err) < 0)
            return fault_set(&session->fault, FAULT_REFERENCE, &err);
        bool fits = tensor.bytes == probe->truth[i].bytes;
        passed &= fits;
        if ((fits && judge_output(probe, i, address_of(&tensor), &passed, &error) < 0) ||
            keep_other_value(probe, i, &tensor) < 0)
            return -1;
    }
    record_attempt(probe, code, name, passed, error);
    return 0;
}

/* Every element of an output may forgive what is lost in the single inputs; an average over all of
 * them always does, and leaves nothing out. */
static bool is_average(const struct probe *probe)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < probe->outputs; i++)
        largest = probe->truth[i].count > largest ? probe->truth[i].count : largest;
    return largest <= 1;
}

static int try_precision(struct probe *probe)
{
    static const char name[] = "lower precision (inputs rounded)";
    const struct layout *layout = &probe->trial.layout;
    struct err err;
    bool any = false;
    if (is_average(probe) || !is_open(probe, name))
        return 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        const struct dtype_facts *facts = dtype_facts(argument->dtype);
        const struct tensor_elements elements = {.place = past(slot_of(probe), argument),
                                                 .count = argument->count,
                                                 .dtype = argument->dtype};
        if (!is_input(argument) || !facts->floating || argument->dtype == DTYPE_BF16)
            continue;
        any = true;
        if (operations(probe)->coarsen(&probe->work, &elements, facts->bytes == 2 ? 7 : 10, &err) <
            0)
            return fail(probe, &err);
    }
    int result = any ? try_reference(probe, "H13", WIRE_RUN, probe->session->trials.noise, name)
                     : 0;
    return result < 0 ? result : restore_inputs(probe);
}

/* Sets the last part of one axis to zero. */
static int drop_slice(struct probe *probe, uint32_t index, uint32_t axis)
{
    const struct layout_argument *argument = &probe->trial.layout.arguments[index];
    const int64_t *shape = probe->shapes[index];
    struct err err;
    uint64_t outer = 1;
    uint64_t size = (uint64_t)shape[axis];
    for (uint32_t d = 0; d < axis; d++)
        outer *= (uint64_t)shape[d];
    uint64_t inner = layout_argument_bytes(argument) / outer / size;
    uint64_t dropped = size / SLICE_PART ? size / SLICE_PART : 1;
    struct tensor_place first = tensor_place_past(past(slot_of(probe), argument),
                                                  (size - dropped) * inner);
    return check(probe,
                 operations(probe)->clear(&probe->work, first, outer, size * inner, dropped * inner,
                                          &err),
                 &err);
}

static int try_slices(struct probe *probe)
{
    const struct layout *layout = &probe->trial.layout;
    char name[LIMIT_NAME_BYTES + 8];
    char text[256];
    for (uint32_t i = 0; i < layout->count; i++) {
        if (!is_input(&layout->arguments[i]) || layout->arguments[i].fill == FILL_OFFSETS ||
            layout->arguments[i].count == 0)
            continue;
        for (uint32_t axis = 0; axis < probe->dimensions[i]; axis++) {
            snprintf(text, sizeof text, "without the last slice of %s along axis %u",
                     input_name(probe, i, name, sizeof name), axis);
            if (probe->shapes[i][axis] < 2 || !is_open(probe, text))
                continue;
            if (drop_slice(probe, i, axis) < 0 ||
                try_reference(probe, "H14", WIRE_RUN, probe->session->trials.noise, text) < 0 ||
                restore_inputs(probe) < 0)
                return -1;
        }
    }
    return 0;
}

static int fill_inputs(struct probe *probe, uint64_t seed)
{
    struct session *session = probe->session;
    struct err err;
    if (go_on(probe) < 0)
        return -1;
    if (session->job.problem->format == PROBLEM_NATIVE)
        fill_slot(&probe->trial.layout, seed, session->reference.child.slot.data);
    else if (child_fill(&session->reference.child, seed, WIRE_UNSHIFTED, probe->trial.limit, &err) <
             0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    return 0;
}

/* Counts what lies in the slot as a draw, and whether an earlier one had the same inputs. */
static int count_draw(struct probe *probe, uint64_t digests[LIMIT_ARGUMENTS])
{
    const struct layout *layout = &probe->trial.layout;
    struct hash *hash = hash_new();
    struct err err;
    bool any = false;
    int result = 0;
    probe->draws = mem_resize(probe->draws, (probe->draw_count + 1) * sizeof *probe->draws);
    for (uint32_t i = 0; result == 0 && i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        uint64_t bytes = layout_argument_bytes(argument);
        digests[i] = 0;
        if (is_input(argument) || argument->role == ROLE_SCALAR)
            result = operations(probe)->digest(&probe->work, past(slot_of(probe), argument), bytes,
                                               &digests[i], &err);
        hash_update(hash, &bytes, sizeof bytes);
        hash_update(hash, &digests[i], sizeof digests[i]);
    }
    hash_finish(hash, probe->draws[probe->draw_count]);
    if (result < 0)
        return fail(probe, &err);
    for (uint32_t i = 0; i < probe->draw_count; i++)
        any |= strcmp(probe->draws[i], probe->draws[probe->draw_count]) == 0;
    probe->draw_count++;
    probe->draws_repeated += any;
    return 0;
}

/* Other inputs, and their answer as an answer to these: one that was kept, or a constant for each
 * element. */
static int try_other_answer(struct probe *probe)
{
    static const char name[] = "the answer to other inputs";
    struct session *session = probe->session;
    uint64_t bytes = probe->trial.layout.bytes;
    struct err err;
    if (fill_inputs(probe, clock_secret()) < 0 || count_draw(probe, probe->digests[OTHER]) < 0)
        return -1;
    if (operations(probe)->reserve(&probe->work, &probe->other, bytes, &err) < 0)
        return fail(probe, &err);
    if (copy_bytes(probe, slot_of(probe), probe->other.place, bytes) < 0)
        return -1;
    double ms = 0;
    for (uint32_t i = 0; i < probe->outputs; i++) {
        if (reserve_attempt(probe, i) < 0)
            return -1;
        int64_t start_ns = clock_now_ns();
        if (copy_bytes(probe, address_of(&probe->truth[i]), probe->attempt.place,
                       probe->truth[i].bytes) < 0)
            return -1;
        ms += clock_ms_since(start_ns);
    }
    if (try_reference(probe, "H04", WIRE_RUN, session->trials.noise, name) < 0)
        return -1;
    record_gain(probe, attempt_of(probe->audit, "H04", name), ms);
    return restore_inputs(probe);
}

/* One input at a time from another draw. */
static int try_ignored(struct probe *probe)
{
    struct session *session = probe->session;
    const struct layout *layout = &probe->trial.layout;
    char name[LIMIT_NAME_BYTES + 8];
    char text[256];
    int result = 0;
    for (uint32_t i = 0; i < layout->count && result == 0; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        snprintf(text, sizeof text, "ignoring %s", input_name(probe, i, name, sizeof name));
        if (probe->digests[OTHER][i] == probe->digests[DRAWN][i] || !is_open(probe, text))
            continue; /* outputs have none */
        result = copy_bytes(probe, past(probe->other.place, argument),
                            past(slot_of(probe), argument), layout_argument_bytes(argument));
        if (result == 0)
            result = try_reference(probe, "H14", WIRE_RUN, session->trials.noise, text);
        if (result == 0)
            result = restore_inputs(probe);
    }
    for (uint32_t i = 0; i < probe->parameters && result == 0; i++) {
        snprintf(text, sizeof text, "without parameter %u", i);
        if (is_open(probe, text))
            result = try_reference(probe, "H14", WIRE_WITHOUT, i, text);
    }
    return result;
}

/* Copies the reference's outputs, behind each other. */
static int keep_truth(struct probe *probe)
{
    const struct trial_answer *answer = &probe->session->trials.answer;
    struct err err;
    uint64_t bytes = 0;
    probe->outputs = answer->count;
    for (uint32_t i = 0; i < answer->count; i++)
        bytes += answer->reference[i].bytes + TRUTH_ALIGNMENT;
    if (operations(probe)->reserve(&probe->work, &probe->truths, bytes, &err) < 0)
        return fail(probe, &err);
    bytes = 0;
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct tensor *tensor = &answer->reference[i];
        struct tensor_place place = tensor_place_past(probe->truths.place, bytes);
        if (copy_bytes(probe, address_of(tensor), place, tensor->bytes) < 0)
            return -1;
        probe->truth[i] = *tensor;
        probe->truth[i].data = place.data;
        probe->truth[i].at = place.at;
        bytes += (tensor->bytes / TRUTH_ALIGNMENT + 1) * TRUTH_ALIGNMENT;
    }
    return 0;
}

/* The true answer, copied; *own_error: how far it is from its oracle, in tolerances. */
static int learn_truth(struct probe *probe, double *own_error)
{
    struct session *session = probe->session;
    const struct trial_answer *answer = &session->trials.answer;
    struct child_time time;
    *own_error = NAN;
    if (go_on(probe) < 0 || trial_reference(&probe->trials, &probe->trial, &time) < 0)
        return -1;
    struct err err;
    memset(session->trials.answer.noise, 0, sizeof session->trials.answer.noise);
    if (trial_take_noise(&probe->trials, &probe->trial, &err) < 0)
        return fault_set(probe->trials.fault, FAULT_REFERENCE, &err);
    probe->reference_ms = time.own_ms;
    if (keep_truth(probe) < 0)
        return -1;
    for (uint32_t i = 0; i < probe->outputs; i++) {
        double allowed = tolerance_of(probe, i).relative;
        if (answer->has_oracle && allowed > 0)
            *own_error = fmax(*own_error, answer->own_error[i] / allowed);
    }
    return restore_inputs(probe); /* an inout argument holds the answer now */
}

static int stage_inputs(struct probe *probe)
{
    struct err err;
    if (probe->work.gpu)
        return check(probe, trial_gpu_stage(&probe->trials, &err), &err);
    trial_stage(&probe->trials);
    return 0;
}

static int draw_inputs(struct probe *probe)
{
    if (make_way(probe) < 0 || fill_inputs(probe, clock_secret()) < 0 || stage_inputs(probe) < 0)
        return -1;
    return count_draw(probe, probe->digests[DRAWN]);
}

/* Inputs and their answer. A sum that happens to be near zero is less precise than its tolerance
 * asks for, in whatever order it is made: the reference is outside only if other inputs say so,
 * too. */
static int draw_truth(struct probe *probe)
{
    struct problem_audit *audit = probe->audit;
    int draws = audit->own_error > 1 ? 1 : DRAWS; /* one trial says enough */
    double least = NAN;
    double own_error = INFINITY;
    for (int i = 0; i < draws && own_error > 1; i++) {
        if (draw_inputs(probe) < 0 || learn_truth(probe, &own_error) < 0)
            return -1;
        least = fmin(least, own_error);
    }
    audit->own_error = fmax(audit->own_error, least);
    return 0;
}

/* Whether a second run gives the truth, too. */
static int run_again(struct probe *probe)
{
    struct child_time ignored;
    if (go_on(probe) < 0 || trial_reference(&probe->trials, &probe->trial, &ignored) < 0)
        return -1;
    double error = 0;
    for (uint32_t i = 0; i < probe->outputs; i++)
        if (judge_output(probe, i, address_of(&probe->session->trials.answer.reference[i]),
                         &probe->audit->deterministic, &error) < 0)
            return -1;
    return restore_inputs(probe);
}

bool probe_is_settled(const struct probe *probe)
{
    bool settled = probe->terms->brief && probe->audit->trials > 0;
    for (size_t i = 0; i < probe->audit->count && settled; i++)
        settled = probe->audit->attempts[i].passed < probe->audit->attempts[i].trials;
    return settled;
}

static int draw_once(struct probe *probe)
{
    if (make_way(probe) < 0 || fill_inputs(probe, clock_secret()) < 0)
        return -1;
    return count_draw(probe, probe->digests[OTHER]);
}

int probe_draw(struct probe *probe)
{
    return draw_once(probe) < 0 ? -1 : draw_once(probe);
}

int probe_run(struct probe *probe)
{
    probe->session->trials.noise = clock_secret();
    if (draw_truth(probe) < 0 || run_again(probe) < 0 || try_other_answer(probe) < 0)
        return -1;
    probe->audit->trials++;
    if (try_constants(probe, false) < 0 || try_constants(probe, true) < 0 ||
        try_copies(probe) < 0 || try_largest(probe) < 0 || try_precision(probe) < 0 ||
        try_slices(probe) < 0 || try_ignored(probe) < 0)
        return -1;
    return 0;
}

static bool has_passed(const struct probe *probe)
{
    for (size_t i = 0; i < probe->audit->count; i++)
        if (problem_audit_worthless(&probe->audit->attempts[i]))
            return true;
    return false;
}

int probe_confirm(struct probe *probe)
{
    struct fault *fault = &probe->session->fault;
    int result = 0;
    for (int i = 0; i < TRIALS_MORE && result == 0 && has_passed(probe); i++)
        result = probe_run(probe);
    if (result < 0 && fault->err.code == ERR_CANCELLED && !is_over(probe))
        return -1;
    fault->source = FAULT_NONE; /* what the trials before found holds without it */
    return 0;
}

int probe_draw_many(struct probe *probe)
{
    int64_t start_ns = clock_now_ns();
    while (probe->draw_count < DRAWS_SEEN && clock_ms_since(start_ns) < DRAWS_MS && !is_over(probe))
        if (draw_once(probe) < 0)
            return -1;
    return 0;
}

void probe_finish(struct probe *probe)
{
    /* Of so many draws few are new where there are up to half as many different ones. */
    bool passed = probe->draws_repeated * 2 >= probe->draw_count;
    record_attempt(probe, "H04", "answers kept for inputs that come again", passed,
                   passed ? 0 : INFINITY);
}

void probe_deinit(struct probe *probe)
{
    mem_free(probe->draws);
    tensor_memory_free(&probe->other);
    tensor_memory_free(&probe->attempt);
    tensor_memory_free(&probe->truths);
    tensor_work_close(&probe->work);
}
