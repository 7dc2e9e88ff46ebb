#include "gym/reward/reward.h"

#include "base/array.h"
#include "base/json.h"
#include "base/suggest.h"
#include "gym/answer/parse.h"

#include <math.h>
#include <string.h>

/* How components add up. */
enum rule {
    RULE_SUM,    /* kernel_rl's weighted sum, gated or not */
    RULE_SPARSE, /* kernel_rl's: 1 and extras when correct */
    RULE_CLIP,   /* Dr. Kernel's release and paper: the speedup between two bounds */
    RULE_STEP,   /* Dr. Kernel's: faster than the reference, or not */
    RULE_LADDER, /* Dr. Kernel's: a rung for each speedup, a penalty for each failure */
};

enum field {
#define X(field, standard) FIELD_##field,
    REWARD_FIELDS(X)
#undef X
        FIELDS
};

static const struct {
    const char *name;
    size_t offset;
    double standard;
} fields[FIELDS] = {
#define X(field, standard) {#field, offsetof(struct reward_config, field), standard},
    REWARD_FIELDS(X)
#undef X
};

#define CHANGES 8
#define FIELD_MOST 1e9 /* a generous bound; totals stay finite */

/* What differs from the standard of reward.h. */
static const struct preset {
    const char *name;
    enum rule rule;
    struct {
        enum field field;
        double value;
    } changes[CHANGES]; /* unused ones say that the first field is 0, as it is */
} presets[] = {
    {"warpgym", RULE_SUM,
     .changes = {{FIELD_speed_baseline, 0},
                 {FIELD_speed_max_reward, 0},
                 {FIELD_speed_by_lower_bound, 1}}},
    {"kevin", RULE_SUM, {{FIELD_speed_baseline, 0}, {FIELD_speed_max_reward, 0}}},
    {"kernel_rl", RULE_SUM, {{0}}},
    {"staged1", RULE_SUM,
     .changes = {{FIELD_format_weight, 0.3},
                 {FIELD_compile_weight, 0.5},
                 {FIELD_correctness_weight, 0.2},
                 {FIELD_speed_weight, 0},
                 {FIELD_partial_correctness, 1},
                 {FIELD_gate_on_correctness, 0}}},
    {"staged2", RULE_SUM,
     .changes = {{FIELD_format_weight, 0.1},
                 {FIELD_compile_weight, 0.2},
                 {FIELD_correctness_weight, 0.7},
                 {FIELD_speed_weight, 0},
                 {FIELD_partial_correctness, 1},
                 {FIELD_gate_on_correctness, 0}}},
    {"staged3", RULE_SUM,
     .changes = {{FIELD_format_weight, 0.05},
                 {FIELD_compile_weight, 0.1},
                 {FIELD_correctness_weight, 0.5},
                 {FIELD_speed_weight, 0.35},
                 {FIELD_gate_on_correctness, 0}}},
    {"sparse", RULE_SPARSE, {{FIELD_speed_weight, 0.5}}},
    {"drkernel", RULE_CLIP,
     .changes = {{FIELD_correctness_weight, 0.5},
                 {FIELD_speed_weight, 0.5},
                 {FIELD_coverage_weight, 0.5}}},
    {"drkernel_paper", RULE_CLIP, {{FIELD_correctness_weight, 1}, {FIELD_coverage_weight, 1}}},
    {"drkernel_weighted", RULE_STEP, {{FIELD_correctness_weight, 0.5}, {FIELD_speed_weight, 0.5}}},
    {"drkernel_like_kernel", RULE_LADDER,
     .changes = {{FIELD_failure_penalty, -1},
                 {FIELD_compile_penalty, -0.5},
                 {FIELD_wrong_penalty, -0.3},
                 {FIELD_slow_penalty, -0.1}}},
    {.name = NULL},
};

const struct word_table reward_words = WORD_TABLE_OF(presets, name);

/* Rungs of RULE_LADDER, the highest first. */
static const struct {
    double speedup, reward;
} ladder[] = {{3, 1}, {2, 0.8}, {1.5, 0.6}, {1.2, 0.4}, {1, 0.2}};

/* Whether the candidate ran to its end, or to its own fault. Other statuses say nothing about the
 * candidate. */
enum completion { SAYS_NOTHING, INCOMPLETE, COMPLETED };
static const enum completion completions[STATUS_COUNT] = {
    [STATUS_PASSED] = COMPLETED,        [STATUS_WRONG] = COMPLETED,
    [STATUS_COMPILE_ERROR] = COMPLETED, [STATUS_LOAD_ERROR] = INCOMPLETE,
    [STATUS_TIMEOUT] = INCOMPLETE,      [STATUS_VIOLATION] = INCOMPLETE,
    [STATUS_RUNTIME_ERROR] = COMPLETED, [STATUS_OUT_OF_MEMORY] = COMPLETED,
};

/* A candidate that is wrong in a timed call has passed all trials: the call counts as one more
 * trial. */
