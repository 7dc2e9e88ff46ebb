/* Rewards, returns and void turns against vectors/rewards.json. */
#include "gym/reward/reward.h"

#include "../support/test.h"
#include "../support/verdicts.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "gym/answer/parse.h"

#include <math.h>

#define VECTORS "tests/gym/vectors/rewards.json"
#define TURNS 8
#define CLOSE 1e-9

static json_t *read_vectors(void)
{
    json_t *vectors = NULL;
    struct err err = {0};
    assert_ok(json_file_read(VECTORS, (size_t)1 << 20, &vectors, &err), &err);
    return vectors;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_null(value))
        return NAN;
    if (!json_is_number(value))
        fail_msg("%s is no number", key);
    return json_number_value(value);
}

static bool boolean(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        fail_msg("%s is no boolean", key);
    return json_is_true(value);
}

static void read_facts(const json_t *object, struct reward_facts *facts)
{
    *facts = (struct reward_facts){
        .format_ok = boolean(object, "format_ok"),
        .compiled = boolean(object, "compiled"),
        .correct = boolean(object, "correct"),
        .completed = boolean(object, "completed"),
        .cheated = boolean(object, "cheated"),
        .excluded = boolean(object, "excluded"),
        .tests_passed = (int64_t)number(object, "tests_passed"),
        .tests_total = (int64_t)number(object, "tests_total"),
        .speedup = number(object, "speedup"),
        .speedup_low = number(object,
                              json_object_get(object, "speedup_low") ? "speedup_low" : "speedup"),
        .coverage = number(object, "coverage"),
        .code_chars = (size_t)number(object, "code_chars"),
        .thought_chars = (size_t)number(object, "thought_chars"),
    };
}

TEST(vectors)
{
    json_t *vectors = read_vectors();
    json_t *row;
    size_t at;
    assert_true(json_array_size(json_object_get(vectors, "rewards")) > 100);
    json_array_foreach(json_object_get(vectors, "rewards"), at, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        struct reward_config config;
        struct reward_facts facts;
        struct reward reward;
        struct err err = {0};
        if (reward_config_read(json_object_get(row, "reward"), &config, &err) < 0)
            fail_msg("%s: %s", name, err.text);
        read_facts(json_object_get(row, "facts"), &facts);
        reward_compute(&config, &facts, &reward);
        if (json_is_null(json_object_get(row, "total"))) {
            assert_true(reward.excluded && reward.total == 0);
            continue;
        }
        const struct {
            const char *name;
            double value;
        } parts[] = {{"format", reward.format},           {"compile", reward.compile},
                     {"correctness", reward.correctness}, {"speed", reward.speed},
                     {"length", reward.length},           {"thinking", reward.thinking},
                     {"coverage", reward.coverage}};
        assert_false(reward.excluded);
        if (fabs(reward.total - number(row, "total")) > CLOSE)
            fail_msg("%s, %s: %.12g", config.preset, name, reward.total);
        for (size_t i = 0; i < COUNT(parts); i++)
            if (fabs(parts[i].value - number(json_object_get(row, "parts"), parts[i].name)) > CLOSE)
                fail_msg("%s, %s, %s: %.12g", config.preset, name, parts[i].name, parts[i].value);
    }
    json_decref(vectors);
}

static size_t read_turns(const json_t *row, const char *key, double *values)
{
    const json_t *array = json_object_get(row, key);
    size_t count = json_array_size(array);
    assert_true(json_is_array(array) && count <= TURNS);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        values[i] = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    }
    return count;
}

