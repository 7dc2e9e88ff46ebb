#include "judge/problem_attempts.h"

#include "base/clock.h"
#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_inputs.h"
#include "judge/numeric/compare.h"
#include "problem/fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_PART 16   /* of an axis, that is dropped */
#define LARGEST_PART 16 /* of an output, that is kept */
#define SAMPLE 4096     /* elements that stand for all of an output */
#define DRAWS 8         /* of a trial's inputs, where the reference errs by more than it may */

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
    return !probe->brief || !attempt || attempt->passed == attempt->trials;
}

static struct tolerance tolerance_of(const struct probe *probe, uint32_t output)
{
    return trial_tolerance(&probe->trials, output, probe->truth[output].dtype);
}

/* Whether `data` would pass as this output; *error: the largest error in tolerances. */
static bool output_passes(const struct probe *probe, uint32_t output, const void *data,
                          double *error)
{
    struct comparison spec = {
        .dtype = probe->truth[output].dtype,
        .expected_dtype = probe->truth[output].dtype,
        .count = probe->truth[output].count,
        .tolerance = tolerance_of(probe, output),
        .slack = probe->session->trials.answer.own_error[output],
        .noise = probe->session->trials.answer.noise[output],
    };
    struct difference difference;
    bool good = compare_tensor(&spec, probe->truth[output].data, data, &difference);
    double allowed = spec.tolerance.relative > 0 ? spec.tolerance.relative : 1;
    *error = fmax(*error, spec.tolerance.exact ? (double)difference.mismatches
                                               : difference.max_relative / allowed);
    return good;
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

static double mean_of(const struct tensor *tensor)
{
    double sum = 0;
    for (uint64_t i = 0; i < tensor->count; i++)
        sum += dtype_load(tensor->dtype, tensor->data, i);
    return tensor->count ? sum / (double)tensor->count : 0;
}

static void *attempt_data(struct probe *probe, size_t bytes)
{
    if (probe->attempt_bytes < bytes) {
        probe->attempt = mem_resize(probe->attempt, bytes);
        probe->attempt_bytes = bytes;
    }
    return probe->attempt;
}

/* All outputs at one value each: zero, or their own mean. The mean of one number is that number,
 * which is what was asked for: there it is the number of another draw. */
static void try_constants(struct probe *probe, bool mean)
{
    const char *name = mean ? "a constant (the answer's mean)" : "zeros";
    const char *code = mean ? "H10" : "H07";
    bool passed = true;
    double error = 0;
    double ms = 0;
    if (!is_open(probe, name))
        return;
    for (uint32_t i = 0; i < probe->outputs; i++) {
        const struct tensor *truth = &probe->truth[i];
        double value = !mean ? 0 : truth->count == 1 ? probe->other_value[i] : mean_of(truth);
        void *data = attempt_data(probe, truth->bytes + 1);
        int64_t start_ns = clock_now_ns();
        for (uint64_t at = 0; at < truth->count; at++)
            dtype_store(truth->dtype, data, at, value);
        ms += clock_ms_since(start_ns);
        passed = output_passes(probe, i, data, &error) && passed;
    }
    record_gain(probe, record_attempt(probe, code, name, passed, error), ms);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a < b) - (a > b);
}

/* The magnitude that one in LARGEST_PART of its elements reaches, judged by some of them. */
static double large_size(const struct tensor *tensor)
{
    double sizes[SAMPLE];
    uint64_t step = tensor->count / SAMPLE + 1;
    size_t count = 0;
    for (uint64_t at = 0; at < tensor->count; at += step)
        sizes[count++] = fabs(dtype_load(tensor->dtype, tensor->data, at));
    qsort(sizes, count, sizeof *sizes, by_size);
    return sizes[count / LARGEST_PART];
}

/* Only the largest elements of an output are right, where others are not zero anyway: they decide
 * alone if a tolerance is relative to something that they dominate. */
