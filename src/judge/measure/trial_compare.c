#include "judge/measure/trial_compare.h"

#include "judge/measure/trial_choice.h"
#include "judge/measure/trial_gpu.h"
#include "judge/measure/trial_noise.h"
#include "judge/numeric/error_look.h"
#include "judge/process/child.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CACHE_LINE_BYTES 64
#define POSITION_BYTES ((uint64_t)64 << 20) /* of outputs whose positions are looked at together */

/* The argument behind an output of a native problem, counted from 0; NULL: torch has none. */
static const struct argument *output_argument(const struct problem *problem, uint32_t output)
{
    for (uint32_t i = 0; i < problem->argument_count; i++)
        if ((problem->arguments[i].role == ROLE_OUT || problem->arguments[i].role == ROLE_INOUT) &&
            output-- == 0)
            return &problem->arguments[i];
    return NULL;
}

/* Products of numbers with 11 bits: 2^-12 of the scale on average, five times that somewhere. */
#define TF32_RELATIVE 0x1p-9
/* What two honest ways to round may differ by, where a result has 16 bits: two units in the last
 * place. The reference's own error says it too, but only of the numbers that it was measured on. */
static double least_relative(const struct trials *trials, uint32_t dtype)
{
    bool tf32 = evaluation_precision(trials->job) == TORCH_TF32 && dtype == DTYPE_F32;
    return dtype == DTYPE_F16 ? 0x1p-9 : dtype == DTYPE_BF16 ? 0x1p-6 : tf32 ? TF32_RELATIVE : 0;
}

/* Processors flush smaller results to zero in one of their modes. Those of half precision they do
 * not: all of an honest output may be as small. */
static double least_noise(uint32_t dtype)
{
    return dtype == DTYPE_F16 ? 0x1p-24 : dtype == DTYPE_F64 ? DBL_MIN : (double)FLT_MIN;
}

struct tolerance trial_tolerance(const struct trials *trials, uint32_t output, uint32_t dtype)
{
    const struct problem *problem = trials->job->problem;
    const struct cases *cases = &trials->reference->cases;
    const struct argument *argument = output_argument(problem, output);
    uint32_t ignored;
    if (!dtype_facts(dtype)->floating)
        return (struct tolerance){.exact = true};
    if (cases->count > 0)
        return cases->items[cases_find(cases, output, &ignored)].tolerance;
    struct tolerance tolerance = argument ? argument->tolerance : problem->tolerance;
    if (problem->format == PROBLEM_TORCH)
        tolerance.relative = fmax(tolerance.relative, least_relative(trials, dtype));
    struct answer_bound bound;
    evaluation_bound(trials->job, &bound);
    bound_apply(&bound, dtype, &tolerance);
    return tolerance;
}

struct comparison trial_comparison(const struct trials *trials, uint32_t output, uint32_t dtype,
                                   uint32_t expected_dtype, uint64_t count)
{
    /* Held against the reference itself, both are as far from the truth as it may be. */
    const struct trial_answer *answer = &trials->state->answer;
    double own_error = (answer->has_oracle ? 1 : 2) * answer->own_error[output];
    if (trials->job->problem->format == PROBLEM_TORCH)
        own_error = fmin(own_error, TRIAL_MOST_OWN_ERROR);
    return (struct comparison){.dtype = dtype,
                               .expected_dtype = expected_dtype,
                               .count = count,
                               .tolerance = trial_tolerance(trials, output, dtype),
                               .slack = own_error,
                               .noise = fmax(answer->noise[output], least_noise(dtype))};
}

int trial_compare(struct trials *trials, const struct comparison *spec,
                  const struct tensor *expected, const struct tensor *got,
                  struct difference *difference, struct err *err)
{
    if (trials->gpu && !got->data && got->bytes > 0)
        return trial_gpu_compare(trials, spec, expected, got, difference, err);
    compare_tensor(spec, expected->data, got->data, difference);
    return 0;
}