static void read_tests(const struct verdict *verdict, struct reward_facts *facts)
{
    facts->tests_total = verdict->trials;
    facts->tests_passed = verdict->trials_passed < verdict->trials ? verdict->trials_passed
                                                                   : verdict->trials;
    if (!facts->correct && facts->tests_total > 0 && facts->tests_passed == facts->tests_total)
        facts->tests_total++;
}

static void read_speedup(const struct verdict *verdict, struct reward_facts *facts)
{
    struct interval speedup;
    verdict_speedup(verdict, &speedup);
    if (!facts->correct || !verdict->timing_meaningful || !isfinite(speedup.value) ||
        speedup.value <= 0)
        return;
    facts->speedup = speedup.value;
    facts->speedup_low = speedup.low;
}

void reward_facts_read(const struct verdict *verdict, const struct parsed *parsed,
                       enum coverage_measure coverage, struct reward_facts *facts)
{
    *facts = (struct reward_facts){.speedup = NAN, .speedup_low = NAN, .coverage = NAN};
    if (parsed) {
        facts->format_ok = parsed->format_ok;
        facts->code_chars = parsed->code_chars;
        facts->thought_chars = parsed->thought_chars;
    }
    facts->excluded = verdict ? completions[verdict->status] == SAYS_NOTHING
                              : parsed && parsed->code;
    if (!verdict || facts->excluded)
        return;
    facts->completed = completions[verdict->status] == COMPLETED;
    facts->cheated = verdict->status == STATUS_VIOLATION;
    facts->compiled = verdict->compiled;
    facts->gameable = verdict->audit.outcome == AUDIT_GAMEABLE;
    facts->correct = verdict->correct && !facts->cheated;
    /* A candidate that the judge could call has an entry point, whatever it looks like. */
    facts->format_ok |= facts->correct || !parsed;
    facts->coverage = coverage_read(coverage, verdict);
    read_tests(verdict, facts);
    read_speedup(verdict, facts);
}

static double *field_of(struct reward_config *config, size_t i)
{
    return (double *)((char *)config + fields[i].offset);
}

int reward_preset(const char *name, struct reward_config *config, struct err *err)
{
    int at;
    int result = word_find(&reward_words, "reward", name, &at, err);
    if (result < 0)
        return result;
    *config = (struct reward_config){.preset = presets[at].name, .rule = presets[at].rule};
    for (size_t i = 0; i < FIELDS; i++)
        *field_of(config, i) = fields[i].standard;
    for (size_t i = 0; i < CHANGES; i++)
        if (presets[at].changes[i].field != 0 || presets[at].changes[i].value != 0)
            *field_of(config, presets[at].changes[i].field) = presets[at].changes[i].value;
    return 0;
}

static bool is_flag(size_t i)
{
    return i == FIELD_partial_correctness || i == FIELD_gate_on_correctness ||
           i == FIELD_speed_by_lower_bound;
}

static bool is_share(size_t i)
{
    return i == FIELD_gameable_factor;
}

static bool is_weight(size_t i)
{
    static const char ending[] = "_weight";
    size_t length = strlen(fields[i].name);
    return length > sizeof ending &&
           strcmp(fields[i].name + length + 1 - sizeof ending, ending) == 0;
}

static int read_field(const json_t *value, size_t i, struct reward_config *config, struct err *err)
{
    const json_t *given = json_object_get(value, fields[i].name);
    double *field = field_of(config, i);
    if (is_flag(i) && json_is_boolean(given)) {
        *field = json_is_true(given);
        return 0;
    }
    int result = json_find_double(value, fields[i].name, field, err);
    if (result < 0)
        return result;
    if (is_flag(i) && *field != 0 && *field != 1)
        return err_set(err, ERR_INPUT, "'%s' must be 0 or 1, not %g", fields[i].name, *field);
    if (is_share(i) && !(*field >= 0 && *field <= 1))
        return err_set(err, ERR_INPUT, "'%s' must be between 0 and 1, not %g", fields[i].name,
                       *field);
    if (fabs(*field) > FIELD_MOST)
        return err_set(err, ERR_INPUT, "'%s' is %g; its magnitude must be %g at most",
                       fields[i].name, *field, FIELD_MOST);
    if (is_weight(i) && *field < 0)
        return err_set(err, ERR_INPUT, "'%s' must not be negative (it is %g): use a penalty",
                       fields[i].name, *field);
    return 0;
}

int reward_config_read(const json_t *value, struct reward_config *config, struct err *err)
{
    const char *names[FIELDS + 1] = {"preset"};
    const char *preset = NULL;
    for (size_t i = 0; i < FIELDS; i++)
        names[i + 1] = fields[i].name;
    if (json_is_string(value))
        return reward_preset(json_string_value(value), config, err);
    if (!json_is_object(value))
        return err_set(err, ERR_INPUT,
                       "a reward is a preset's name, or an object with 'preset' and what differs");
    int result = json_check_keys(value, names, FIELDS + 1, err);
    if (result == 0)
        result = json_get_string(value, "preset", &preset, err);
    if (result == 0)
        result = reward_preset(preset, config, err);
    for (size_t i = 0; result == 0 && i < FIELDS; i++)
        result = read_field(value, i, config, err);
    return result;
}

