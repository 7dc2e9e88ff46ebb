/* What a client may ask a model for: each parameter, taken and refused. */
#include "../support/test.h"
#include "server/lm/request.h"

#include <stdio.h>

#define CHAT "\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]"
#define PROMPT "\"prompt\": \"a\""

struct asked {
    json_t *body;
    struct arena arena;
    struct lm_api_request request;
    char param[LM_API_PARAM_MAX];
    struct err err;
    int result;
};

static void ask(struct asked *asked, bool chat, const char *more)
{
    char text[4096];
    *asked = (struct asked){.err = {0}};
    snprintf(text, sizeof text, "{%s%s%s}", more, *more ? ", " : "", chat ? CHAT : PROMPT);
    if (json_parse("body", text, strlen(text), &asked->body, &asked->err) < 0)
        fail_msg("%s: %s", more, asked->err.text);
    asked->result = lm_api_request_read(asked->body, chat ? LM_API_CHAT : LM_API_COMPLETION,
                                        &asked->arena, &asked->request, asked->param, &asked->err);
}

static void forget(struct asked *asked)
{
    arena_deinit(&asked->arena);
    json_decref(asked->body);
}

TEST(defaults)
{
    struct asked asked;
    for (int chat = 0; chat < 2; chat++) {
        ask(&asked, chat, "");
        const struct lm_api_request *request = &asked.request;
        assert_int_equal(asked.result, 0);
        assert_null(request->model);
        assert_int_equal(request->prompt_count, 1);
        assert_int_equal(request->samples, 1);
        assert_true(request->sampling.temperature == 1 && request->sampling.top_p == 1);
        assert_true(request->sampling.min_p == 0 && request->sampling.top_k == 0);
        assert_int_equal(request->sampling.max_tokens, chat ? 0 : LM_API_COMPLETION_TOKENS);
        assert_true(request->thinking);
        assert_false(request->seeded || request->stream || request->usage || request->logprobs ||
                     request->echo || request->score_only || request->token_ids);
        forget(&asked);
    }
}

TEST(all_of_a_chat)
{
    struct asked asked;
    const struct lm_sampling *sampling = &asked.request.sampling;
    ask(&asked, true,
        "\"model\": \"m\", \"temperature\": 0.5, \"top_p\": 0.9, \"min_p\": 0.1, \"top_k\": 20, "
        "\"max_tokens\": 7, \"max_completion_tokens\": 9, \"n\": 3, \"stop\": [\"x\", \"y\"], "
        "\"seed\": -1, \"stream\": true, \"stream_options\": {\"include_usage\": true}, "
        "\"logprobs\": true, \"top_logprobs\": 4, \"stop_token_ids\": [5, 6], \"ignore_eos\": "
        "true, "
        "\"return_token_ids\": true, \"chat_template_kwargs\": {\"enable_thinking\": false}, "
        "\"frequency_penalty\": 0.0, \"presence_penalty\": 0, \"repetition_penalty\": 1.0, "
        "\"logit_bias\": {}, \"tools\": [], \"tool_choice\": \"auto\", \"response_format\": "
        "{\"type\": \"text\"}, \"user\": \"u\", \"metadata\": {\"a\": \"b\"}, \"store\": null");
    assert_int_equal(asked.result, 0);
    assert_string_equal(asked.request.model, "m");
    assert_true(sampling->temperature == 0.5 && sampling->top_p == 0.9 && sampling->min_p == 0.1);
    assert_int_equal(sampling->top_k, 20);
    assert_int_equal(sampling->max_tokens, 9);
    assert_int_equal(asked.request.samples, 3);
    assert_int_equal(sampling->stop_count, 2);
    assert_string_equal(sampling->stops[1], "y");
    assert_true(asked.request.seeded && sampling->seed == UINT64_MAX);
    assert_true(asked.request.stream && asked.request.usage && asked.request.logprobs);
    assert_int_equal(sampling->top_logprobs, 4);
    assert_int_equal(sampling->stop_token_count, 2);
    assert_int_equal(sampling->stop_tokens[1], 6);
    assert_true(sampling->ignore_model_stops && asked.request.token_ids);
    assert_false(asked.request.thinking || sampling->prompt_logprobs);
    forget(&asked);
}

TEST(all_of_a_completion)
{
    struct asked asked;
    ask(&asked, false,
        "\"echo\": true, \"logprobs\": 3, \"max_tokens\": 0, \"best_of\": 2, \"n\": 2, \"stop\": "
        "\"x\", \"top_k\": -1, \"suffix\": \"\"");
    assert_int_equal(asked.result, 0);
    assert_true(asked.request.score_only && asked.request.logprobs && asked.request.echo);
    assert_true(asked.request.sampling.prompt_logprobs);
    assert_int_equal(asked.request.sampling.max_tokens, 1);
    assert_int_equal(asked.request.sampling.top_logprobs, 3);
    assert_int_equal(asked.request.sampling.stop_count, 1);
    assert_int_equal(asked.request.sampling.top_k, 0);
    forget(&asked);
}

