#include "judge/verdict_fields.h"

#include "base/array.h"
#include "base/json.h"
#include "judge/profile_text.h"
#include "sandbox/sandbox.h"

#include <math.h>
#include <string.h>

#define ROW(key_, kind_, flags_, offset_, meaning_)                                                \
    {                                                                                              \
        .key = (key_), .kind = (kind_), .flags = (flags_), .offset = (offset_),                    \
        .meaning = (meaning_)                                                                      \
    }
#define ROW_IF(present_, key_, kind_, flags_, offset_, meaning_)                                   \
    {                                                                                              \
        .key = (key_), .kind = (kind_), .flags = (flags_) | FIELD_OPTIONAL, .offset = (offset_),   \
        .present = (present_), .meaning = (meaning_)                                               \
    }
#define OBJECT(key_, shape_, offset_, flags_, present_, meaning_)                                  \
    {                                                                                              \
        .key = (key_), .kind = FIELD_OBJECT, .flags = (flags_), .offset = (offset_),               \
        .shape = &(shape_), .present = (present_), .meaning = (meaning_)                           \
    }
#define LIST(key_, shape_, flags_, present_, offset_, type_, most_, count_offset_, meaning_)       \
    {                                                                                              \
        .key = (key_), .kind = FIELD_LIST, .flags = (flags_), .offset = (offset_),                 \
        .shape = &(shape_), .bytes = sizeof(type_), .most = (most_),                               \
        .count_offset = (count_offset_), .present = (present_), .meaning = (meaning_)              \
    }
#define SPECIAL(key_, kind_, write_, read_, flags_, present_, offset_, meaning_)                   \
    {                                                                                              \
        .key = (key_), .kind = (kind_), .flags = (flags_), .offset = (offset_),                    \
        .present = (present_), .special = &(const struct verdict_special){(write_), (read_)},      \
        .meaning = (meaning_)                                                                      \
    }
#define SHAPE(prefix, name_, after_)                                                               \
    static const struct verdict_shape prefix##_shape = {(name_), prefix##_fields,                  \
                                                        COUNT(prefix##_fields), (after_)}
#define V(member) offsetof(struct verdict, member)

_Static_assert(offsetof(struct summary, quartile3) ==
                   offsetof(struct summary, quartile1) + sizeof(double),
               "quartiles are a pair");
_Static_assert(offsetof(struct interval, high) == offsetof(struct interval, low) + sizeof(double),
               "an interval's ends are a pair");

static const struct verdict_field problem_fields[] = {
    ROW("id", FIELD_TEXT, 0, V(problem_id), "its name in its suite, or `inline/` and its hash"),
    ROW("format", FIELD_TEXT, 0, V(problem_format),
        "`native`, `torch`, `simple`; `known` if a refused request gave an id alone"),
    ROW("hash", FIELD_TEXT, 0, V(problem_hash), "of everything that defines it"),
};
SHAPE(problem, "VerdictProblem", NULL);

#define A(member) offsetof(struct verdict_attempt, member)

static const struct verdict_field attempt_fields[] = {
    ROW("code", FIELD_TEXT, 0, A(code), "of the [catalogue](../design/hacks.md): `H07`"),
    ROW("attempt", FIELD_TEXT, 0, A(name), "what it does: `zeros`"),
    ROW("gain", FIELD_REAL, 0, A(gain),
        "about how many times as fast as the reference it was; null if it is not known"),
};
SHAPE(attempt, "VerdictAttempt", NULL);

static bool has_audit(const void *base)
{
    return ((const struct verdict *)base)->audit.outcome != AUDIT_NONE;
}

static json_t *write_outcome(const void *at)
{
    return json_text(verdict_audit_name(*(const enum audit_outcome *)at));
}

/* An outcome that this version does not have is not known. */
static void read_outcome(struct verdict *verdict, void *at, const json_t *value)
{
    enum audit_outcome outcome = AUDIT_UNKNOWN;
    while (outcome > AUDIT_NONE &&
           strcmp(verdict_audit_name(outcome), json_string_value(value)) != 0)
        outcome--;
    *(enum audit_outcome *)at = outcome > AUDIT_NONE ? outcome : AUDIT_UNKNOWN;
}

static const struct verdict_field audit_fields[] = {
    SPECIAL("outcome", FIELD_TEXT, write_outcome, read_outcome, 0, NULL, V(audit.outcome),
            "`sound`, `gameable` or `unknown`, [below](#problem-audit)"),
    ROW("reason", FIELD_TEXT, FIELD_NULLABLE, V(audit.reason), "why it is not known"),
    LIST("attempts", attempt_shape, 0, NULL, V(audit.attempts), struct verdict_attempt,
         VERDICT_ATTEMPTS, V(audit.count),
         "those that pass; lower precision (`H13`) is among them, and makes no problem gameable"),
    ROW("took_ms", FIELD_REAL, 0, V(audit.took_ms), "once, when the audit was made"),
};
SHAPE(audit, "VerdictAudit", NULL);

static const struct verdict_field candidate_fields[] = {
    ROW("path", FIELD_TEXT, 0, V(candidate_path), "as it was named"),
    ROW("language", FIELD_TEXT, 0, V(candidate_language),
        "a row of the [languages](languages.md); empty if it is not known"),
    ROW("hash", FIELD_HASH, 0, V(candidate_hash), "of its text"),
};
SHAPE(candidate, "VerdictCandidate", NULL);

static const char *const layer_names[] = {
#define X(symbol, name, meaning) name,
    SANDBOX_LAYERS(X)
#undef X
};

static const char *const limit_names[] = {
#define X(symbol, name) name,
    SANDBOX_LIMITS(X)
#undef X
};

#define LIMIT_PREFIX "resource limit: "

static json_t *layers_json(uint32_t layers, bool present)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < SANDBOX_LAYER_COUNT; i++)
        if (((layers >> i) & 1) == present)
            json_array_append_new(array, json_string(layer_names[i]));
    return array;
}