/* Bytes that no argument owns must be as the judge left them. */
static const char *overrun_argument(const struct trials *trials, uint32_t slot)
{
    const struct layout *layout = &trials->candidate->layout;
    const char *data = trials->candidate->slot.data + slot * layout->bytes;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        const unsigned char *guard = (const unsigned char *)data + argument->offset +
                                     layout_argument_bytes(argument);
        for (int at = 0; at < LAYOUT_GUARD_BYTES; at++)
            if (guard[at] != TRIAL_GUARD_BYTE)
                return trials->job->problem->arguments[i].name;
    }
    return NULL;
}

static const char *modified_input(const struct trials *trials, uint32_t slot)
{
    const struct layout *layout = &trials->candidate->layout;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        uint64_t at = slot * layout->bytes + argument->offset;
        if (argument->role == ROLE_IN &&
            memcmp(trials->candidate->slot.data + at, trials->state->staging + at,
                   layout_argument_bytes(argument)) != 0)
            return trials->job->problem->arguments[i].name;
    }
    return NULL;
}

static void output_name(const struct trials *trials, uint32_t output, char *name, size_t bytes)
{
    const struct argument *argument = output_argument(trials->job->problem, output);
    const struct cases *cases = &trials->reference->cases;
    uint32_t within;
    if (argument)
        snprintf(name, bytes, "%s", argument->name);
    if (argument)
        return;
    uint32_t at = cases_find(cases, output, &within);
    if (cases->count > 0)
        snprintf(name, bytes, "%s: output %u", cases->items[at].name, within);
    else
        snprintf(name, bytes, "output %u", output);
}

static void shape_text(const struct tensor *tensor, char *text, size_t bytes)
{
    bool complex = tensor->complex;
    const char *name = !complex                     ? dtype_facts(tensor->dtype)->torch_name
                       : tensor->dtype == DTYPE_F64 ? "complex128"
                                                    : "complex64";
    size_t used = (size_t)snprintf(text, bytes, "%s[", name);
    for (uint32_t d = 0; d + complex < tensor->dimensions && used < bytes; d++)
        used += (size_t)snprintf(text + used, bytes - used, d ? ", %lld" : "%lld",
                                 (long long)tensor->shape[d]);
    if (used < bytes)
        snprintf(text + used, bytes - used, "]");
}

static enum trial_result fail_wrong(struct trials *trials, const char *message)
{
    verdict_fail(trials->verdict, STATUS_WRONG, "wrong", message, NULL);
    return TRIAL_ENDED;
}

static enum trial_result wrong_with_code(struct trials *trials, const char *code,
                                         const char *message)
{
    fail_wrong(trials, message); /* first: the status stays `wrong` */
    verdict_violation(trials->verdict, code, "%s", message);
    return TRIAL_ENDED;
}

/* The verdict keeps which one it was. */
static void wrong_case(struct trials *trials, uint32_t output)
{
    const struct cases *cases = &trials->reference->cases;
    struct verdict *verdict = trials->verdict;
    uint32_t ignored;
    if (cases->count > 0)
        verdict->failed_case = arena_strdup(&verdict->arena,
                                            cases->items[cases_find(cases, output, &ignored)].name);
}

bool trial_same_form(const struct tensor *expected, const struct tensor *got)
{
    return got->dtype == expected->dtype && got->complex == expected->complex &&
           got->dimensions == expected->dimensions &&
           memcmp(got->shape, expected->shape, got->dimensions * sizeof *got->shape) == 0;
}

/* Dtype and shape first: a torch child reports them, native ones are fixed by the slot. */
static bool same_form(struct trials *trials, uint32_t output, const struct tensor *got)
{
    const struct tensor *expected = &trials->state->answer.reference[output];
    char want[160];
    char have[160];
    char name[LIMIT_NAME_BYTES];
    char text[512];
    if (trial_same_form(expected, got))
        return true;
    shape_text(expected, want, sizeof want);
    shape_text(got, have, sizeof have);
    output_name(trials, output, name, sizeof name);
    snprintf(text, sizeof text, "%s is %s, the reference's is %s", name, have, want);
    wrong_case(trials, output);
    fail_wrong(trials, text);
    return false;
}

