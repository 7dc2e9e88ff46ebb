/* The conversation as a state machine: made-up verdicts, real templates and problems. */
#include "gym/episode/episode.h"

#include "../support/gym_fixture.h"
#include "../support/test.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/verdict.h"

#include <math.h>
#include <stdio.h>

#define CODE "```c\nvoid solution(const float *x, float *y, size_t n)\n{\n}\n```"

static struct episode *begin(const char *configuration)
{
    struct episode *episode;
    struct err err;
    json_t *asked = support_json(configuration);
    assert_ok(episode_new(&episode, gym, "e", asked, &err), &err);
    json_decref(asked);
    return episode;
}

static json_t *answer_of(const char *text)
{
    return json_pack("{s:s}", "text", text);
}

/* True: it is to be judged. */
static bool say(struct episode *episode, const char *text)
{
    struct err err;
    json_t *answer = answer_of(text), *request;
    assert_ok(episode_answer(episode, answer, &request, &err), &err);
    bool judging = request != NULL;
    json_decref(request);
    json_decref(answer);
    return judging;
}

static int judge(struct episode *episode, const char *status, double speedup)
{
    struct verdict verdict;
    verdict_init(&verdict);
    verdict.id = "v";
    verdict.status = verdict_status_named(status);
    verdict.compiled = true;
    verdict.correct = verdict.status == STATUS_PASSED;
    verdict.trials = 5;
    verdict.trials_passed = verdict.correct ? 5 : 0;
    verdict.case_count = 1;
    verdict.cases[0].speedup = (struct interval){speedup, speedup * 0.9, speedup * 1.1, 1};
    verdict.stages_ms[STAGE_COMPILE] = 12.5;
    int result = episode_verdict(episode, &verdict, NULL);
    verdict_deinit(&verdict);
    return result;
}

static void turn(struct episode *episode, const char *status, double speedup)
{
    assert_true(say(episode, CODE));
    assert_int_equal(judge(episode, status, speedup), 0);
}

static const char *end_of(const struct episode *episode)
{
    return json_string_value(json_object_get(episode_state(episode), "end"));
}

static double real_of(const json_t *value, const char *key)
{
    return json_number_value(json_object_get(value, key));
}

TEST(four_turns)
{
    struct episode *episode = begin("{\"problem\": {\"id\": \"relu\"}, \"turns\": 4, \"gamma\": "
                                    "0.4, \"reward\": \"kevin\"}");
    json_t *messages;
    assert_int_equal(episode_phase(episode), EPISODE_ANSWERING);
    assert_int_equal(episode_messages(episode, &messages, NULL), 0);
    assert_true(json_array_size(messages) >= 1);
    json_decref(messages);
    assert_false(say(episode, "I have no idea."));
    assert_int_equal(episode_turn(episode), 1);
    turn(episode, "wrong", 0);
    turn(episode, "passed", 1.5);
    assert_int_equal(episode_phase(episode), EPISODE_ANSWERING);
    turn(episode, "passed", 2);
    assert_int_equal(episode_phase(episode), EPISODE_DONE);
    assert_string_equal(end_of(episode), "turns");
    json_t *trajectory = episode_trajectory(episode), *turns = json_object_get(trajectory, "turns");
    assert_int_equal(json_array_size(turns), 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(turns, 0), "status")),
                        "no_code");
    /* 0.3 + speedup; G = r + 0.4 G'. */
    assert_true(fabs(real_of(json_array_get(turns, 3), "return") - 2.3) < 1e-9);
    assert_true(fabs(real_of(json_array_get(turns, 2), "return") - (1.8 + 0.4 * 2.3)) < 1e-9);
    assert_true(fabs(real_of(json_array_get(turns, 1), "return") - 0.4 * (1.8 + 0.4 * 2.3)) < 1e-9);
    assert_int_equal(json_integer_value(json_object_get(trajectory, "best_turn")), 3);
    assert_true(json_is_true(json_object_get(trajectory, "solved")));
    json_t *conversation = json_object_get(trajectory, "messages");
    size_t count = json_array_size(conversation);
    assert_string_equal(json_string_value(
                            json_object_get(json_array_get(conversation, count - 1), "role")),
                        "assistant");
    /* A conversation that grows is the last prompt, and the answer to it: word for word. */
    json_t *last = json_object_get(json_array_get(turns, 3), "prompt");
    assert_int_equal(json_array_size(last), count - 1);
    for (size_t i = 0; i + 1 < count; i++)
        assert_true(json_equal(json_array_get(last, i), json_array_get(conversation, i)));
    json_decref(trajectory);
    episode_free(episode);
}