TEST(returns)
{
    json_t *vectors = read_vectors();
    json_t *row;
    size_t at;
    json_array_foreach(json_object_get(vectors, "returns"), at, row)
    {
        double rewards[TURNS] = {0};
        double wanted[TURNS] = {0};
        double got[TURNS] = {0};
        double marks[TURNS] = {0};
        bool excluded[TURNS];
        bool some = json_is_array(json_object_get(row, "excluded"));
        size_t count = read_turns(row, "rewards", rewards);
        assert_int_equal(read_turns(row, "returns", wanted), count);
        if (some)
            assert_int_equal(read_turns(row, "excluded", marks), count);
        for (size_t i = 0; i < TURNS; i++)
            excluded[i] = marks[i] != 0;
        reward_returns(rewards, some ? excluded : NULL, count, number(row, "gamma"), got);
        for (size_t i = 0; i < count; i++)
            if (fabs(got[i] - wanted[i]) > CLOSE)
                fail_msg("row %zu, turn %zu: %.12g", at, i, got[i]);
    }
    json_array_foreach(json_object_get(vectors, "void_turns"), at, row)
    {
        double rewards[TURNS] = {0};
        double wanted[TURNS] = {0};
        bool keep[TURNS] = {0};
        size_t count = read_turns(row, "rewards", rewards);
        assert_int_equal(read_turns(row, "keep", wanted), count);
        reward_void_turns(rewards, count, keep);
        for (size_t i = 0; i < count; i++)
            if (keep[i] != (wanted[i] != 0))
                fail_msg("void turns, row %zu, turn %zu: %d", at, i, keep[i]);
    }
    json_decref(vectors);
}

TEST(presets)
{
    struct reward_config config;
    struct err err;
    const char *name;
    for (size_t i = 0; (name = word_at(&reward_words, i)); i++) {
        assert_int_equal(reward_preset(name, &config, &err), 0);
        assert_string_equal(config.preset, name);
    }
    assert_int_equal(reward_preset("kevn", &config, &err), ERR_INPUT);
    assert_string_equal(err.text, "unknown reward 'kevn'; did you mean 'kevin'?");
    assert_int_equal(reward_preset("", &config, &err), ERR_INPUT);
    assert_string_equal(
        err.text,
        "unknown reward ''; choose one of warpgym, kevin, kernel_rl, staged1, staged2, staged3, "
        "sparse, drkernel, drkernel_paper, drkernel_weighted, drkernel_like_kernel");
}

/* What a user may write, with what is said of it; NULL: nothing. */
static const struct {
    const char *text, *error;
} configs[] = {
    {"{\"preset\": \"kevin\"}", NULL},
    {"{\"preset\": \"staged1\", \"gate_on_correctness\": true}", NULL},
    {"{\"preset\": \"staged1\", \"partial_correctness\": 0}", NULL},
    {"{\"preset\": \"drkernel\", \"failure_penalty\": -1.5, \"speed_upper\": 5}", NULL},
    {"{\"preset\": \"kevin\", \"speed_weight\": null}", NULL},
    {"[]", "a reward is a preset's name, or an object with 'preset' and what differs"},
    {"{}", "'preset' is missing; it must be a string"},
    {"{\"preset\": 3}", "'preset' must be a string, not an integer"},
    {"{\"preset\": \"stage1\"}", "unknown reward 'stage1'; did you mean 'staged1'?"},
    {"{\"preset\": \"kevin\", \"speed_weigt\": 1}",
     "unknown key 'speed_weigt'; did you mean 'speed_weight'?"},
    {"{\"preset\": \"kevin\", \"speed_weight\": \"1\"}",
     "'speed_weight' must be a number, not a string"},
    {"{\"preset\": \"kevin\", \"speed_weight\": true}",
     "'speed_weight' must be a number, not a boolean"},
    {"{\"preset\": \"kevin\", \"length_weight\": -0.1}",
     "'length_weight' must not be negative (it is -0.1): use a penalty"},
    {"{\"preset\": \"kevin\", \"gate_on_correctness\": 0.5}",
     "'gate_on_correctness' must be 0 or 1, not 0.5"},
    {"{\"preset\": \"kevin\", \"speed_scale\": -1e300}",
     "'speed_scale' is -1e+300; its magnitude must be 1e+09 at most"},
};

TEST(configs)
{
    for (size_t i = 0; i < COUNT(configs); i++) {
        struct reward_config config;
        struct err err = {0};
        json_t *value = json_loads(configs[i].text, 0, NULL);
        int result = reward_config_read(value, &config, &err);
        if (result != (configs[i].error ? ERR_INPUT : 0) ||
            strcmp(err.text, configs[i].error ? configs[i].error : "") != 0)
            fail_msg("%s: %d, %s", configs[i].text, result, err.text);
        json_decref(value);
    }
}