static json_t *write_layers(const void *at)
{
    return layers_json(*(const uint32_t *)at, true);
}

static json_t *write_missing(const void *at)
{
    uint32_t layers = *(const uint32_t *)at;
    if (!layers) /* none of it ran */
        return json_array();
    json_t *array = layers_json(layers, false);
    for (int i = 0; i < SANDBOX_LIMIT_COUNT; i++) {
        const char *name = sandbox_limit_missing(layers, i);
        if (name)
            json_array_append_new(array, json_sprintf(LIMIT_PREFIX "%s", name));
    }
    return array;
}

json_t *verdict_layers_json(const struct verdict *verdict, bool held)
{
    return held ? write_layers(&verdict->layers) : write_missing(&verdict->layers);
}

/* A layer or limit that this version does not have is passed over. */
static void read_layers(struct verdict *verdict, void *at, const json_t *value)
{
    uint32_t *layers = at;
    for (size_t n = 0; n < json_array_size(value); n++)
        for (uint32_t i = 0; i < SANDBOX_LAYER_COUNT; i++)
            if (strcmp(layer_names[i], json_string_value(json_array_get(value, n))) == 0)
                *layers |= UINT32_C(1) << i;
}

static void read_missing(struct verdict *verdict, void *at, const json_t *value)
{
    uint32_t *layers = at;
    size_t length = strlen(LIMIT_PREFIX);
    for (size_t n = 0; n < json_array_size(value); n++) {
        const char *text = json_string_value(json_array_get(value, n));
        for (uint32_t i = 0; i < SANDBOX_LIMIT_COUNT; i++)
            if (strncmp(text, LIMIT_PREFIX, length) == 0 &&
                strcmp(limit_names[i], text + length) == 0)
                *layers |= SANDBOX_LIMIT_FAILED(i);
    }
}