static double correctness(const struct reward_config *config, const struct reward_facts *facts)
{
    if (facts->correct)
        return 1;
    if (config->partial_correctness == 0 || !facts->compiled || facts->tests_total <= 0)
        return 0;
    return fmin(fmax((double)facts->tests_passed / (double)facts->tests_total, 0), 1);
}

static double above_baseline(const struct reward_config *config, double speedup)
{
    double gained = config->speed_scale * (speedup - config->speed_baseline);
    if (speedup <= config->speed_baseline)
        return 0;
    return config->speed_max_reward > 0 ? fmin(gained, config->speed_max_reward) : gained;
}

static double ladder_rung(const struct reward_config *config, double speedup)
{
    for (size_t i = 0; i < COUNT(ladder); i++)
        if (speedup >= ladder[i].speedup)
            return ladder[i].reward;
    return config->slow_penalty;
}

static double speed_component(const struct reward_config *config, const struct reward_facts *facts)
{
    double speedup = config->speed_by_lower_bound != 0 ? facts->speedup_low : facts->speedup;
    speedup = speedup > 0 ? speedup : 0; /* NaN: not measured */
    if (!facts->correct)
        return 0;
    switch (config->rule) {
    case RULE_CLIP:
        speedup = fmin(speedup, config->speed_upper);
        return speedup < config->speed_lower ? 0 : speedup;
    case RULE_STEP:
        return speedup >= 1 + config->speed_epsilon ? 1 : 0;
    case RULE_LADDER:
        return ladder_rung(config, speedup);
    default:
        return speedup > 0 ? above_baseline(config, speedup) : 0;
    }
}

/* From `high` at `from` down to `low` at `to`. */
static double falling_ramp(double at, double from, double to, double high, double low)
{
    if (at <= from)
        return high;
    if (at >= to)
        return low;
    return high - (high - low) * (at - from) / (to - from);
}

static void compute_components(const struct reward_config *config, const struct reward_facts *facts,
                               struct reward *reward)
{
    double thought = (double)facts->thought_chars;
    reward->format = facts->format_ok ? 1 : config->format_penalty;
    reward->compile = facts->cheated ? config->cheating_penalty : facts->compiled ? 1 : 0;
    reward->correctness = correctness(config, facts);
    reward->speed = speed_component(config, facts);
    reward->length = falling_ramp((double)facts->code_chars, config->length_min, config->length_max,
                                  1, 0);
    reward->thinking = facts->thought_chars == 0
                           ? config->thinking_no_think
                           : falling_ramp(thought, config->thinking_soft_max,
                                          config->thinking_hard_max, config->thinking_bonus,
                                          config->thinking_floor);
    reward->coverage = facts->correct && facts->coverage > 0 ? facts->coverage : 0;
}

static double total_sum(const struct reward_config *config, const struct reward_facts *facts,
                        const struct reward *reward)
{
    double extras = config->speed_weight * reward->speed + config->length_weight * reward->length +
                    config->thinking_weight * reward->thinking;
    if (facts->cheated)
        return config->cheating_penalty;
    if (!facts->format_ok)
        return config->format_penalty;
    if (config->rule == RULE_SPARSE)
        return facts->correct ? 1 + extras : 0;
    if (config->gate_on_correctness != 0 && reward->correctness == 0)
        return 0;
    return config->correctness_weight * reward->correctness +
           config->format_weight * reward->format + config->compile_weight * reward->compile +
           config->coverage_weight * reward->coverage + extras;
}

/* An answer without code is not judged, and is a failure like one that cannot be loaded. */
static double total_drkernel(const struct reward_config *config, const struct reward_facts *facts,
                             const struct reward *reward)
{
    bool is_ladder = config->rule == RULE_LADDER;
    if (!facts->completed || facts->cheated || (!facts->compiled && !is_ladder))
        return config->failure_penalty;
    if (is_ladder)
        return !facts->compiled ? config->compile_penalty
               : facts->correct ? reward->speed
                                : config->wrong_penalty;
    return config->correctness_weight * reward->correctness + config->speed_weight * reward->speed +
           config->coverage_weight * reward->coverage;
}

void reward_compute(const struct reward_config *config, const struct reward_facts *facts,
                    struct reward *reward)
{
    bool sums = config->rule == RULE_SUM || config->rule == RULE_SPARSE;
    *reward = (struct reward){.excluded = facts->excluded};
    compute_components(config, facts, reward);
    if (!facts->excluded)
        reward->total = sums ? total_sum(config, facts, reward)
                             : total_drkernel(config, facts, reward);
    if (facts->gameable && reward->total > 0)
        reward->total *= config->gameable_factor;
}

void reward_returns(const double *rewards, const bool *excluded, size_t count, double gamma,
                    double *returns)
{
    double next = 0;
    for (size_t i = count; i-- > 0;) {
        if (!excluded || !excluded[i])
            next = rewards[i] + gamma * next;
        returns[i] = next;
    }
}

void reward_void_turns(const double *rewards, size_t count, bool *keep)
{
    bool worked = false;
    for (size_t i = 0; i < count; i++) {
        keep[i] = !worked || rewards[i] > 0;
        worked |= rewards[i] > 0;
    }
}
