/* Rewards for callers of warpgym_rl.h: out of a verdict, or of what is known without one. */
#include "rl/library/library.h"

#include "base/array.h"
#include "base/json.h"
#include "gym/answer/parse.h"
#include "gym/reward/reward.h"

#include <math.h>
#include <string.h>

#define SUBJECT "subject"

enum fact_kind { FACT_BOOL, FACT_COUNT, FACT_SIZE, FACT_REAL };

static const struct fact {
    const char *name;
    enum fact_kind kind;
    size_t offset;
} facts[] = {
#define FACT(field, kind)                                                                          \
    {                                                                                              \
#field, kind, offsetof(struct reward_facts, field)                                         \
    }
    FACT(correct, FACT_BOOL),    FACT(compiled, FACT_BOOL),      FACT(format_ok, FACT_BOOL),
    FACT(completed, FACT_BOOL),  FACT(cheated, FACT_BOOL),       FACT(excluded, FACT_BOOL),
    FACT(gameable, FACT_BOOL),   FACT(speedup, FACT_REAL),       FACT(speedup_low, FACT_REAL),
    FACT(coverage, FACT_REAL),   FACT(tests_passed, FACT_COUNT), FACT(tests_total, FACT_COUNT),
    FACT(code_chars, FACT_SIZE), FACT(thought_chars, FACT_SIZE),
#undef FACT
};

const char *warpgym_rl_fact(size_t index)
{
    return index < COUNT(facts) ? facts[index].name : NULL;
}

const char *warpgym_rl_reward_field(size_t index, double *standard)
{
    static const struct {
        const char *name;
        double standard;
    } fields[] = {
#define X(field, standard) {#field, standard},
        REWARD_FIELDS(X)
#undef X
    };
    if (index >= COUNT(fields))
        return NULL;
    if (standard)
        *standard = fields[index].standard;
    return fields[index].name;
}

static int read_count(const json_t *object, const char *name, int64_t *count, struct err *err)
{
    int result = json_find_int(object, name, count, err);
    if (result == 0 && *count < 0)
        return err_set(err, ERR_INPUT, "'%s' is %lld; it must not be negative", name,
                       (long long)*count);
    return result;
}

static int read_real(const json_t *object, const char *name, double *real, struct err *err)
{
    int result = json_find_double(object, name, real, err);
    if (result == 0 && *real < 0)
        return err_set(err, ERR_INPUT, "'%s' is %g; it must not be negative", name, *real);
    return result;
}

static int read_fact(const json_t *object, const struct fact *fact, struct reward_facts *to,
                     struct err *err)
{
    void *at = (char *)to + fact->offset;
    int64_t size = 0;
    int result;
    switch (fact->kind) {
    case FACT_BOOL:
        return json_find_bool(object, fact->name, at, err);
    case FACT_COUNT:
        return read_count(object, fact->name, at, err);
    case FACT_REAL:
        return read_real(object, fact->name, at, err);
    default:
        result = read_count(object, fact->name, &size, err);
        *(size_t *)at = (size_t)size;
        return result;
    }
}

/* What is not given: correct code was compiled, ran to its end and has the asked form; the lower
 * bound of a speedup without an interval is the speedup. */
static void set_implied(struct reward_facts *read, bool correct)
{
    read->correct = read->compiled = read->completed = read->format_ok = correct;
    read->speedup = read->speedup_low = read->coverage = NAN;
}

static int read_facts(const json_t *object, struct reward_facts *read, struct err *err)
{
    const char *names[COUNT(facts)];
    bool correct = false;
    for (size_t i = 0; i < COUNT(facts); i++)
        names[i] = facts[i].name;
    int result = json_check_keys(object, names, COUNT(facts), err);
    if (result == 0)
        result = json_find_bool(object, "correct", &correct, err);
    set_implied(read, correct);
    for (size_t i = 0; i < COUNT(facts) && result == 0; i++)
        result = read_fact(object, &facts[i], read, err);
    if (result == 0 && read->coverage > 1)
        return err_set(err, ERR_INPUT, "'coverage' is %g; it is a share, 0 to 1", read->coverage);
    if (isnan(read->speedup_low))
        read->speedup_low = read->speedup;
    return result;
}