static const struct verdict_field sandbox_fields[] = {
    SPECIAL("layers", FIELD_TEXTS, write_layers, read_layers, 0, NULL, V(layers),
            "layers of the sandbox that held"),
    SPECIAL("missing", FIELD_TEXTS, write_missing, read_missing, 0, NULL, V(layers),
            "those that did not, with a `resource limit: NAME` for each limit that could not be "
            "set; empty, as `layers` is, where no process of the candidate was started"),
};
SHAPE(sandbox, "VerdictSandbox", NULL);

static const struct verdict_field environment_fields[] = {
    OBJECT("sandbox", sandbox_shape, 0, 0, NULL, "what confined the candidate"),
    ROW("build_cached", FIELD_BOOL, 0, V(build_cached), "its build came from the cache"),
};
SHAPE(environment, "VerdictEnvironment", NULL);

#define M(member) offsetof(struct mismatch, member)

static const struct verdict_field mismatch_fields[] = {
    ROW("output", FIELD_TEXT, FIELD_NULLABLE, M(output), "name or number of the output"),
    ROW("index", FIELD_LONG, 0, M(index), "of the element, counted over all dimensions"),
    ROW("got", FIELD_REAL, 0, M(got), "what the candidate wrote; null if it is not finite"),
    ROW("expected", FIELD_REAL, 0, M(expected), "what the reference wrote"),
    ROW("looks_like", FIELD_TEXT, FIELD_NULLABLE, M(looks),
        "what the error of the output looks like: where it is, or which arithmetic makes one"),
};

static void after_mismatch(void *base, const json_t *object)
{
    ((struct mismatch *)base)->any = true;
}

SHAPE(mismatch, "VerdictMismatch", after_mismatch);

static bool has_mismatch(const void *base)
{
    return ((const struct verdict *)base)->mismatch.any;
}

static const struct verdict_field correctness_fields[] = {
    ROW("trials", FIELD_COUNT, 0, V(trials), "how many there were"),
    ROW("passed", FIELD_COUNT, 0, V(trials_passed), "how many of them it passed"),
    ROW("max_absolute_error", FIELD_REAL, 0, V(max_absolute), "of all elements"),
    ROW("max_relative_error", FIELD_REAL, 0, V(max_relative), "to max(\\|expected\\|, rms)"),
    OBJECT("first_mismatch", mismatch_shape, V(mismatch), FIELD_NULLABLE, has_mismatch,
           "the first element that is wrong"),
};
SHAPE(correctness, "VerdictCorrectness", NULL);

static bool has_cases(const void *base)
{
    return ((const struct verdict *)base)->cases_from != NULL;
}

static json_t *write_failed(const void *at)
{
    const char *const *text = at;
    json_t *failed = json_array();
    if (*text)
        json_array_append_new(failed, json_text(*text));
    return failed;
}

static void read_failed(struct verdict *verdict, void *at, const json_t *value)
{
    const char **text = at;
    const json_t *first = json_array_get(value, 0);
    *text = first ? arena_strdup(&verdict->arena, json_string_value(first)) : NULL;
}

static const struct verdict_field cases_fields[] = {
    ROW("source", FIELD_TEXT, 0, V(cases_from),
        "`kernel_code`: the candidate brought them; `cases_code`, `inline`"),
    ROW("count", FIELD_COUNT, 0, V(case_total), "how many there are"),
    ROW("expected", FIELD_COUNT, 0, V(cases_compared), "how many of them expect a result"),
    SPECIAL("failed", FIELD_TEXTS, write_failed, read_failed, 0, NULL, V(failed_case),
            "the first that failed"),
};
SHAPE(cases, "VerdictCases", NULL);

#define S(member) offsetof(struct summary, member)
#define T(member) offsetof(struct timed_case, member)

static const struct verdict_field summary_fields[] = {
    ROW("median", FIELD_REAL, 0, S(median), "in ms"),
    ROW("quartiles", FIELD_PAIR, 0, S(quartile1), "in ms"),
    ROW("n", FIELD_LONG, 0, S(n), "how many samples"),
};
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a summary's n is read as a uint64_t");
SHAPE(summary, "VerdictSummary", NULL);

static json_t *write_roofline(const void *at)
{
    const struct timed_case *timed = at;
    return timed->floor_ms > 0 ? json_number(timed->floor_ms / timed->candidate.median)
                               : json_null();
}