/* Configurations, the verdicts that come, and how it ends after which of them. */
static const struct {
    const char *configuration;
    struct {
        const char *status;
        double speedup;
    } verdicts[8];
    const char *end;
    int64_t turns;
} endings[] = {
    {"\"stop_speedup\": 1.5", {{"wrong", 0}, {"passed", 1.2}, {"passed", 1.6}}, "solved", 3},
    {"\"stop_correct\": true", {{"wrong", 0}, {"passed", 0.2}}, "solved", 2},
    {"\"stop_correct\": true, \"stop_speedup\": 1.5", {{"passed", 0.2}}, "solved", 1},
    {"\"stop_speedup\": 1.5, \"turns\": 2", {{"passed", 1.2}, {"passed", 1.3}}, "turns", 2},
    {"\"stop_speedup\": 1, \"evaluation\": {\"timing\": false}", {{"passed", 0}}, "solved", 1},
    {"\"turns\": 1", {{"passed", 9}}, "turns", 1},
    {"\"turns\": 3", {{"unsupported", 0}}, "error", 1},
    {"\"turns\": 2, \"history\": {\"iterations\": 3, \"remain_turns\": 1}",
     .verdicts = {{"wrong", 0}, {"passed", 2}, {"wrong", 0}, {"wrong", 0}}, "turns", 4},
    {"\"turns\": 2, \"history\": {\"iterations\": 2, \"remain_turns\": 0, \"select\": \"top\"}",
     .verdicts = {{"wrong", 0}, {"passed", 2}, {"wrong", 0}, {"wrong", 0}}, "turns", 4},
};

TEST(endings)
{
    for (size_t i = 0; i < COUNT(endings); i++) {
        char *text = mem_printf("{\"problem\": {\"id\": \"relu\"}, %s}", endings[i].configuration);
        struct episode *episode = begin(text);
        for (size_t k = 0; endings[i].verdicts[k].status; k++) {
            if (episode_phase(episode) != EPISODE_ANSWERING)
                fail_msg("%s: over after %zu", endings[i].configuration, k);
            turn(episode, endings[i].verdicts[k].status, endings[i].verdicts[k].speedup);
        }
        if (episode_phase(episode) != EPISODE_DONE || strcmp(end_of(episode), endings[i].end) != 0)
            fail_msg("%s: %s", endings[i].configuration, end_of(episode));
        assert_int_equal(episode_turn(episode), endings[i].turns);
        mem_free(text);
        episode_free(episode);
    }
}

/* A verdict that says nothing is asked for again, as another evaluation; then it is an end. */
TEST(no_judge)
{
    struct episode *episode = begin("{\"problem\": {\"id\": \"relu\"}}");
    char last[64] = "";
    assert_true(say(episode, CODE));
    for (int i = 0; i < EPISODE_ATTEMPTS; i++) {
        json_t *request = episode_request(episode);
        const char *id = json_string_value(json_object_get(request, "id"));
        assert_string_not_equal(id, last);
        snprintf(last, sizeof last, "%s", id);
        json_decref(request);
        assert_int_equal(judge(episode, i % 2 ? "cancelled" : "infrastructure_error", 0),
                         i + 1 < EPISODE_ATTEMPTS ? ERR_IO : 0);
    }
    assert_int_equal(episode_phase(episode), EPISODE_DONE);
    assert_string_equal(end_of(episode), "error");
    json_t *trajectory = episode_trajectory(episode);
    const json_t *only = json_array_get(json_object_get(trajectory, "turns"), 0);
    assert_true(json_is_true(json_object_get(only, "excluded")));
    assert_false(json_is_true(json_object_get(only, "keep")));
    json_decref(trajectory);
    episode_free(episode);
}

