#include "judge/problem_audit.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "judge/fault_verdict.h"
#include "judge/measure/trial_compare.h"
#include "judge/measure/trial_inputs.h"
#include "judge/numeric/compare.h"
#include "judge/open.h"
#include "judge/request/judge_settings.h"
#include "judge/session_internal.h"
#include "problem/fill.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TORCH_TRIALS 3
#define SLICE_PART 16
#define DESCRIPTION_BYTES ((size_t)16 << 20)

/* One trial: the true answer, and room to make false ones. */
struct probe {
    struct session *session;
    struct trials trials;
    struct problem_audit *audit;
    struct trial trial;
    int64_t shapes[LIMIT_ARGUMENTS][LIMIT_DIMENSIONS];
    uint32_t dimensions[LIMIT_ARGUMENTS];
    char *inputs;  /* the slot as it was filled */
    char *attempt; /* a false answer to one output */
    size_t attempt_bytes;
    struct tensor truth[WIRE_OUTPUTS]; /* owned copies */
    uint32_t outputs;
    uint32_t parameters; /* torch */
};

static struct attempt *attempt_of(struct problem_audit *audit, const char *code, const char *format,
                                  ...) __attribute__((format(printf, 3, 4)));

static struct attempt *attempt_of(struct problem_audit *audit, const char *code, const char *format,
                                  ...)
{
    char name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    for (size_t i = 0; i < audit->count; i++)
        if (strcmp(audit->attempts[i].name, name) == 0)
            return &audit->attempts[i];
    if (audit->count == audit->capacity) {
        audit->capacity = audit->capacity ? audit->capacity * 2 : 32;
        audit->attempts = mem_resize(audit->attempts, audit->capacity * sizeof *audit->attempts);
    }
    struct attempt *made = &audit->attempts[audit->count++];
    *made = (struct attempt){.name = arena_strdup(&audit->arena, name), .code = code};
    return made;
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
    };
    struct difference difference;
    bool good = compare_tensor(&spec, probe->truth[output].data, data, &difference);
    double allowed = spec.tolerance.relative > 0 ? spec.tolerance.relative : 1;
    *error = fmax(*error, spec.tolerance.exact ? (double)difference.mismatches
                                               : difference.max_relative / allowed);
    return good;
}