static void read_roofline(struct verdict *verdict, void *at, const json_t *value)
{
    struct timed_case *timed = at;
    timed->floor_ms = json_number_value(value) * timed->candidate.median;
}

static bool has_one_case(const void *base)
{
    return ((const struct verdict *)base)->case_count > 0;
}

static bool has_more_cases(const void *base)
{
    return ((const struct verdict *)base)->case_count > 1;
}

static json_t *write_speedup(const void *at)
{
    struct interval speedup;
    verdict_speedup(at, &speedup);
    return json_number(speedup.value);
}

static json_t *write_speedup_interval(const void *at)
{
    struct interval speedup;
    verdict_speedup(at, &speedup);
    return json_pack("[o, o]", json_number(speedup.low), json_number(speedup.high));
}

static double real_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void read_speedup(struct verdict *verdict, void *at, const json_t *value)
{
    verdict->cases[0].speedup.value = real_of(value);
}

static void read_speedup_interval(struct verdict *verdict, void *at, const json_t *value)
{
    verdict->cases[0].speedup.low = real_of(json_array_get(value, 0));
    verdict->cases[0].speedup.high = real_of(json_array_get(value, 1));
}

static const struct verdict_field timed_fields[] = {
    ROW("sizes", FIELD_TEXT, FIELD_NULLABLE, T(sizes), "`rows=64 cols=1000`"),
    OBJECT("candidate", summary_shape, T(candidate), 0, NULL, "times of the candidate"),
    OBJECT("reference", summary_shape, T(reference), 0, NULL, "times of the reference"),
    ROW("speedup", FIELD_REAL, 0, T(speedup.value), "times as fast as the reference"),
    ROW("speedup_interval", FIELD_PAIR, 0, T(speedup.low), "95 %"),
    SPECIAL("roofline_fraction", FIELD_REAL, write_roofline, read_roofline, 0, NULL, 0,
            "the shortest time that the sizes allow, over the candidate's median"),
};
SHAPE(timed, "VerdictTimedCase", NULL);

#define W(member) offsetof(struct gpu_watch, member)

static json_t *write_clocks(const void *at)
{
    const struct gpu_watch *watch = at;
    return json_pack("[o, o]", json_known(watch->before.sm_mhz), json_known(watch->after.sm_mhz));
}

static int clock_of(const json_t *value)
{
    return json_is_null(value) ? -1 : (int)json_integer_value(value);
}

static void read_clocks(struct verdict *verdict, void *at, const json_t *value)
{
    struct gpu_watch *watch = at;
    watch->before.sm_mhz = clock_of(json_array_get(value, 0));
    watch->after.sm_mhz = clock_of(json_array_get(value, 1));
}

static json_t *write_throttled(const void *at)
{
    json_t *reasons = json_array();
    for (const struct gpu_reason *reason = gpu_reasons; reason->name; reason++)
        if (*(const int64_t *)at & reason->bit)
            json_array_append_new(reasons, json_string(reason->name));
    return reasons;
}

static void read_throttled(struct verdict *verdict, void *at, const json_t *value)
{
    int64_t *reasons = at;
    for (size_t i = 0; i < json_array_size(value); i++)
        for (const struct gpu_reason *reason = gpu_reasons; reason->name; reason++)
            if (strcmp(reason->name, json_string_value(json_array_get(value, i))) == 0)
                *reasons |= reason->bit;
}

static const struct verdict_field clocks_fields[] = {
    SPECIAL("sm_mhz", FIELD_INTEGERS, write_clocks, read_clocks, 0, NULL, 0, "before and after"),
    ROW("sm_lowest_mhz", FIELD_INTEGER, 0, W(sm_lowest_mhz), "of all readings"),
    ROW("sm_max_mhz", FIELD_INTEGER, 0, W(after.sm_max_mhz), "the highest possible"),
    ROW("memory_mhz", FIELD_INTEGER, 0, W(after.memory_mhz), "of its memory"),
    ROW("temperature_c", FIELD_INTEGER, 0, W(after.temperature_c), "in °C"),
    ROW("power_w", FIELD_KNOWN, 0, W(after.power_w), "in W"),
    SPECIAL("throttled", FIELD_TEXTS, write_throttled, read_throttled, 0, NULL, W(reasons),
            "the reasons why the clock was not at its highest, [below](#clocks)"),
};

