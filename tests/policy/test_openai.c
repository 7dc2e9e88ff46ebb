/* The parts of an endpoint's policy that need no endpoint: questions, answers, refusals, prices. */
#include "policy/openai_answer.h"
#include "policy/openai_refusal.h"
#include "policy/openai_request.h"
#include "policy/policy_ops.h"

#include "../support/setting.h"
#include "../support/test.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "policy/policy_settings.h"

#include <math.h>

static void set_price(struct settings *settings, const char *name, double price)
{
    char assignment[64];
    const char *absent = strcmp(name, "cached") == 0 ? "auto" : "none";
    if (price < 0)
        snprintf(assignment, sizeof assignment, "policy.price_%s=%s", name, absent);
    else
        snprintf(assignment, sizeof assignment, "policy.price_%s=%.17g", name, price);
    set(settings, assignment);
}

TEST(questions)
{
    static const struct {
        const char *assignments[4], *expected;
    } rows[] = {
        {{"policy.stream=false"},
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"seed\":5}\n"},
        {{"policy.stream=false", "policy.seed=false", "policy.temperature=0"},
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],"
         "\"temperature\":0.0}\n"},
        {{"policy.extra={\"seed\": null, \"a\": [1]}", "policy.max_tokens=9"},
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"max_tokens\":9,"
         "\"stream\":true,\"stream_options\":{\"include_usage\":true},\"a\":[1]}\n"},
    };
    json_t *messages = json_pack("[{s:s, s:s}]", "role", "user", "content", "x");
    /* Endpoints with seeds of 32 bits get one. */
    struct policy_request request = {.messages = messages, .seed = ((uint64_t)1 << 40) + 5};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct settings settings;
        struct buf out;
        json_t *extra;
        settings_init(&settings);
        buf_init(&out, 4096);
        for (size_t n = 0; n < 4 && rows[i].assignments[n]; n++)
            set(&settings, rows[i].assignments[n]);
        assert_int_equal(openai_extra(policy_settings(&settings)->extra, &extra, NULL), 0);
        assert_int_equal(openai_body(&settings, "m", extra, &request, &out, NULL), 0);
        assert_string_equal(out.data, rows[i].expected);
        out.max_bytes = out.len - 1;
        buf_reset(&out);
        assert_int_equal(openai_body(&settings, "m", extra, &request, &out, NULL), ERR_LIMIT);
        json_decref(extra);
        buf_deinit(&out);
        settings_deinit(&settings);
    }
    json_decref(messages);
}

#define CHUNK(inside) "{\"choices\": [{\"index\": 0, " inside "}]}"
#define DELTA(inside) CHUNK("\"delta\": {" inside "}")

static const struct {
    int result; /* of the last event */
    bool whole;
    const char *text, *reasoning, *finish;
    size_t logprobs;
    const char *events[4];
} answers[] = {
    {0, false, "ab", "", "", 0,
     .events = {DELTA("\"content\": \"a\""), DELTA("\"content\": \"b\"")}},
    {0, true, "", "r", "stop", 0,
     .events = {DELTA("\"content\": null, \"reasoning_content\": \"r\""),
                CHUNK("\"finish_reason\": "
                      "\"stop\"")}},
    {0, true, "a", "r", "", 0,
     .events = {DELTA("\"reasoning\": \"r\", \"content\": \"a\""), "[DONE]"}},
    {0, true, "", "", "", 0, .events = {"[DONE]", DELTA("\"content\": \"late\"")}},
    {0, false, "a", "r", "", 0,
     .events = {DELTA("\"content\": [{\"type\": \"thinking\", \"thinking\": [{\"text\": \"r\"}]},"
                      " {\"type\": \"text\", \"text\": \"a\"}, 5, null]")}},
    {0, false, "a", "", "", 1,
     .events = {CHUNK("\"delta\": {\"content\": \"a\"}, \"logprobs\": {\"content\":"
                      " [{\"token\": \"a\", \"logprob\": -1}]}")}},
    {0, false, "", "", "", 0,
     .events = {CHUNK("\"logprobs\": {\"content\": [{\"token\": \"a\", \"logprob\": -1},"
                      " {\"token\": \"b\", \"logprob\": null}]}")}}, /* all or none */
    {0, false, "", "", "", 0, .events = {"{}", "[]", "{\"choices\": null}", "{\"choices\": [{}]}"}},
    {0, false, "", "", "", 0, .events = {DELTA("\"content\": 5"), "{\"error\": null}"}},
    {ERR_IO, false, "", "", "", 0, .events = {"{\"error\": {\"message\": \"x\", \"code\": 400}}"}},
    {ERR_IO, false, "", "", "", 0, .events = {"{\"error\": \"x\"}"}},
    {ERR_IO, true, "", "", "error", 0, .events = {CHUNK("\"finish_reason\": \"error\"")}},
    {ERR_PROTOCOL, false, "", "", "", 0, .events = {"nonsense"}},
    {ERR_PROTOCOL, false, "", "", "", 0, .events = {"5"}},
};