#define TIMED "\"timing\": {\"candidate\": {}, \"speedup\": 2.5, \"meaningful\": true}, "
#define TRIALS "\"correctness\": {\"trials\": 8, \"passed\": 8}, "

enum { FORMAT = 1, COMPILED = 2, CORRECT = 4, COMPLETED = 8, CHEATED = 16, EXCLUDED = 32 };

/* Verdicts, and what is read of them; speedup and coverage -1: not known. */
static const struct {
    const char *verdict;
    int flags;
    int64_t passed, total;
    double speedup, coverage;
} verdicts[] = {
    {"{\"status\": \"passed\", \"compiled\": true, \"correct\": true, " TIMED TRIALS
     "\"profile\": {\"own_time_fraction\": 0.25}}",
     FORMAT | COMPILED | CORRECT | COMPLETED, 8, 8, 2.5, 0.25},
    {"{\"status\": \"passed\", \"compiled\": true, \"correct\": true, \"timing\": {\"candidate\": "
     "{}, "
     "\"speedup\": 2.5, \"meaningful\": false}, \"profile\": {\"own_time_fraction\": null}}",
     FORMAT | COMPILED | CORRECT | COMPLETED, 0, 0, -1, -1},
    {"{\"status\": \"passed\", \"compiled\": true, \"correct\": true, \"timing\": null, "
     "\"profile\": {\"own_time_fraction\": 7}}",
     FORMAT | COMPILED | CORRECT | COMPLETED, 0, 0, -1, 1},
    /* a timed call was wrong */
    {"{\"status\": \"wrong\", \"compiled\": true, \"correct\": false, " TIMED TRIALS
     "\"error\": null}",
     FORMAT | COMPILED | COMPLETED, 8, 9, -1, -1},
    {"{\"status\": \"wrong\", \"compiled\": true, \"correct\": false, \"correctness\": "
     "{\"trials\": 4, \"passed\": 3}, \"integrity\": {\"violations\": [{\"code\": \"H15\"}]}}",
     FORMAT | COMPILED | COMPLETED, 3, 4, -1, -1},
    {"{\"status\": \"violation\", \"compiled\": true, \"correct\": true, " TIMED TRIALS
     "\"error\": null}",
     FORMAT | COMPILED | CHEATED, 8, 9, -1, -1},
    {"{\"status\": \"compile_error\", \"compiled\": false, \"correct\": false}", FORMAT | COMPLETED,
     0, 0, -1, -1},
    {"{\"status\": \"load_error\", \"compiled\": true, \"correct\": false}", FORMAT | COMPILED, 0,
     0, -1, -1},
    {"{\"status\": \"timeout\", \"compiled\": true, \"correct\": false}", FORMAT | COMPILED, 0, 0,
     -1, -1},
    {"{\"status\": \"runtime_error\", \"compiled\": true}", FORMAT | COMPILED | COMPLETED, 0, 0, -1,
     -1},
    {"{\"status\": \"out_of_memory\", \"compiled\": true}", FORMAT | COMPILED | COMPLETED, 0, 0, -1,
     -1},
    {"{\"status\": \"infrastructure_error\", \"correct\": true}", EXCLUDED, 0, 0, -1, -1},
    {"{\"status\": \"cancelled\"}", EXCLUDED, 0, 0, -1, -1},
    {"{\"status\": \"unsupported\"}", EXCLUDED, 0, 0, -1, -1},
    {"{\"status\": \"passed\", \"compiled\": true, \"correct\": true, \"timing\": {\"candidate\": "
     "{}, "
     "\"meaningful\": true, \"speedup\": -3}, \"profile\": {\"own_time_fraction\": -1}}",
     FORMAT | COMPILED | CORRECT | COMPLETED, 0, 0, -1, -1},
    {"{\"status\": \"wrong\", \"correctness\": {\"trials\": 3, \"passed\": 5}}", FORMAT | COMPLETED,
     3, 4, -1, -1},
};

static double measured(double value)
{
    return isnan(value) ? -1 : value;
}