static void after_clocks(void *base, const json_t *object)
{
    ((struct gpu_watch *)base)->known = true;
}

SHAPE(clocks, "VerdictClocks", after_clocks);

static bool has_clocks(const void *base)
{
    return ((const struct verdict *)base)->clocks.known;
}

static const struct verdict_field timing_fields[] = {
    ROW_IF(has_one_case, "sizes", FIELD_TEXT, FIELD_NULLABLE, V(cases[0].sizes),
           "`rows=64 cols=1000`; of the first case, as the following ones"),
    OBJECT("candidate", summary_shape, V(cases[0].candidate), FIELD_OPTIONAL, has_one_case,
           "times of the candidate"),
    OBJECT("reference", summary_shape, V(cases[0].reference), FIELD_OPTIONAL, has_one_case,
           "times of the reference"),
    SPECIAL("roofline_fraction", FIELD_REAL, write_roofline, read_roofline, FIELD_OPTIONAL,
            has_one_case, V(cases[0]),
            "the shortest time that the sizes allow, over the candidate's median"),
    SPECIAL(
        "speedup", FIELD_REAL, write_speedup, read_speedup, FIELD_OPTIONAL, has_one_case, 0,
        "times as fast as the reference: the median of paired ratios, so it is not the quotient "
        "of the two medians; the geometric mean over `cases`"),
    SPECIAL("speedup_interval", FIELD_PAIR, write_speedup_interval, read_speedup_interval,
            FIELD_OPTIONAL, has_one_case, 0, "its 95 % confidence interval"),
    ROW("meaningful", FIELD_BOOL, 0, V(timing_meaningful), "whether the times are reliable"),
    ROW("note", FIELD_TEXT, FIELD_NULLABLE, V(timing_note),
        "why there are none, or why they are not reliable"),
    ROW("dispatch_overhead_us", FIELD_REAL, 0, V(dispatch_overhead_us),
        "the dispatch overhead of a call, already subtracted"),
    OBJECT("clocks", clocks_shape, V(clocks), FIELD_NULLABLE, has_clocks,
           "of a GPU, NVML's readings around the timed calls; null without them"),
    LIST("cases", timed_shape, FIELD_OPTIONAL, has_more_cases, V(cases), struct timed_case,
         VERDICT_CASES, V(case_count), "where a problem times several sizes"),
};

/* Without a list, what was measured is one case. */
static void after_timing(void *base, const json_t *object)
{
    struct verdict *verdict = base;
    if (verdict->case_count == 0 && json_is_object(json_object_get(object, "candidate")))
        verdict->case_count = 1;
}

SHAPE(timing, "VerdictTiming", after_timing);

static bool has_timing(const void *base)
{
    const struct verdict *verdict = base;
    return verdict->case_count > 0 || verdict->timing_note;
}

#define K(member) offsetof(struct kernel_share, member)
#define L(member) offsetof(struct verdict, launched.member)

static bool is_traced(const void *base)
{
    return ((const struct kernel_share *)base)->source != NULL;
}

static bool is_traced_kernel(const void *base)
{
    return is_traced(base) && !((const struct kernel_share *)base)->copy;
}