static struct episode *copy_of(const struct episode *episode)
{
    struct episode *again;
    struct err err;
    char *text = json_dumps(episode_state(episode), JSON_COMPACT);
    json_t *state = support_json(text);
    assert_ok(episode_load(&again, gym, state, &err), &err);
    json_decref(state);
    free(text);
    return again;
}

static struct episode *kept(struct episode *episode)
{
    struct episode *again = copy_of(episode);
    episode_free(episode);
    return again;
}

static json_t *without_times(const struct episode *episode)
{
    json_t *state = json_deep_copy(episode_state(episode));
    json_object_del(state, "started_at");
    json_object_del(state, "ended_at");
    return state;
}

/* Through text after every step, or never: the same. */
TEST(resumes_to_the_same)
{
    static const struct {
        const char *text, *status;
        double speedup;
    } steps[] = {{"nothing", NULL, 0},
                 {CODE, "compile_error", 0},
                 {"<think>hm</think>" CODE, "passed", 0.7},
                 {CODE, "passed", 1.7}};
    const char *configuration = "{\"problem\": {\"id\": \"softmax\"}, \"turns\": 2, \"history\": "
                                "{\"iterations\": 3, \"remain_turns\": 1, \"select\": \"best\"}, "
                                "\"start\": {\"code\": \"void solution(void) {}\"}}";
    struct episode *straight = begin(configuration), *broken = copy_of(straight);
    for (size_t i = 0; i < COUNT(steps); i++) {
        broken = kept(broken);
        assert_int_equal(say(straight, steps[i].text), steps[i].status != NULL);
        assert_int_equal(say(broken, steps[i].text), steps[i].status != NULL);
        broken = kept(broken);
        if (!steps[i].status)
            continue;
        assert_int_equal(judge(straight, steps[i].status, steps[i].speedup), 0);
        assert_int_equal(judge(broken, steps[i].status, steps[i].speedup), 0);
    }
    broken = kept(broken);
    json_t *one = without_times(straight), *other = without_times(broken);
    assert_true(json_equal(one, other));
    assert_int_equal(episode_phase(broken), EPISODE_DONE);
    json_decref(one);
    json_decref(other);
    episode_free(straight);
    episode_free(broken);
}

/* Whatever a store gives back. */
TEST(foreign_states)
{
    static const char *const texts[] = {
        "{}",
        "{\"schema\": 1}",
        "{\"schema\": 1, \"id\": \"e\", \"phase\": \"judging\", \"configuration\": {}, \"turns\": "
        "[], \"window\": []}",
        "{\"schema\": 1, \"id\": \"e\", \"phase\": \"judging\", \"configuration\": [], \"turns\": "
        "[], \"window\": []}",
        "{\"schema\": 1, \"id\": \"e\", \"phase\": \"x\", \"configuration\": {}, \"turns\": [1], "
        "\"window\": []}",
        "{\"schema\": 2, \"id\": \"e\"}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct episode *episode;
        struct err err;
        json_t *given = support_json(texts[i]);
        if (episode_load(&episode, gym, given, &err) == 0)
            fail_msg("taken: %s", texts[i]);
        assert_true(err.text[0]);
        json_decref(given);
    }
}

/* Of a state of ours each part in turn is gone: it is refused, or goes on; nothing falls over. */
static void try_without(const json_t *state, const char *key)
{
    struct episode *episode;
    struct err err;
    if (episode_load(&episode, gym, state, &err) < 0) {
        assert_true(err.text[0]);
        return;
    }
    json_decref(episode_request(episode));
    if (episode_phase(episode) == EPISODE_JUDGING && judge(episode, "passed", 1) < 0)
        fail_msg("without %s: not judged", key);
    json_decref(episode_trajectory(episode));
    episode_free(episode);
}

static void try_without_each(json_t *state, json_t *object)
{
    json_t *whole = json_copy(object), *value;
    const char *key;
    json_object_foreach(whole, key, value)
    {
        json_object_del(object, key);
        try_without(state, key);
        json_object_set(object, key, value);
    }
    json_decref(whole);
}