/* Inputs that the problem never promised are used only where they make sense. */
static int expected_is_finite(struct trials *trials, bool *finite, struct err *err)
{
    const struct trial_answer *answer = &trials->state->answer;
    int result = 0;
    *finite = true;
    for (uint32_t i = 0; result == 0 && *finite && i < answer->count; i++) {
        const struct tensor *tensor = &answer->reference[i];
        if (!tensor->data && tensor->bytes > 0)
            result = trial_gpu_all_finite(trials, tensor, finite, err);
        for (uint64_t at = 0; tensor->data && *finite && at < tensor->count; at++)
            *finite = isfinite(dtype_load(tensor->dtype, tensor->data, at));
    }
    return result;
}

static const char *number_text(double value, char text[32])
{
    if (isnan(value))
        return "NaN"; /* printf shows the sign of a NaN, which means nothing */
    snprintf(text, 32, "%.9g", value);
    return text;
}

/* Comparing reads what was expected twice (first its magnitude), so what was got is read twice,
 * too: else the reference would find more of its outputs in the caches than the candidate when it
 * is called next, which is worth up to 8 % where memory is the limit. */
static void read_through(const struct tensor *tensor)
{
    const volatile char *data = tensor->data;
    for (uint64_t at = 0; data && at < tensor->bytes; at += CACHE_LINE_BYTES)
        (void)data[at];
}

/* What is held against an output of a slot: the oracle computes the first one only. */
static struct tensor expected_tensor(const struct trials *trials, uint32_t slot, uint32_t output)
{
    const struct trial_answer *answer = &trials->state->answer;
    struct tensor expected = answer->has_oracle ? answer->oracle[output]
                                                : answer->reference[output];
    struct err ignored;
    if (slot > 0)
        (void)!child_output_form(&trials->reference->child, slot, output, &expected, &ignored);
    return expected;
}

/* The two values of a mismatch, of tensors on the GPU. */
static void read_mismatch(const struct trials *trials, const struct tensor *expected,
                          const struct tensor *got, struct difference *difference)
{
    const struct cuda *cuda = &trials->gpu->cuda;
    const struct {
        const struct tensor *tensor;
        double *value;
    } wanted[] = {{expected, &difference->expected}, {got, &difference->got}};
    for (size_t i = 0; i < 2; i++) {
        char bytes[8];
        size_t size = dtype_facts(wanted[i].tensor->dtype)->bytes;
        if (cuda->copy_to_host(bytes, wanted[i].tensor->at + difference->first_index * size,
                               size) == 0)
            *wanted[i].value = dtype_load(wanted[i].tensor->dtype, bytes, 0);
    }
}

/* The first elements of a tensor, in this process: `kept` is to be freed; NULL: nothing was
 * copied. */
static const void *bring_first(const struct trials *trials, const struct tensor *tensor,
                               uint64_t count, void **kept)
{
    size_t bytes = count * dtype_facts(tensor->dtype)->bytes;
    *kept = NULL;
    if (tensor->data)
        return tensor->data;
    *kept = mem_alloc(bytes);
    return trials->gpu->cuda.copy_to_host(*kept, tensor->at, bytes) == 0 ? *kept : NULL;
}

/* What the error looks like, for the candidate's author. */
static const char *look_of(const struct trials *trials, const struct comparison *spec,
                           const struct difference *difference, const struct tensor *expected,
                           const struct tensor *got)
{
    char text[ERROR_LOOK_BYTES] = "";
    void *kept[2];
    struct comparison first = *spec;
    uint64_t row = got->dimensions > 0 ? (uint64_t)got->shape[got->dimensions - 1] : 1;
    if (first.count > ERROR_LOOK_ELEMENTS)
        first.count = ERROR_LOOK_ELEMENTS;
    const void *want = bring_first(trials, expected, first.count, &kept[0]);
    const void *have = bring_first(trials, got, first.count, &kept[1]);
    if (want && have)
        error_look(&first, difference->scale, row, want, have, text);
    mem_free(kept[0]);
    mem_free(kept[1]);
    return text[0] ? arena_strdup(&trials->verdict->arena, text) : NULL;
}