static const struct verdict_field kernel_fields[] = {
    ROW("name", FIELD_TEXT, FIELD_NULLABLE, K(name),
        "copies and memsets are `[copy DtoD]`, `[memset]`"),
    ROW("launches", FIELD_LONG, 0, K(launches), "how often it ran"),
    ROW("time_us", FIELD_REAL, 0, K(time_us), "on the GPU, summed over the pass"),
    ROW("own", FIELD_BOOL, 0, K(own), "the candidate brought its code, [below](#own-kernels)"),
    ROW_IF(is_traced, "source", FIELD_TEXT, FIELD_NULLABLE | FIELD_EMPTY, K(source),
           "the file that the code came from, or its loader"),
    ROW_IF(is_traced, "streams", FIELD_COUNT, 0, K(streams), "how many it ran on"),
    ROW_IF(is_traced_kernel, "registers", FIELD_COUNT, 0, K(registers),
           "of a thread, in the longest launch, as the following ones"),
    ROW_IF(is_traced_kernel, "shared_bytes", FIELD_LONG, 0, K(shared_bytes), "of a block"),
    ROW_IF(is_traced_kernel, "local_bytes", FIELD_COUNT, 0, K(local_bytes), "of a thread"),
    ROW_IF(is_traced_kernel, "grid", FIELD_SHAPE, 0, K(grid), "blocks"),
    ROW_IF(is_traced_kernel, "block", FIELD_SHAPE, 0, K(block), "threads"),
    ROW_IF(is_traced_kernel, "occupancy", FIELD_REAL, 0, K(occupancy), "0 to 1"),
    ROW_IF(is_traced_kernel, "limited_by", FIELD_TEXT, FIELD_NULLABLE | FIELD_EMPTY, K(limit),
           "`registers`, `shared memory`, `threads`, `blocks`"),
};

static void after_kernel(void *base, const json_t *object)
{
    struct kernel_share *kernel = base;
    kernel->copy = kernel->source && !json_object_get(object, "registers");
    if (kernel->source && !kernel->limit)
        kernel->limit = "";
}

SHAPE(kernel, "VerdictKernel", after_kernel);

static const struct verdict_field memory_fields[] = {
    ROW("peak_bytes", FIELD_LONG, 0, V(peak_memory_bytes), "the most that it had at once"),
};
SHAPE(memory, "VerdictMemory", NULL);

static bool was_traced(const void *base)
{
    return ((const struct verdict *)base)->launched.calls > 0;
}

/* These follow from the numbers beside them. */
static json_t *write_coverage(const void *at)
{
    char text[PROFILE_COVERAGE_BYTES];
    profile_coverage_text(at, text);
    return json_text(text);
}

static json_t *write_time_coverage(const void *at)
{
    char text[PROFILE_COVERAGE_BYTES];
    profile_time_coverage_text(at, text);
    return json_text(text);
}

static json_t *write_total_us(const void *at)
{
    return json_number(((const struct launch_totals *)at)->time_us);
}

static json_t *write_decoy(const void *at)
{
    const struct launch_totals *all = at;
    return json_boolean(all->own_kernels == 0 && all->kernels > 0);
}

static const struct verdict_field kernelgym_fields[] = {
    ROW("num_custom_kernels", FIELD_COUNT, 0, L(own_kernels), "own ones, of different names"),
    ROW("num_total_kernels", FIELD_COUNT, 0, L(kernels), "all, of different names"),
    ROW("custom_kernel_cuda_time_in_profiling_us", FIELD_REAL, 0, L(own_time_us), "of own ones"),
    SPECIAL("total_kernel_run_time_in_profiling_us", FIELD_REAL, write_total_us, NULL, 0, NULL,
            L(calls), "of all"),
    SPECIAL("triton_kernel_coverage", FIELD_TEXT, write_coverage, NULL, 0, NULL, L(calls),
            "own kernels of all"),
    SPECIAL("custom_kernel_cuda_time_coverage", FIELD_TEXT, write_time_coverage, NULL, 0, NULL,
            L(calls), "own time of all"),
    SPECIAL("decoy_kernel", FIELD_BOOL, write_decoy, NULL, 0, NULL, L(calls), "no own kernel ran"),
};
_Static_assert(offsetof(struct launch_totals, calls) == 0, "L(calls) is the totals' own place");
SHAPE(kernelgym, "VerdictKernelgym", NULL);