static void record_attempt(struct attempt *attempt, bool passed, double error)
{
    attempt->trials++;
    attempt->passed += passed;
    attempt->worst_error = fmax(attempt->worst_error, error);
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

/* All outputs at one value each: zero, or their own mean. */
static void try_constants(struct probe *probe, bool mean)
{
    bool passed = true;
    double error = 0;
    for (uint32_t i = 0; i < probe->outputs; i++) {
        const struct tensor *truth = &probe->truth[i];
        double value = mean ? mean_of(truth) : 0;
        void *data = attempt_data(probe, truth->bytes + 1);
        for (uint64_t at = 0; at < truth->count; at++)
            dtype_store(truth->dtype, data, at, value);
        passed = output_passes(probe, i, data, &error) && passed;
    }
    record_attempt(attempt_of(probe->audit, mean ? "H10" : "H07", "%s",
                              mean ? "a constant (the answer's mean)" : "zeros"),
                   passed, error);
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
 * if that output is worth nothing. */
static void try_copies(struct probe *probe)
{
    const struct layout *layout = &probe->trial.layout;
    char name[LIMIT_NAME_BYTES + 8];
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        for (uint32_t output = 0; is_input(argument) && output < probe->outputs; output++) {
            const struct tensor *truth = &probe->truth[output];
            double error = 0;
            if (truth->dtype != argument->dtype || truth->count != argument->count)
                continue;
            bool passed = output_passes(probe, output, probe->inputs + argument->offset, &error);
            record_attempt(attempt_of(probe->audit, "H07", "output %u a copy of %s", output,
                                      input_name(probe, i, name, sizeof name)),
                           passed, error);
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
    const struct child_call call = {.mode = mode,
                                    .noise = noise,
                                    .timeout_ms = probe->trial.timeout_ms};
    if (child_call(child, &call, &ignored, &err) < 0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    for (uint32_t i = 0; i < probe->outputs; i++) {
        struct tensor tensor;
        if (child_output(child, 0, i, &tensor, &err) < 0)
            return fault_set(&session->fault, FAULT_REFERENCE, &err);
        passed = tensor.bytes == probe->truth[i].bytes &&
                 output_passes(probe, i, tensor.data, &error) && passed;
    }
    record_attempt(attempt_of(probe->audit, code, "%s", name), passed, error);
    return 0;
}

static void restore_inputs(struct probe *probe)
{
    memcpy(probe->session->reference.child.slot.data, probe->inputs, probe->trial.layout.bytes);
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
    const struct layout *layout = &probe->trial.layout;
    bool any = false;
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
    int result = any ? try_reference(probe, "H13", WIRE_RUN, probe->session->trials.noise,
                                     "lower precision (inputs rounded)")
                     : 0;
    restore_inputs(probe);
    return result;
}

/* Sets the last part of one axis to zero; false where the axis is too short to have one. */
static bool drop_slice(struct probe *probe, uint32_t index, uint32_t axis)
{
    const struct layout_argument *argument = &probe->trial.layout.arguments[index];
    const int64_t *shape = probe->shapes[index];
    size_t element = dtype_facts(argument->dtype)->bytes;
    char *data = probe->session->reference.child.slot.data + argument->offset;
    uint64_t outer = 1;
    uint64_t inner = element;
    if (shape[axis] < 2)
        return false;
    for (uint32_t d = 0; d < axis; d++)
        outer *= (uint64_t)shape[d];
    for (uint32_t d = axis + 1; d < probe->dimensions[index]; d++)
        inner *= (uint64_t)shape[d];
    uint64_t size = (uint64_t)shape[axis];
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
        if (!is_input(&layout->arguments[i]) || layout->arguments[i].fill == FILL_OFFSETS)
            continue;
        for (uint32_t axis = 0; axis < probe->dimensions[i]; axis++) {
            if (!drop_slice(probe, i, axis))
                continue;
            snprintf(text, sizeof text, "without the last slice of %s along axis %u",
                     input_name(probe, i, name, sizeof name), axis);
            int result = try_reference(probe, "H14", WIRE_RUN, probe->session->trials.noise, text);
            restore_inputs(probe);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

/* One input at a time from another draw. */
static int try_ignored(struct probe *probe)
{
    struct session *session = probe->session;
    const struct layout *layout = &probe->trial.layout;
    char *other = mem_alloc(layout->bytes);
    char name[LIMIT_NAME_BYTES + 8];
    char text[256];
    struct err err;
    int result = 0;
    if (session->job.problem->format == PROBLEM_NATIVE) {
        fill_slot(layout, clock_secret(), session->reference.child.slot.data);
    } else if (child_fill(&session->reference.child, clock_secret(), WIRE_UNSHIFTED,
                          probe->trial.timeout_ms, &err) < 0) {
        result = fault_set(&session->fault, FAULT_REFERENCE, &err);
        goto out;
    }
    memcpy(other, session->reference.child.slot.data, layout->bytes);
    for (uint32_t i = 0; i < layout->count && result == 0; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        uint64_t bytes = layout_argument_bytes(argument);
        restore_inputs(probe);
        if ((!is_input(argument) && argument->role != ROLE_SCALAR) ||
            memcmp(other + argument->offset, probe->inputs + argument->offset, bytes) == 0)
            continue;
        memcpy(session->reference.child.slot.data + argument->offset, other + argument->offset,
               bytes);
        snprintf(text, sizeof text, "ignoring %s", input_name(probe, i, name, sizeof name));
        result = try_reference(probe, "H14", WIRE_RUN, session->trials.noise, text);
    }
    restore_inputs(probe);
    for (uint32_t i = 0; i < probe->parameters && result == 0; i++) {
        snprintf(text, sizeof text, "without parameter %u", i);
        result = try_reference(probe, "H14", WIRE_WITHOUT, i, text);
    }
out:
    mem_free(other);
    return result;
}

/* The true answer, copied; and whether asking twice gives it again. */
static int learn_truth(struct probe *probe)
{
    struct session *session = probe->session;
    struct child_time ignored;
    if (trial_reference(&probe->trials, &probe->trial, &ignored) < 0)
        return -1;
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
            probe->audit->own_error = fmax(isnan(probe->audit->own_error) ? 0
                                                                          : probe->audit->own_error,
                                           session->trials.answer.own_error[i] / allowed);
    }
    restore_inputs(probe); /* an inout argument holds the answer now */
    if (trial_reference(&probe->trials, &probe->trial, &ignored) < 0)
        return -1;
    for (uint32_t i = 0; i < probe->outputs; i++) {
        double error = 0;
        if (!output_passes(probe, i, session->trials.answer.reference[i].data, &error))
            probe->audit->deterministic = false;
    }
    restore_inputs(probe);
    return 0;
}

static int run_probe(struct probe *probe)
{
    struct session *session = probe->session;
    struct err err;
    uint64_t seed = clock_secret();
    session->trials.noise = clock_secret();
    if (session->job.problem->format == PROBLEM_NATIVE)
        fill_slot(&probe->trial.layout, seed, session->reference.child.slot.data);
    else if (child_fill(&session->reference.child, seed, WIRE_UNSHIFTED, probe->trial.timeout_ms,
                        &err) < 0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    probe->inputs = mem_resize(probe->inputs, probe->trial.layout.bytes);
    memcpy(probe->inputs, session->reference.child.slot.data, probe->trial.layout.bytes);
    trial_stage(&probe->trials);
    if (learn_truth(probe) < 0)
        return -1;
    probe->audit->trials++;
    try_constants(probe, false);
    try_constants(probe, true);
    try_copies(probe);
    if (try_precision(probe) < 0 || try_slices(probe) < 0 || try_ignored(probe) < 0)
        return -1;
    return 0;
}

static int probe_sizes(struct probe *probe, const struct size_set *sizes)
{
    struct session *session = probe->session;
    const struct problem *problem = session->job.problem;
    struct err err;
    if (problem_layout(problem, sizes, &probe->trial.layout, &err) < 0)
        return fault_set(&session->fault, FAULT_JUDGE, &err);
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        probe->dimensions[i] = problem->arguments[i].dimensions;
        for (uint32_t d = 0; d < probe->dimensions[i]; d++)
            probe->shapes[i][d] = (int64_t)expression_value(problem->arguments[i].shape[d],
                                                            sizes->value);
    }
    if (child_map(&session->reference.child, &probe->trial.layout, &session->job.largest, 1,
                  session->reference.oracle, 60000, &err) < 0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    return run_probe(probe);
}

static int probe_native(struct probe *probe)
{
    const struct problem *problem = probe->session->job.problem;
    for (uint32_t i = 0; i < problem->check_count; i++)
        if (probe_sizes(probe, &problem->check[i]) < 0)
            return -1;
    return problem->time_count ? probe_sizes(probe, &problem->time[0]) : 0;
}

/* Shapes and the number of parameters, from the description that the reference child wrote. */
static int read_description(struct probe *probe, struct err *err)
{
    char *text;
    size_t bytes;
    json_t *object = NULL;
    json_t *shapes;
    int64_t parameters;
    int fd = dup(probe->session->reference.description);
    lseek(fd, 0, SEEK_SET);
    int result = file_read_fd(fd, "description", DESCRIPTION_BYTES, &text, &bytes, err);
    close(fd);
    if (result < 0)
        return result;
    result = json_parse("description", text, bytes, &object, err);
    mem_free(text);
    if (result == 0)
        result = json_get_array(object, "shapes", &shapes, err);
    if (result == 0)
        result = json_get_int(object, "parameters", &parameters, err);
    for (size_t i = 0; result == 0 && i < json_array_size(shapes) && i < LIMIT_ARGUMENTS; i++) {
        json_t *shape = json_array_get(shapes, i);
        probe->dimensions[i] = (uint32_t)json_array_size(shape);
        if (probe->dimensions[i] > LIMIT_DIMENSIONS)
            result = err_set(err, ERR_LIMIT, "input %zu has too many dimensions", i);
        for (uint32_t d = 0; result == 0 && d < probe->dimensions[i]; d++)
            probe->shapes[i][d] = json_integer_value(json_array_get(shape, d));
    }
    if (result == 0)
        probe->parameters = (uint32_t)parameters;
    json_decref(object);
    return result;
}

static int probe_torch(struct probe *probe)
{
    struct session *session = probe->session;
    struct err err;
    probe->trial.layout = session->reference.torch_layout;
    if (read_description(probe, &err) < 0 ||
        child_map(&session->reference.child, &probe->trial.layout, &probe->trial.layout, 1, false,
                  60000, &err) < 0)
        return fault_set(&session->fault, FAULT_REFERENCE, &err);
    for (int i = 0; i < TORCH_TRIALS; i++)
        if (run_probe(probe) < 0)
            return -1;
    return 0;
}

int problem_audit_run(struct judge *judge, const struct problem *problem,
                      struct problem_audit *audit, struct err *err)
{
    struct session *session = session_new(judge);
    struct verdict verdict;
    struct probe probe = {
        .session = session,
        .audit = audit,
        .trial = {.oracle = true,
                  .timeout_ms = run_settings(judge->options.settings)->load_timeout_ms},
    };
    struct standby *standby;
    verdict_init(&verdict);
    *audit = (struct problem_audit){.own_error = NAN, .deterministic = true};
    session_take_problem(session, problem);
    session->verdict = &verdict;
    int result = spawner_standby(&judge->spawner, SANDBOX_NATIVE, &standby, err);
    if (result == 0)
        result = spawner_probe(&judge->spawner, standby, err);
    if (result == 0) {
        session_prepare_builds(session, standby);
        probe.trials = session_trials(session);
        result = open_only_reference(session);
        if (result == 0)
            result = problem->format == PROBLEM_NATIVE ? probe_native(&probe) : probe_torch(&probe);
        (void)fault_verdict(session);
        if (result < 0)
            result = err_set(err, verdict.status == STATUS_CANCELLED ? ERR_CANCELLED : ERR_INPUT,
                             "%.700s", verdict.error_message ? verdict.error_message : "failed");
    }
    for (uint32_t i = 0; i < WIRE_OUTPUTS; i++)
        mem_free((void *)(uintptr_t)probe.truth[i].data);
    mem_free(probe.inputs);
    mem_free(probe.attempt);
    verdict_deinit(&verdict);
    session_free(session);
    return result;
}

bool problem_audit_gamed(const struct problem_audit *audit)
{
    for (size_t i = 0; i < audit->count; i++)
        if (audit->attempts[i].trials > 0 && audit->attempts[i].passed == audit->attempts[i].trials)
            return true;
    return !audit->deterministic || audit->own_error > 1;
}

void problem_audit_deinit(struct problem_audit *audit)
{
    mem_free(audit->attempts);
    arena_deinit(&audit->arena);
}