static enum trial_result judge_failed(struct trials *trials, const struct err *err)
{
    fault_set(trials->fault, FAULT_JUDGE, err);
    return TRIAL_ENDED;
}

/* A reference may be further from its oracle than counts: rounding grew (chained normalisations),
 * or the oracle drew other numbers (dropout at double precision). Its own answer is right all the
 * same: `difference` becomes that from it, where there is none that counts. */
static int compare_with_reference(struct trials *trials, uint32_t output, const struct tensor *got,
                                  struct difference *difference, struct err *err)
{
    const struct tensor *plain = &trials->state->answer.reference[output];
    struct comparison spec = {.dtype = got->dtype,
                              .expected_dtype = plain->dtype,
                              .count = got->count,
                              .tolerance = trial_tolerance(trials, output, got->dtype),
                              .noise = least_noise(got->dtype)};
    struct difference plainly;
    int result = trial_compare(trials, &spec, plain, got, &plainly, err);
    if (result == 0 && plainly.mismatches == 0)
        *difference = plainly;
    return result;
}

/* What an author cannot mend. */
static const char *reference_is_off(const struct trials *trials, uint32_t output, char text[96])
{
    const struct trial_answer *answer = &trials->state->answer;
    text[0] = '\0';
    if (trials->job->problem->format == PROBLEM_TORCH && answer->has_oracle &&
        answer->own_error[output] > TRIAL_MOST_OWN_ERROR)
        snprintf(text, 96, "; the reference itself is up to %.2g of the output's scale off",
                 answer->own_error[output]);
    return text;
}

/* An output as it was held against what is expected of it. */
struct compared {
    struct tensor expected;
    struct comparison spec;
    struct difference difference;
};

static int compare_output(struct trials *trials, struct slot_output of, const struct tensor *got,
                          struct compared *compared, struct err *err)
{
    const struct tensor *expected = &compared->expected;
    struct difference *difference = &compared->difference;
    compared->expected = expected_tensor(trials, of.slot, of.output);
    compared->spec = trial_comparison(trials, of.output, got->dtype, expected->dtype, got->count);
    int result = trial_compare(trials, &compared->spec, expected, got, difference, err);
    if (result == 0 && difference->mismatches > 0 && of.slot == 0 &&
        trials->state->answer.has_oracle)
        result = compare_with_reference(trials, of.output, got, difference, err);
    return result;
}

/* What becomes of an output that is not right. */
static enum trial_result fail_output(struct trials *trials, uint32_t output,
                                     const struct tensor *got, struct compared *compared)
{
    struct verdict *verdict = trials->verdict;
    struct difference *difference = &compared->difference;
    char name[LIMIT_NAME_BYTES];
    char text[512];
    char off[96];
    char got_space[32];
    char expected_space[32];
    if (!got->data)
        read_mismatch(trials, &compared->expected, got, difference);
    const char *got_text = number_text(difference->got, got_space);
    const char *expected_text = number_text(difference->expected, expected_space);
    output_name(trials, output, name, sizeof name);
    wrong_case(trials, output);
    const char *looks = look_of(trials, &compared->spec, difference, &compared->expected, got);
    verdict->mismatch = (struct mismatch){.any = true,
                                          .output = arena_strdup(&verdict->arena, name),
                                          .index = difference->first_index,
                                          .got = difference->got,
                                          .expected = difference->expected,
                                          .looks = looks};
    snprintf(text, sizeof text,
             "%s: %llu of %llu elements are wrong; the first, [%llu], is %s instead of %s"
             "%s%s%s",
             name, (unsigned long long)difference->mismatches, (unsigned long long)got->count,
             (unsigned long long)difference->first_index, got_text, expected_text,
             looks ? "; the error: " : "", looks ? looks : "",
             reference_is_off(trials, output, off));
    return fail_wrong(trials, text);
}