TEST(states_with_holes)
{
    struct episode *episode = begin("{\"problem\": {\"id\": \"relu\"}}");
    turn(episode, "wrong", 1);
    assert_true(say(episode, CODE));
    json_t *kept_state = json_deep_copy(episode_state(episode));
    json_t *pending = json_object_get(kept_state, "pending");
    try_without_each(kept_state, kept_state);
    try_without_each(kept_state, pending);
    try_without_each(kept_state, json_object_get(pending, "answer"));
    try_without_each(kept_state, json_array_get(json_object_get(kept_state, "turns"), 0));
    json_decref(kept_state);
    episode_free(episode);
}

static const struct {
    const char *configuration, *says;
} refused[] = {
    {"{}", "problem"},
    {"{\"problem\": {\"id\": \"reluu\"}}", "relu"},
    {"{\"problem\": {\"id\": \"relu\"}, \"turn\": 3}", "turns"},
    {"{\"problem\": {\"id\": \"relu\"}, \"turns\": 0}", "turns"},
    {"{\"problem\": {\"id\": \"relu\"}, \"turns\": \"4\"}", "turns"},
    {"{\"problem\": {\"id\": \"relu\"}, \"gamma\": 1.5}", "gamma"},
    {"{\"problem\": {\"id\": \"relu\"}, \"language\": \"triton\"}", "triton"},
    {"{\"problem\": {\"id\": \"relu\"}, \"language\": \"rust\"}", "rust"},
    {"{\"problem\": {\"id\": \"relu\"}, \"reward\": \"kevn\"}", "kevin"},
    {"{\"problem\": {\"id\": \"relu\"}, \"prompt\": {\"style\": \"kevinn\"}}", "kevin"},
    {"{\"problem\": {\"id\": \"relu\"}, \"prompt\": {\"shot\": 1}}", "shots"},
    {"{\"problem\": {\"id\": \"relu\"}, \"prompt\": {\"retrieve\": 3}}", "retrieval.directory"},
    {"{\"problem\": {\"id\": \"relu\"}, \"prompt\": {\"token_budget\": 10}}", "token"},
    {"{\"problem\": {\"id\": \"relu\"}, \"history\": {\"iterations\": 2, \"remain_turns\": 4}}",
     "remain_turns"},
    {"{\"problem\": {\"id\": \"relu\"}, \"history\": {\"select\": \"first\"}}", "last, best, top"},
    {"{\"problem\": {\"id\": \"relu\"}, \"evaluation\": {\"settings\": {\"cache.directory\": "
     "\"/tmp\"}}}",
     "cache.directory"},
    {"{\"problem\": {\"format\": \"simple\"}}", "reference"},
};

TEST(refused)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct episode *episode;
        struct err err = {0};
        json_t *asked = support_json(refused[i].configuration);
        if (episode_new(&episode, gym, "e", asked, &err) == 0)
            fail_msg("taken: %s", refused[i].configuration);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s: %s", refused[i].configuration, err.text);
        json_decref(asked);
    }
}

TEST(answers_refused)
{
    static const char *const texts[] = {
        "{}",
        "{\"text\": 1}",
        "{\"text\": \"x\", \"usage\": 3}",
        "{\"text\": \"x\", \"txt\": 1}",
        "{\"text\": \"x\", \"logprobs\": {}}",
    };
    struct episode *episode = begin("{\"problem\": {\"id\": \"relu\"}}");
    json_t *request;
    for (size_t i = 0; i < COUNT(texts); i++) {
        json_t *answer = support_json(texts[i]);
        if (episode_answer(episode, answer, &request, NULL) != ERR_INPUT)
            fail_msg("taken: %s", texts[i]);
        json_decref(answer);
    }
    assert_int_equal(episode_phase(episode), EPISODE_ANSWERING);
    assert_int_equal(judge(episode, "passed", 1), ERR_INPUT);
    assert_true(say(episode, CODE));
    json_t *answer = answer_of(CODE);
    assert_int_equal(episode_answer(episode, answer, &request, NULL), ERR_INPUT);
    json_decref(answer);
    episode_free(episode);
}