TEST(prompts)
{
    static const struct {
        const char *prompt;
        int result;
        size_t count, ids; /* prompts, and ids of the last */
    } cases[] = {
        {"\"a\"", 0, 1, 0},         {"[\"a\", \"b\"]", 0, 2, 0},
        {"[1, 2, 3]", 0, 1, 3},     {"[[1], [2, 3]]", 0, 2, 2},
        {"[\"a\", [2]]", 0, 2, 1},  {"[]", ERR_INPUT, 0, 0},
        {"[[]]", ERR_INPUT, 0, 0},  {"[1, \"a\"]", ERR_INPUT, 0, 0},
        {"[-1]", ERR_INPUT, 0, 0},  {"[2147483648]", ERR_INPUT, 0, 0},
        {"[1.5]", ERR_INPUT, 0, 0}, {"{}", ERR_INPUT, 0, 0},
        {"1", ERR_INPUT, 0, 0},     {"null", ERR_INPUT, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asked asked = {.err = {0}};
        char text[256];
        snprintf(text, sizeof text, "{\"prompt\": %s}", cases[i].prompt);
        assert_int_equal(json_parse("body", text, strlen(text), &asked.body, &asked.err), 0);
        int result = lm_api_request_read(asked.body, LM_API_COMPLETION, &asked.arena,
                                         &asked.request, asked.param, &asked.err);
        if (result != cases[i].result)
            fail_msg("%s: %d %s", text, result, asked.err.text);
        if (result == 0) {
            assert_int_equal(asked.request.prompt_count, cases[i].count);
            assert_int_equal(asked.request.prompts[cases[i].count - 1].count, cases[i].ids);
        } else {
            assert_string_equal(asked.param, "prompt");
        }
        forget(&asked);
    }
}

enum { OF_CHAT = 1, OF_COMPLETION = 2, OF_BOTH = 3 };

static const struct {
    unsigned where;
    const char *more, *param, *said;
} refused[] = {
    {OF_BOTH, "\"model\": 1", "model", "must be a text"},
    {OF_BOTH, "\"temperature\": -0.1", "temperature", "number from 0 to 100"},
    {OF_BOTH, "\"temperature\": true", "temperature", "number"},
    {OF_BOTH, "\"top_p\": 0", "top_p", "number"},
    {OF_BOTH, "\"top_p\": 1.01", "top_p", "number"},
    {OF_BOTH, "\"min_p\": 2", "min_p", "number"},
    {OF_BOTH, "\"top_k\": -2", "top_k", "whole number"},
    {OF_BOTH, "\"top_k\": 1.5", "top_k", "whole number"},
    {OF_BOTH, "\"n\": 0", "n", "whole number from 1"},
    {OF_BOTH, "\"n\": 513", "n", "whole number from 1 to 512"},
    {OF_BOTH, "\"n\": \"2\"", "n", "whole number"},
    {OF_BOTH, "\"max_tokens\": -1", "max_tokens", "whole number"},
    {OF_CHAT, "\"max_tokens\": 0", "max_tokens", "whole number from 1"},
    {OF_COMPLETION, "\"max_tokens\": 0", "max_tokens", "only with 'echo'"},
    {OF_CHAT, "\"max_completion_tokens\": 0", "max_completion_tokens", "whole number"},
    {OF_BOTH, "\"stop\": \"\"", "stop", "1 to 1024 bytes"},
    {OF_BOTH, "\"stop\": [1]", "stop", "list of texts"},
    {OF_BOTH,
     "\"stop\": [\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"a\",\"b\",\"c\",\"d\","
     "\"e\",\"f\",\"g\",\"h\"]",
     "stop", "at most 16"},
    {OF_BOTH, "\"stop_token_ids\": 1", "stop_token_ids", "must be a list"},
    {OF_BOTH, "\"stop_token_ids\": [\"a\"]", "stop_token_ids", "item 0"},
    {OF_BOTH, "\"stop_token_ids\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "stop_token_ids",
     "at most 16"},
    {OF_BOTH, "\"seed\": 1.5", "seed", "whole number"},
    {OF_BOTH, "\"stream\": 1", "stream", "true or false"},
    {OF_BOTH, "\"stream_options\": {}", "stream_options", "requires 'stream'"},
    {OF_BOTH, "\"stream\": true, \"stream_options\": 1", "stream_options", "must be an object"},
    {OF_BOTH, "\"stream\": true, \"stream_options\": {\"usage\": true}", "stream_options", "usage"},
    {OF_CHAT, "\"logprobs\": 2", "logprobs", "true or false"},
    {OF_CHAT, "\"top_logprobs\": 2", "top_logprobs", "requires 'logprobs'"},
    {OF_CHAT, "\"logprobs\": true, \"top_logprobs\": 21", "top_logprobs", "from 0 to 20"},
    {OF_COMPLETION, "\"logprobs\": true", "logprobs", "whole number"},
    {OF_COMPLETION, "\"best_of\": 2", "best_of", "must equal 'n'"},
    {OF_COMPLETION, "\"suffix\": \"x\"", "suffix", "not supported"},
    {OF_CHAT, "\"tools\": [{}]", "tools", "not supported"},
    {OF_CHAT, "\"response_format\": {\"type\": \"json_object\"}", "response_format",
     "not supported"},
    {OF_CHAT, "\"chat_template_kwargs\": {\"enable_thinking\": 1}", "chat_template_kwargs",
     "enable_thinking"},
    {OF_CHAT, "\"chat_template_kwargs\": {\"thinking\": true}", "chat_template_kwargs",
     "unknown key 'thinking'"},
    {OF_BOTH, "\"frequency_penalty\": 0.5", "frequency_penalty", "not supported"},
    {OF_BOTH, "\"logit_bias\": {\"5\": 1}", "logit_bias", "not supported"},
    {OF_BOTH, "\"best\": null", "best", "unknown parameter 'best'"},
    {OF_BOTH, "\"tempreature\": 1", "tempreature", "did you mean 'temperature'?"},
    {OF_CHAT, "\"prompt\": \"a\"", "prompt", "unknown parameter 'prompt'"},
    {OF_COMPLETION, "\"messages\": []", "messages", "unknown parameter 'messages'"},
};

TEST(refused)
{
    for (size_t i = 0; i < COUNT(refused); i++)
        for (unsigned chat = 0; chat < 2; chat++) {
            struct asked asked;
            if (!(refused[i].where & (chat ? OF_CHAT : OF_COMPLETION)))
                continue;
            ask(&asked, chat, refused[i].more);
            if (asked.result >= 0 || strcmp(asked.param, refused[i].param) != 0 ||
                !strstr(asked.err.text, refused[i].said))
                fail_msg("{%s}: %d, '%s', %s", refused[i].more, asked.result, asked.param,
                         asked.err.text);
            assert_true(asked.result == ERR_INPUT || asked.result == ERR_UNSUPPORTED);
            forget(&asked);
        }
}

TEST(too_many_choices)
{
    struct asked asked = {.err = {0}};
    json_t *prompts = json_array();
    for (size_t i = 0; i < 100; i++)
        json_array_append_new(prompts, json_string("a"));
    asked.body = json_pack("{s:o, s:i}", "prompt", prompts, "n", 6);
    assert_int_equal(lm_api_request_read(asked.body, LM_API_COMPLETION, &asked.arena,
                                         &asked.request, asked.param, &asked.err),
                     ERR_INPUT);
    assert_string_equal(asked.param, "n");
    forget(&asked);
}

TEST(embeddings)
{
    static const struct {
        const char *body, *param;
        int result;
        size_t count;
    } cases[] = {
        {"{\"input\": \"a\"}", "", 0, 1},
        {"{\"input\": [\"a\", \"b\"], \"user\": \"u\", \"encoding_format\": null}", "", 0, 2},
        {"{\"input\": [1, 2]}", "", 0, 1},
        {"{\"input\": [[1, 2], [3]]}", "", 0, 2},
        {"{}", "input", ERR_INPUT, 0},
        {"{\"input\": []}", "input", ERR_INPUT, 0},
        {"{\"input\": \"a\", \"dimensions\": 0}", "dimensions", ERR_INPUT, 0},
        {"{\"input\": \"a\", \"encoding_format\": 1}", "encoding_format", ERR_INPUT, 0},
        {"{\"input\": \"a\", \"prompt\": \"a\"}", "prompt", ERR_UNSUPPORTED, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asked asked = {.err = {0}};
        const char *text = cases[i].body;
        assert_int_equal(json_parse("body", text, strlen(text), &asked.body, &asked.err), 0);
        int result = lm_api_request_read(asked.body, LM_API_EMBEDDINGS, &asked.arena,
                                         &asked.request, asked.param, &asked.err);
        if (result != cases[i].result || strcmp(asked.param, cases[i].param) != 0)
            fail_msg("%s: %d '%s' %s", text, result, asked.param, asked.err.text);
        if (result == 0)
            assert_int_equal(asked.request.prompt_count, cases[i].count);
        forget(&asked);
    }
}

TEST(encodings)
{
    struct asked asked = {.err = {0}};
    asked.body = json_pack("{s:s, s:s, s:i}", "input", "a", "encoding_format", "base64",
                           "dimensions", 5);
    assert_int_equal(lm_api_request_read(asked.body, LM_API_EMBEDDINGS, &asked.arena,
                                         &asked.request, asked.param, &asked.err),
                     0);
    assert_true(asked.request.base64);
    assert_int_equal(asked.request.dimensions, 5);
    forget(&asked);
}