static enum trial_result judge_output(struct trials *trials, const struct trial *trial,
                                      struct slot_output of, const struct tensor *got)
{
    struct verdict *verdict = trials->verdict;
    struct differing_positions *positions = &trials->state->positions;
    struct compared compared;
    const struct difference *difference = &compared.difference;
    struct err err;
    read_through(got);
    if (compare_output(trials, of, got, &compared, &err) < 0)
        return judge_failed(trials, &err);
    if (trial_noise_possible(trials, got, difference)) {
        if (trial_noise_measure(trials, trial, &err) < 0) {
            fault_set(trials->fault, FAULT_REFERENCE, &err);
            return TRIAL_ENDED;
        }
        if (compare_output(trials, of, got, &compared, &err) < 0)
            return judge_failed(trials, &err);
    }
    if (difference->mismatches > 0 && !positions->looked_at &&
        trial_choice_possible(trials, &compared.expected, got)) {
        positions->of[positions->count++] = of;
        return TRIAL_GOOD; /* so far */
    }
    verdict->max_absolute = fmax(verdict->max_absolute, difference->max_absolute);
    verdict->max_relative = fmax(verdict->max_relative, difference->max_relative);
    return difference->mismatches == 0 ? TRIAL_GOOD
                                       : fail_output(trials, of.output, got, &compared);
}

static enum trial_result judge_outputs(struct trials *trials, const struct trial *trial,
                                       uint32_t slot)
{
    struct trial_answer *answer = &trials->state->answer;
    struct err err;
    char text[256];
    uint32_t count = child_output_count(trials->candidate);
    if (count != answer->count) {
        snprintf(text, sizeof text, "it returned %u tensors, the reference returns %u", count,
                 answer->count);
        return fail_wrong(trials, text);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tensor got;
        if (child_output_form(trials->candidate, slot, i, &got, &err) == 0 &&
            !same_form(trials, i, &got))
            return TRIAL_ENDED;
        if (child_output(trials->candidate, slot, i, &got, &err) < 0) {
            fault_set(trials->fault, FAULT_CANDIDATE, &err);
            return TRIAL_ENDED;
        }
        enum trial_result result = judge_output(trials, trial, (struct slot_output){slot, i}, &got);
        if (result != TRIAL_GOOD)
            return result;
    }
    return TRIAL_GOOD;
}

static enum trial_result judge_slot(struct trials *trials, const struct trial *trial, uint32_t slot)
{
    const char *name;
    char text[256];
    bool native = trials->job->problem->format == PROBLEM_NATIVE;
    if (native && (name = overrun_argument(trials, slot))) {
        snprintf(text, sizeof text, "it wrote past the end of `%s`", name);
        return wrong_with_code(trials, "H15", text);
    }
    if (trial->untouched && native && (name = modified_input(trials, slot))) {
        snprintf(text, sizeof text, "it changed its input `%s`, which is const", name);
        return wrong_with_code(trials, "H08", text);
    }
    return judge_outputs(trials, trial, slot);
}

/* As many as this process has room for, behind *at. */
static uint32_t take_positions(const struct trials *trials, uint32_t at,
                               struct trial_positions *taken, struct err *err)
{
    const struct differing_positions *positions = &trials->state->positions;
    uint64_t bytes = 0;
    uint32_t count = 0;
    for (; at < positions->count && (count == 0 || bytes < POSITION_BYTES); at++) {
        struct trial_positions *each = &taken[count++];
        each->slot = positions->of[at].slot;
        each->output = positions->of[at].output;
        each->expected = expected_tensor(trials, each->slot, each->output);
        if (child_output(trials->candidate, each->slot, each->output, &each->got, err) < 0)
            return 0;
        bytes += each->got.bytes;
    }
    return count;
}