static void try_largest(struct probe *probe)
{
    char name[64];
    for (uint32_t i = 0; i < probe->outputs; i++) {
        const struct tensor *truth = &probe->truth[i];
        uint64_t kept = 0;
        uint64_t lost = 0;
        double error = 0;
        snprintf(name, sizeof name, "output %u zero but for its largest sixteenth", i);
        if (truth->count < 2 || !dtype_facts(truth->dtype)->floating || !is_open(probe, name))
            continue;
        double size = large_size(truth);
        char *data = attempt_data(probe, truth->bytes);
        memcpy(data, truth->data, truth->bytes);
        for (uint64_t at = 0; at < truth->count; at++) {
            double value = fabs(dtype_load(truth->dtype, truth->data, at));
            if (!(value < size)) {
                kept++;
                continue;
            }
            lost += value > 0;
            dtype_store(truth->dtype, data, at, 0);
        }
        bool passed = output_passes(probe, i, data, &error);
        if (lost > 0 && lost * 2 >= truth->count - kept)
            record_attempt(probe, "H14", name, passed, error);
    }
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

/* One output copied from an input of the same form, the others right: enough to be let through only
 * if that output is worth nothing. At sizes where their forms differ it is refused. */
static void try_copies(struct probe *probe)
{
    const struct layout *layout = &probe->trial.layout;
    bool torch = probe->session->job.problem->format == PROBLEM_TORCH; /* with one form */
    char name[LIMIT_NAME_BYTES + 8];
    char text[256];
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        for (uint32_t output = 0; is_input(argument) && output < probe->outputs; output++) {
            const struct tensor *truth = &probe->truth[output];
            double error = 0;
            bool fits = truth->count == argument->count;
            if (truth->dtype != argument->dtype || (!fits && torch))
                continue;
            snprintf(text, sizeof text, "output %u a copy of %s", output,
                     input_name(probe, i, name, sizeof name));
            if (!is_open(probe, text))
                continue;
            bool passed = fits &&
                          output_passes(probe, output, probe->inputs + argument->offset, &error);
            struct attempt *attempt = record_attempt(probe, "H07", text, passed,
                                                     fits ? error : INFINITY);
            if (!fits)
                continue;
            void *data = attempt_data(probe, truth->bytes + 1);
            int64_t start_ns = clock_now_ns();
            memcpy(data, probe->inputs + argument->offset, truth->bytes);
            if (probe->outputs == 1)
                record_gain(probe, attempt, clock_ms_since(start_ns));
        }
    }
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
    if (child_call(child, &call, &ignored, &err) < 0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    for (uint32_t i = 0; i < probe->outputs; i++) {
        struct tensor tensor;
        if (child_output(child, 0, i, &tensor, &err) < 0)
            return fault_set(&session->fault, FAULT_REFERENCE, &err);
        passed = tensor.bytes == probe->truth[i].bytes &&
                 output_passes(probe, i, tensor.data, &error) && passed;
        if (tensor.count == 1)
            probe->other_value[i] = dtype_load(tensor.dtype, tensor.data, 0);
    }
    record_attempt(probe, code, name, passed, error);
    return 0;
}

static void restore_inputs(struct probe *probe)
{
    memcpy(probe->session->reference.child.slot.data, probe->inputs, probe->trial.layout.bytes);
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

/* Round to nearest at `bits` of mantissa, through the double that holds every narrower type. */
static double coarsen_value(double value, int bits)
{
    int exponent;
    double mantissa = frexp(value, &exponent);
    return ldexp(nearbyint(ldexp(mantissa, bits + 1)), exponent - bits - 1);
}

static int try_precision(struct probe *probe)
{
    static const char name[] = "lower precision (inputs rounded)";
    const struct layout *layout = &probe->trial.layout;
    bool any = false;
    if (is_average(probe) || !is_open(probe, name))
        return 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        const struct dtype_facts *facts = dtype_facts(argument->dtype);
        char *data = probe->session->reference.child.slot.data + argument->offset;
        if (!is_input(argument) || !facts->floating || argument->dtype == DTYPE_BF16)
            continue;
        int bits = facts->bytes == 2 ? 7 : 10;
        any = true;
        for (uint64_t at = 0; at < argument->count; at++)
            dtype_store(argument->dtype, data, at,
                        coarsen_value(dtype_load(argument->dtype, data, at), bits));
    }
    int result = any ? try_reference(probe, "H13", WIRE_RUN, probe->session->trials.noise, name)
                     : 0;
    restore_inputs(probe);
    return result;
}

/* Sets the last part of one axis to zero; false where the axis is too short to have one. */
static bool drop_slice(struct probe *probe, uint32_t index, uint32_t axis)
{
    const struct layout_argument *argument = &probe->trial.layout.arguments[index];
    const int64_t *shape = probe->shapes[index];
    char *data = probe->session->reference.child.slot.data + argument->offset;
    uint64_t outer = 1;
    uint64_t size = (uint64_t)shape[axis];
    if (shape[axis] < 2)
        return false;
    for (uint32_t d = 0; d < axis; d++)
        outer *= (uint64_t)shape[d];
    uint64_t inner = layout_argument_bytes(argument) / outer / size;
    uint64_t dropped = size / SLICE_PART ? size / SLICE_PART : 1;
    for (uint64_t at = 0; at < outer; at++)
        memset(data + (at * size + size - dropped) * inner, 0, dropped * inner);
    return true;
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
            if (probe->shapes[i][axis] < 2 || !is_open(probe, text) || !drop_slice(probe, i, axis))
                continue;
            int result = try_reference(probe, "H14", WIRE_RUN, probe->session->trials.noise, text);
            restore_inputs(probe);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

static int fill_inputs(struct probe *probe, uint64_t seed)
{
    struct session *session = probe->session;
    struct err err;
    if (session->job.problem->format == PROBLEM_NATIVE)
        fill_slot(&probe->trial.layout, seed, session->reference.child.slot.data);
    else if (child_fill(&session->reference.child, seed, WIRE_UNSHIFTED, probe->trial.limit, &err) <
             0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    return 0;
}

/* Counts a draw, and whether an earlier one had the same inputs. */
static void count_draw(struct probe *probe, const char *inputs)
{
    const struct layout *layout = &probe->trial.layout;
    struct hash *hash = hash_new();
    bool any = false;
    probe->draws = mem_resize(probe->draws, (probe->draw_count + 1) * sizeof *probe->draws);
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        uint64_t bytes = layout_argument_bytes(argument);
        hash_update(hash, &bytes, sizeof bytes);
        if (is_input(argument) || argument->role == ROLE_SCALAR)
            hash_update(hash, inputs + argument->offset, bytes);
    }
    hash_finish(hash, probe->draws[probe->draw_count]);
    for (uint32_t i = 0; i < probe->draw_count; i++)
        any |= strcmp(probe->draws[i], probe->draws[probe->draw_count]) == 0;
    probe->draw_count++;
    probe->draws_repeated += any;
}

/* Other inputs, and their answer as an answer to these: one that was kept, or a constant for each
 * element. */
static int try_other_answer(struct probe *probe)
{
    static const char name[] = "the answer to other inputs";
    struct session *session = probe->session;
    char *slot = session->reference.child.slot.data;
    if (fill_inputs(probe, clock_secret()) < 0)
        return -1;
    probe->other = mem_resize(probe->other, probe->trial.layout.bytes);
    memcpy(probe->other, slot, probe->trial.layout.bytes);
    count_draw(probe, probe->other);
    int64_t start_ns = clock_now_ns();
    for (uint32_t i = 0; i < probe->outputs; i++)
        memcpy(attempt_data(probe, probe->truth[i].bytes + 1), probe->truth[i].data,
               probe->truth[i].bytes);
    double ms = clock_ms_since(start_ns);
    int result = try_reference(probe, "H04", WIRE_RUN, session->trials.noise, name);
    if (result == 0)
        record_gain(probe, attempt_of(probe->audit, "H04", name), ms);
    restore_inputs(probe);
    return result;
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
        uint64_t bytes = layout_argument_bytes(argument);
        snprintf(text, sizeof text, "ignoring %s", input_name(probe, i, name, sizeof name));
        if ((!is_input(argument) && argument->role != ROLE_SCALAR) ||
            memcmp(probe->other + argument->offset, probe->inputs + argument->offset, bytes) == 0 ||
            !is_open(probe, text))
            continue;
        memcpy(session->reference.child.slot.data + argument->offset,
               probe->other + argument->offset, bytes);
        result = try_reference(probe, "H14", WIRE_RUN, session->trials.noise, text);
        restore_inputs(probe);
    }
    for (uint32_t i = 0; i < probe->parameters && result == 0; i++) {
        snprintf(text, sizeof text, "without parameter %u", i);
        if (is_open(probe, text))
            result = try_reference(probe, "H14", WIRE_WITHOUT, i, text);
    }
    return result;
}

/* The true answer, copied; *own_error: how far it is from its oracle, in tolerances. */
static int learn_truth(struct probe *probe, double *own_error)
{
    struct session *session = probe->session;
    struct child_time time;
    *own_error = NAN;
    if (trial_reference(&probe->trials, &probe->trial, &time) < 0)
        return -1;
    struct err err;
    memset(session->trials.answer.noise, 0, sizeof session->trials.answer.noise);
    if (trial_take_noise(&probe->trials, &probe->trial, &err) < 0)
        return fault_set(probe->trials.fault, FAULT_REFERENCE, &err);
    probe->reference_ms = time.own_ms;
    probe->outputs = session->trials.answer.count;
    for (uint32_t i = 0; i < probe->outputs; i++) {
        struct tensor copy = session->trials.answer.reference[i];
        char *data = mem_alloc(copy.bytes + 1);
        if (copy.bytes)
            memcpy(data, copy.data, copy.bytes);
        copy.data = data;
        mem_free((void *)(uintptr_t)probe->truth[i].data);
        probe->truth[i] = copy;
        double allowed = tolerance_of(probe, i).relative;
        if (session->trials.answer.has_oracle && allowed > 0)
            *own_error = fmax(*own_error, session->trials.answer.own_error[i] / allowed);
    }
    restore_inputs(probe); /* an inout argument holds the answer now */
    return 0;
}

static int draw_inputs(struct probe *probe)
{
    if (fill_inputs(probe, clock_secret()) < 0)
        return -1;
    memcpy(probe->inputs, probe->session->reference.child.slot.data, probe->trial.layout.bytes);
    trial_stage(&probe->trials);
    count_draw(probe, probe->inputs);
    return 0;
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
    probe->inputs = mem_resize(probe->inputs, probe->trial.layout.bytes);
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
    if (trial_reference(&probe->trials, &probe->trial, &ignored) < 0)
        return -1;
    for (uint32_t i = 0; i < probe->outputs; i++) {
        double error = 0;
        if (!output_passes(probe, i, probe->session->trials.answer.reference[i].data, &error))
            probe->audit->deterministic = false;
    }
    restore_inputs(probe);
    return 0;
}

bool probe_is_settled(const struct probe *probe)
{
    bool settled = probe->brief && probe->audit->trials > 0;
    for (size_t i = 0; i < probe->audit->count && settled; i++)
        settled = probe->audit->attempts[i].passed < probe->audit->attempts[i].trials;
    return settled;
}

int probe_draw(struct probe *probe)
{
    for (int i = 0; i < 2; i++) {
        if (fill_inputs(probe, clock_secret()) < 0)
            return -1;
        count_draw(probe, probe->session->reference.child.slot.data);
    }
    return 0;
}

int probe_run(struct probe *probe)
{
    probe->session->trials.noise = clock_secret();
    if (draw_truth(probe) < 0 || run_again(probe) < 0 || try_other_answer(probe) < 0)
        return -1;
    probe->audit->trials++;
    try_constants(probe, false);
    try_constants(probe, true);
    try_copies(probe);
    try_largest(probe);
    if (try_precision(probe) < 0 || try_slices(probe) < 0 || try_ignored(probe) < 0)
        return -1;
    return 0;
}

void probe_finish(struct probe *probe)
{
    /* The second draw of three at the most, where there are few different ones. */
    bool passed = probe->draws_repeated * 2 >= probe->draw_count;
    record_attempt(probe, "H04", "answers kept for inputs that come again", passed,
                   passed ? 0 : INFINITY);
}

void probe_deinit(struct probe *probe)
{
    for (uint32_t i = 0; i < WIRE_OUTPUTS; i++)
        mem_free((void *)(uintptr_t)probe->truth[i].data);
    mem_free(probe->draws);
    mem_free(probe->inputs);
    mem_free(probe->other);
    mem_free(probe->attempt);
}