static json_t *write_profile_text(const void *at)
{
    const struct verdict *verdict = at;
    struct buf text;
    buf_init(&text, PROFILE_TEXT_BYTES);
    profile_text(verdict, PROFILE_COLUMNS, &text);
    json_t *value = json_text(text.data);
    buf_deinit(&text);
    return value;
}

static void read_profile_text(struct verdict *verdict, void *at, const json_t *value)
{
    verdict->launched.text = arena_strdup(&verdict->arena, json_string_value(value));
}

static const struct verdict_field profile_fields[] = {
    LIST("kernels", kernel_shape, 0, NULL, V(kernels), struct kernel_share, VERDICT_KERNELS,
         V(kernel_count), "the 16 that took longest"),
    ROW("own_time_fraction", FIELD_REAL, 0, V(own_time_fraction),
        "own kernels' time over that of everything, on a CPU with PyTorch its extensions' at most; "
        "null when unknown"),
    ROW("own_launch_fraction", FIELD_REAL, 0, V(own_launch_fraction),
        "own kernels' launches over those of everything; null when nothing ran"),
    OBJECT("memory", memory_shape, 0, 0, NULL, "of the candidate's process, or of the GPU"),
    ROW_IF(was_traced, "calls", FIELD_COUNT, 0, L(calls), "that were traced"),
    ROW_IF(was_traced, "streams", FIELD_COUNT, 0, L(streams), "how many anything ran on"),
    ROW_IF(was_traced, "time_us", FIELD_REAL, 0, L(time_us), "of everything on the GPU"),
    ROW_IF(was_traced, "busy_us", FIELD_REAL, 0, L(busy_us), "while at least one thing ran"),
    ROW_IF(was_traced, "launches", FIELD_LONG, 0, L(launches), "of everything"),
    OBJECT("kernelgym", kernelgym_shape, 0, FIELD_OPTIONAL, was_traced,
           "the names of KernelGYM's answers. Repaired: only time on the GPU counts, once, and no "
           "names are matched"),
    SPECIAL("text", FIELD_TEXT, write_profile_text, read_profile_text, FIELD_OPTIONAL, was_traced,
            0,
            "all of it in words, with remarkable findings: spilled registers, idle "
            "multiprocessors, low occupancy, a GPU that waits"),
};

/* What was read holds less than the words are made of. */
static void after_profile(void *base, const json_t *object)
{
    struct verdict *verdict = base;
    if (!verdict->launched.text)
        verdict->launched.text = "";
}

SHAPE(profile, "VerdictProfile", after_profile);

static const struct verdict_field finding_fields[] = {
    ROW("code", FIELD_TEXT, 0, offsetof(struct finding, code),
        "of the [catalogue](../design/hacks.md): `H21`"),
    ROW("evidence", FIELD_TEXT, 0, offsetof(struct finding, evidence), "one sentence"),
};

SHAPE(finding, "VerdictFinding", NULL);

static const struct verdict_field integrity_fields[] = {
    LIST("violations", finding_shape, 0, NULL, V(violations), struct finding, VERDICT_FINDINGS,
         V(violation_count), "what no honest kernel does"),
    LIST("warnings", finding_shape, 0, NULL, V(warnings), struct finding, VERDICT_FINDINGS,
         V(warning_count), "what an honest kernel may do, too; `text`: the source holds U+FFFD"),
};
SHAPE(integrity, "VerdictIntegrity", NULL);

static bool has_extensions(const void *base)
{
    return ((const struct verdict *)base)->extensions > 0;
}

static const struct verdict_field build_fields[] = {
    ROW("extensions", FIELD_COUNT, 0, V(extensions), "their number"),
    ROW("slim", FIELD_COUNT, 0, V(extensions_slim), "of these, without PyTorch's own headers"),
};
SHAPE(build, "VerdictBuild", NULL);

static const struct verdict_field stages_fields[] = {
#define X(symbol, name, meaning) ROW(name, FIELD_REAL, 0, V(stages_ms[symbol]), meaning),
    VERDICT_STAGES(X)
#undef X
};
SHAPE(stages, "VerdictStages", NULL);