TEST(facts)
{
    for (size_t i = 0; i < COUNT(verdicts); i++) {
        struct verdict verdict;
        struct reward_facts facts;
        verdict_of(verdicts[i].verdict, &verdict);
        reward_facts_read(&verdict, NULL, COVERAGE_TIME, &facts);
        int flags = (facts.format_ok ? FORMAT : 0) | (facts.compiled ? COMPILED : 0) |
                    (facts.correct ? CORRECT : 0) | (facts.completed ? COMPLETED : 0) |
                    (facts.cheated ? CHEATED : 0) | (facts.excluded ? EXCLUDED : 0);
        if (flags != verdicts[i].flags || facts.tests_passed != verdicts[i].passed ||
            facts.tests_total != verdicts[i].total ||
            measured(facts.speedup) != verdicts[i].speedup ||
            measured(facts.coverage) != verdicts[i].coverage)
            fail_msg("%s: flags %d, %lld of %lld, %g, %g", verdicts[i].verdict, flags,
                     (long long)facts.tests_passed, (long long)facts.tests_total, facts.speedup,
                     facts.coverage);
        verdict_deinit(&verdict);
    }
}

/* A discount for problems that can be gamed: off, unless it is asked for, and of rewards only. */
TEST(gameable)
{
    static const struct {
        const char *reward;
        bool correct, gameable;
        double total;
    } cases[] = {
        {"{\"preset\": \"kevin\"}", true, true, 2.3},
        {"{\"preset\": \"kevin\", \"gameable_factor\": 0.5}", true, true, 1.15},
        {"{\"preset\": \"kevin\", \"gameable_factor\": 0.5}", true, false, 2.3},
        {"{\"preset\": \"drkernel\", \"gameable_factor\": 0}", true, true, 0},
        {"{\"preset\": \"drkernel_like_kernel\", \"gameable_factor\": 0}", false, true, -0.3},
        {"{\"preset\": \"kevin\", \"gameable_factor\": 1.5}", true, true, NAN},
        {"{\"preset\": \"kevin\", \"gameable_factor\": -1}", true, true, NAN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct verdict verdict = {.status = cases[i].correct ? STATUS_PASSED : STATUS_WRONG,
                                  .compiled = true,
                                  .correct = cases[i].correct};
        struct reward_config config;
        struct reward_facts facts;
        struct reward reward;
        struct err err;
        verdict.audit.outcome = cases[i].gameable ? AUDIT_GAMEABLE : AUDIT_SOUND;
        json_t *object = json_loads(cases[i].reward, 0, NULL);
        int result = reward_config_read(object, &config, &err);
        json_decref(object);
        if ((result == 0) == isnan(cases[i].total))
            fail_msg("%s: %d", cases[i].reward, result);
        if (result < 0)
            continue;
        reward_facts_read(&verdict, NULL, COVERAGE_TIME, &facts);
        facts.speedup = cases[i].correct ? 2 : NAN;
        reward_compute(&config, &facts, &reward);
        if (fabs(reward.total - cases[i].total) > CLOSE)
            fail_msg("%s: %g", cases[i].reward, reward.total);
    }
}

TEST(answers)
{
    char code[] = "x";
    struct parsed parsed = {.code = code, .code_chars = 1, .thought_chars = 7};
    struct parsed none = {.thought_chars = 3};
    struct reward_facts facts;
    const struct verdict passed = {.status = STATUS_PASSED, .compiled = true, .correct = true};
    const struct verdict failed = {.status = STATUS_LOAD_ERROR, .compiled = true};
    /* What was judged correct has an entry point, whatever the parser thought. */
    reward_facts_read(&passed, &parsed, COVERAGE_TIME, &facts);
    assert_true(facts.format_ok && facts.code_chars == 1 && facts.thought_chars == 7);
    reward_facts_read(&failed, &parsed, COVERAGE_TIME, &facts);
    assert_false(facts.format_ok);
    /* No code: a failure. Code that was not judged: nothing is known. */
    reward_facts_read(NULL, &none, COVERAGE_TIME, &facts);
    assert_false(facts.format_ok || facts.excluded || facts.compiled || facts.completed);
    assert_int_equal(facts.thought_chars, 3);
    reward_facts_read(NULL, NULL, COVERAGE_TIME, &facts);
    assert_false(facts.excluded || facts.completed);
    reward_facts_read(NULL, &parsed, COVERAGE_TIME, &facts);
    assert_true(facts.excluded);
}