TEST(answers)
{
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct openai_reading reading;
        struct policy_answer answer;
        struct err err = {0};
        int result = 0;
        openai_reading_init(&reading);
        for (size_t n = 0; n < 4 && answers[i].events[n]; n++)
            result = openai_read_event(&reading, answers[i].events[n], strlen(answers[i].events[n]),
                                       &err);
        if (result != answers[i].result || openai_reading_is_whole(&reading) != answers[i].whole)
            fail_msg("row %zu: %d %s", i, result, err.text);
        policy_answer_init(&answer);
        openai_reading_take(&reading, &answer);
        assert_string_equal(answer.text, answers[i].text);
        assert_string_equal(answer.reasoning ? answer.reasoning : "", answers[i].reasoning);
        assert_string_equal(answer.finish, answers[i].finish);
        assert_int_equal(json_array_size(answer.logprobs), answers[i].logprobs);
        policy_answer_deinit(&answer);
        openai_reading_deinit(&reading);
    }
}

TEST(usage)
{
    static const struct {
        const char *event;
        int64_t prompt, completion, cached;
    } rows[] = {
        {"{\"usage\": {\"prompt_tokens\": 7, \"completion_tokens\": 3}}", 7, 3, -1},
        {"{\"usage\": {\"prompt_tokens\": 7, \"prompt_cache_hit_tokens\": 2}}", 7, -1, 2},
        {"{\"usage\": {\"prompt_tokens_details\": {\"cached_tokens\": 4}}}", -1, -1, 4},
        {"{\"usage\": {\"prompt_tokens_details\": null, \"prompt_tokens\": -3}}", -1, -1, -1},
        {"{\"usage\": {\"prompt_tokens\": 1e99}}", -1, -1, -1},
        {"{\"usage\": null}", -1, -1, -1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct openai_reading reading;
        openai_reading_init(&reading);
        assert_int_equal(openai_read_event(&reading, rows[i].event, strlen(rows[i].event), NULL),
                         0);
        assert_int_equal(reading.prompt_tokens, rows[i].prompt);
        assert_int_equal(reading.completion_tokens, rows[i].completion);
        assert_int_equal(reading.cached_tokens, rows[i].cached);
        openai_reading_deinit(&reading);
    }
}

/* Cut off behind what is read of an answer, and nothing more is waited for. */
TEST(too_large)
{
    const size_t half = LIMIT_ANSWER_BYTES / 2;
    char *text = mem_alloc(half + 1);
    struct openai_reading reading;
    memset(text, 'x', half);
    char *event = mem_printf("{\"choices\": [{\"delta\": {\"content\": \"%s\"}}]}", text);
    openai_reading_init(&reading);
    for (int i = 0; i < 2; i++)
        assert_int_equal(openai_read_event(&reading, event, strlen(event), NULL), 0);
    assert_false(reading.done);
    assert_int_equal(openai_read_event(&reading, event, strlen(event), NULL), 0);
    assert_true(reading.done);
    assert_int_equal(reading.text.len, LIMIT_ANSWER_BYTES + 1);
    assert_string_equal(reading.finish, "length");
    openai_reading_deinit(&reading);
    mem_free(event);
    mem_free(text);
}

TEST(whole)
{
    static const struct {
        const char *body;
        int result;
        const char *text;
    } rows[] = {
        {"{\"choices\": [{\"message\": {\"content\": \"a\"}}]}", 0, "a"},
        {"{\"choices\": [{\"message\": {\"content\": null, \"refusal\": \"no\"}}]}", 0, "no"},
        {"{\"choices\": [{\"delta\": {\"content\": \"a\"}}]}", ERR_PROTOCOL, ""},
        {"{\"choices\": []}", ERR_PROTOCOL, ""},
        {"[]", ERR_PROTOCOL, ""},
        {"{\"choices\": [", ERR_PROTOCOL, ""},
        {"{\"error\": {\"message\": \"x\"}}", ERR_IO, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct openai_reading reading;
        openai_reading_init(&reading);
        assert_int_equal(openai_read_whole(&reading, rows[i].body, strlen(rows[i].body), NULL),
                         rows[i].result);
        assert_int_equal(openai_reading_is_whole(&reading), rows[i].result == 0);
        assert_string_equal(reading.text.data, rows[i].text);
        openai_reading_deinit(&reading);
    }
}

TEST(refusals)
{
    static const struct {
        int status;
        const char *body;
        int code;
        enum retry_kind kind;
        const char *says;
    } rows[] = {
        {400, "{\"error\": {\"message\": \"Bad thing.\"}}", ERR_INPUT, RETRY_NEVER,
         "u: Bad thing (400)"},
        {400, "[{\"error\": {\"message\": \"listed\"}}]", ERR_INPUT, RETRY_NEVER,
         "u: listed (400)"},
        {400, "{\"message\": \"flat\"}", ERR_INPUT, RETRY_NEVER, "u: flat (400)"},
        {400, "", ERR_INPUT, RETRY_NEVER, "u: answers (400)"},
        {400, "<html>", ERR_INPUT, RETRY_NEVER, "u: answers (400)"},
        {400, "{\"error\": {\"message\": {\"error\": {\"error\": \"deep\"}}}}", ERR_INPUT,
         RETRY_NEVER, "u: answers (400)"},
        {401, "{\"error\": \"no my-secret here\"}", ERR_INPUT, RETRY_NEVER,
         "u: no [token] here: the token was refused; set policy.token (401)"},
        {403, "", ERR_INPUT, RETRY_NEVER, "the token was refused"},
        {404, "{\"detail\": \"Not Found\"}", ERR_INPUT, RETRY_NEVER,
         "Not Found: check the base address"},
        {404, "{\"error\": {\"message\": \"The model 'x' does not exist\"}}", ERR_INPUT,
         RETRY_NEVER, "u: The model 'x' does not exist (404)"},
        {408, "", ERR_IO, RETRY_BROKEN, "(408)"},
        {429, "slow\ndown", ERR_IO, RETRY_BUSY, "u: slow?down (429)"},
        {429, "{\"error\": {\"code\": \"insufficient_quota\", \"message\": \"pay\"}}", ERR_INPUT,
         RETRY_NEVER, "u: pay (429)"},
        {500, "my-secretmy-secret", ERR_IO, RETRY_BROKEN, "u: [token][token] (500)"},
        {501, "", ERR_IO, RETRY_NEVER, "(501)"},
        {502, "", ERR_IO, RETRY_BUSY, "(502)"},
        {503, "{\"error\": null}", ERR_IO, RETRY_BUSY, "(503)"},
        {307, "my-secret", ERR_PROTOCOL, RETRY_NEVER,
         "it redirects to another address; give that one (307)"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct openai_refusal refusal = {.url = "u",
                                               .token = "my-secret",
                                               .status = rows[i].status,
                                               .body = rows[i].body,
                                               .bytes = strlen(rows[i].body)};
        enum retry_kind kind;
        struct err err;
        int code = openai_refusal_error(&refusal, &kind, &err);
        if (code != rows[i].code || kind != rows[i].kind || !strstr(err.text, rows[i].says))
            fail_msg("row %zu: %d %d %s", i, code, kind, err.text);
        assert_null(strstr(err.text, "secret"));
    }
}

TEST(redact)
{
    static const struct {
        const char *text, *token, *expected;
    } rows[] = {
        {"a secret! secret", "secret", "a [token]! [token]"},
        {"secretsecrets", "secret", "[token][token]s"},
        {"secre", "secret", "secre"},
        {"", "secret", ""},
        {"none of it", "none", "none of it"}, /* no secret */
        {"text", "", "text"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *clean = openai_redact(rows[i].text, rows[i].token);
        assert_string_equal(clean, rows[i].expected);
        mem_free(clean);
    }
}

TEST(prices)
{
    static const struct {
        double prompt, cached, completion; /* of a million */
        int64_t tokens[3];                 /* prompt, cached, completion */
        double cost;
    } rows[] = {
        {2, 1, 10, {1000, 400, 200}, 0.0036},
        {2, -1, 10, {1000, 400, 200}, 0.004}, /* cached ones cost the same */
        {2, 0, 10, {1000, 1000, 0}, 0},
        {2, 1, 10, {1000, -1, 200}, 0.004}, /* none is known to be */
        {0, 0, 0, {1000, 0, 200}, 0},
        {2, 1, 10, {100, 400, 0}, 0.0004}, /* more cached than there are */
        {-1, 1, 10, {1000, 0, 200}, NAN},
        {2, 1, -1, {1000, 0, 200}, NAN},
        {2, 1, 10, {-1, 0, 200}, NAN},
        {2, 1, 10, {1000, 0, -1}, NAN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct settings settings;
        struct policy_answer answer;
        settings_init(&settings);
        policy_answer_init(&answer);
        set_price(&settings, "prompt", rows[i].prompt);
        set_price(&settings, "cached", rows[i].cached);
        set_price(&settings, "completion", rows[i].completion);
        answer.prompt_tokens = rows[i].tokens[0];
        answer.cached_tokens = rows[i].tokens[1];
        answer.completion_tokens = rows[i].tokens[2];
        double cost = policy_cost(&settings, &answer);
        if (isnan(cost) != isnan(rows[i].cost) || fabs(cost - rows[i].cost) > 1e-12)
            fail_msg("row %zu: %g", i, cost);
        settings_deinit(&settings);
    }
}