static int read_answer(const json_t *object, struct parsed *answer, struct err *err)
{
    static const char *const names[] = {"verdict", "format_ok", "code_chars", "thought_chars"};
    int64_t code = 0, thought = 0;
    int result = json_check_keys(object, names, COUNT(names), err);
    if (result == 0)
        result = json_find_bool(object, "format_ok", &answer->format_ok, err);
    if (result == 0)
        result = read_count(object, "code_chars", &code, err);
    if (result == 0)
        result = read_count(object, "thought_chars", &thought, err);
    answer->code_chars = (size_t)code;
    answer->thought_chars = (size_t)thought;
    return result;
}

static int read_verdict(const json_t *verdict, const struct parsed *answer,
                        enum coverage_measure coverage, struct reward_facts *read, struct err *err)
{
    struct verdict whole;
    if (json_is_null(verdict)) {
        reward_facts_read(NULL, answer, coverage, read);
        return 0;
    }
    int result = verdict_read(verdict, &whole, err);
    if (result == 0)
        reward_facts_read(&whole, answer, coverage, read);
    verdict_deinit(&whole);
    return result;
}

static int read_subject(const char *text, enum coverage_measure coverage, struct reward_facts *read,
                        struct err *err)
{
    json_t *subject = NULL;
    struct parsed answer = {0};
    *read = (struct reward_facts){0};
    int result = json_parse(SUBJECT, text, strlen(text), &subject, err);
    const json_t *verdict = json_object_get(subject, "verdict");
    if (result == 0 && !json_is_object(subject))
        result = err_set(err, ERR_INPUT, "what is rewarded is a JSON object, a verdict or facts");
    else if (result == 0 && verdict) {
        result = read_answer(subject, &answer, err);
        if (result == 0)
            result = read_verdict(verdict, &answer, coverage, read, err);
    } else if (result == 0 && json_object_get(subject, "schema"))
        result = read_verdict(subject, NULL, coverage, read, err);
    else if (result == 0)
        result = read_facts(subject, read, err);
    json_decref(subject);
    return result;
}

static int read_config(const char *text, struct reward_config *config, struct err *err)
{
    json_t *value = NULL;
    if (text[strspn(text, " \t\r\n")] != '{')
        return reward_preset(text, config, err);
    int result = json_parse("reward", text, strlen(text), &value, err);
    if (result == 0)
        result = reward_config_read(value, config, err);
    json_decref(value);
    return result;
}

int warpgym_rl_reward(const char *config_text, const char *coverage, const char *subject,
                      struct warpgym_rl_reward *reward, struct warpgym_rl_error *error)
{
    static const struct word_table measures = WORD_TABLE(coverage_names);
    struct reward_config config;
    struct reward_facts read;
    struct reward computed;
    struct err err;
    int measure = COVERAGE_TIME;
    int status = read_config(config_text, &config, &err);
    if (status == 0 && coverage)
        status = word_find(&measures, "measure of coverage", coverage, &measure, &err);
    if (status == 0)
        status = read_subject(subject, (enum coverage_measure)measure, &read, &err);
    if (status == 0) {
        reward_compute(&config, &read, &computed);
        *reward = (struct warpgym_rl_reward){
            .excluded = computed.excluded,
            .total = computed.excluded ? NAN : computed.total,
#define PART(name) .name = computed.name
            PART(format),
            PART(compile),
            PART(correctness),
            PART(speed),
            PART(length),
            PART(thinking),
            PART(coverage),
#undef PART
        };
    }
    return rl_library_status(status, &err, error);
}