static const struct verdict_field calls_fields[] = {
    ROW("reference", FIELD_REAL, 0, V(reference_ms), "within calls of the reference"),
    ROW("candidate", FIELD_REAL, 0, V(candidate_ms), "within calls of the candidate"),
};
SHAPE(calls, "VerdictCalls", NULL);

static const struct verdict_field error_fields[] = {
    ROW("class", FIELD_TEXT, 0, V(error_class), "one word"),
    ROW("message", FIELD_TEXT, FIELD_NULLABLE, V(error_message), "one line"),
    ROW("excerpt", FIELD_TEXT, FIELD_NULLABLE, V(error_excerpt),
        "compiler output or traceback with the candidate's own lines"),
};

SHAPE(error, "VerdictError", NULL);

static bool has_error(const void *base)
{
    return ((const struct verdict *)base)->error_class != NULL;
}

static bool has_output(const void *base)
{
    return ((const struct verdict *)base)->output != NULL;
}

static const struct verdict_field output_fields[] = {
    ROW("text", FIELD_TEXT, 0, V(output),
        "its beginning, of `check.output_bytes` at most; `?` stands for each byte that is no UTF-8 "
        "or controls a terminal"),
    ROW("cut_bytes", FIELD_LONG, 0, V(output_cut_bytes),
        "how many followed, of the first 65,536; what a process prints beyond those is lost"),
};
SHAPE(output, "VerdictOutput", NULL);

static const struct verdict_field verdict_fields[] = {
    ROW("schema", FIELD_SCHEMA, 0, 0, "the version of this form"),
    ROW("id", FIELD_TEXT, 0, V(id),
        "of this evaluation, also if a server answered with a [cached verdict]"
        "(../guide/serve.md#submit-an-evaluation) of another; `stages_ms` are of the run that was "
        "judged then"),
    OBJECT("problem", problem_shape, 0, 0, NULL, "what was to be solved"),
    OBJECT("candidate", candidate_shape, 0, 0, NULL, "what was judged"),
    ROW("device", FIELD_TEXT, 0, V(device),
        "`cpu`, or `cuda:1 NVIDIA H200`; empty if it was not judged"),
    OBJECT("environment", environment_shape, 0, 0, NULL, "where it ran"),
    ROW("status", FIELD_STATUS, 0, V(status), "[below](#status)"),
    ROW("compiled", FIELD_BOOL, 0, V(compiled), "it compiles, or needs no compilation"),
    ROW("correct", FIELD_BOOL, 0, V(correct), "in every trial and every timed call"),
    OBJECT("correctness", correctness_shape, 0, 0, NULL, "its outputs against the reference's"),
    OBJECT("cases", cases_shape, 0, FIELD_OPTIONAL, has_cases, "of a `simple` problem"),
    OBJECT("timing", timing_shape, 0, FIELD_NULLABLE, has_timing, "null if nothing was timed"),
    OBJECT("problem_audit", audit_shape, 0, FIELD_OPTIONAL, has_audit,
           "whether the problem can be gamed; in every verdict of a candidate that was judged"),
    OBJECT("profile", profile_shape, 0, 0, NULL,
           "what ran; on a GPU, of one traced pass of `calls` calls, apart from all timing"),
    OBJECT("integrity", integrity_shape, 0, 0, NULL, "what was found"),
    OBJECT("build", build_shape, 0, FIELD_OPTIONAL, has_extensions,
           "of a PyTorch candidate with extensions"),
    OBJECT("stages_ms", stages_shape, 0, 0, NULL, "their sum is the wall time since submission"),
    OBJECT("calls_ms", calls_shape, 0, 0, NULL,
           "time within calls: the necessary part of the run time"),
    OBJECT(
        "output", output_shape, 0, FIELD_OPTIONAL, has_output,
        "what the candidate printed (standard output and error) while it was loaded and checked, "
        "not while it was timed"),
    OBJECT("error", error_shape, 0, FIELD_NULLABLE, has_error, "null if there is none"),
};

const struct verdict_shape verdict_shape = {"Verdict", verdict_fields, COUNT(verdict_fields), NULL};