/* Of positions that are not the reference's, which the trial is good for otherwise. */
static enum trial_result judge_positions(struct trials *trials, const struct trial *trial)
{
    struct differing_positions *positions = &trials->state->positions;
    enum trial_result result = TRIAL_GOOD;
    uint32_t agree = 0;
    struct err err;
    if (positions->count == 0)
        return TRIAL_GOOD;
    struct trial_positions *some = mem_alloc(positions->count * sizeof *some);
    for (uint32_t at = 0; result == TRIAL_GOOD && at < positions->count; at += agree) {
        uint32_t count = take_positions(trials, at, some, &err);
        if (count == 0 || trial_choice_agree(trials, trial, some, count, &agree, &err) < 0) {
            result = judge_failed(trials, &err);
        } else if (agree < count) {
            positions->looked_at = true;
            result = judge_output(trials, trial, positions->of[at + agree], &some[agree].got);
            positions->looked_at = false;
            agree++;
        }
    }
    mem_free(some);
    return result;
}

/* Whether the candidate wrote there without being called. The reference's slot is as the judge left
 * it. */
static bool is_written(const struct trials *trials, uint32_t slot)
{
    const struct layout *layout = &trials->candidate->layout;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        uint64_t at = slot * layout->bytes + argument->offset;
        if (layout_is_output(argument) &&
            memcmp(trials->candidate->slot.data + at, trials->reference->child.slot.data + at,
                   layout_argument_bytes(argument)) != 0)
            return true;
    }
    return false;
}

static enum trial_result judge_rest(struct trials *trials, const struct trial *trial)
{
    uint32_t slots = trials->candidate->slots;
    for (uint32_t slot = trial->calls; slot < slots; slot++)
        if (is_written(trials, slot)) {
            verdict_violation(trials->verdict, "H06",
                              "only %u of %u calls were made, and it wrote the output of number %u",
                              trial->calls, slots, slot + 1);
            return TRIAL_ENDED;
        }
    return TRIAL_GOOD;
}

/* 1: all is well; 0: something is not, and everything is where the next look finds it (native: in
 * the mirrors); -1: the end. */
static int judge_on_gpu(struct trials *trials)
{
    bool agrees = false;
    struct err err;
    if (trial_gpu_agrees(trials, &agrees) < 0)
        return -1;
    if (child_samples_changed(trials->candidate, true)) {
        verdict_violation(trials->verdict, "H21", "%s", CHILD_LATE_TEXT);
        return -1;
    }
    if (agrees)
        return 1;
    if (trial_is_torch_on_gpu(trials))
        return 0;
    if (child_pull(&trials->reference->child, &err) < 0 || child_pull(trials->candidate, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    return 0;
}

enum trial_result trial_judge(struct trials *trials, const struct trial *trial)
{
    struct err err;
    if (trial_take_noise(trials, trial, &err) < 0) {
        fault_set(trials->fault, FAULT_REFERENCE, &err);
        return TRIAL_ENDED;
    }
    int known = trial->on_gpu ? judge_on_gpu(trials) : 0;
    if (known < 0)
        return TRIAL_ENDED;
    if (trial->shifted) {
        bool finite;
        if (expected_is_finite(trials, &finite, &err) < 0)
            return judge_failed(trials, &err);
        if (!finite)
            return TRIAL_VOID;
    }
    trials->verdict->trials++;
    uint32_t called = trial->calls ? trial->calls : trials->candidate->slots;
    enum trial_result result = known || called == trials->candidate->slots
                                   ? TRIAL_GOOD
                                   : judge_rest(trials, trial);
    trials->state->positions = (struct differing_positions){0};
    trials->state->noise_measured = false;
    for (uint32_t slot = 0; !known && result == TRIAL_GOOD && slot < called; slot++)
        result = judge_slot(trials, trial, slot);
    if (result == TRIAL_GOOD)
        result = judge_positions(trials, trial);
    if (result == TRIAL_GOOD)
        trials->verdict->trials_passed++;
    trials->state->shift_passed |= result == TRIAL_GOOD && trial->shifted;
    return result;
}
