/* Requests of the Tinker protocol as a server reads them, and names of checkpoints. */
#include "policy/tinker_wire.h"

#include "../support/test.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>

static const int32_t ids[] = {5, 0, 151643};
/* Numbers that 8 digits do not hold, and what is no number. */
static const float numbers[] = {-0.100000009F, 16777217.0F, NAN};
static const float advantages[] = {1.5F, -2.0F, 0.0F};

static json_t *parse(struct buf *body)
{
    json_t *out = NULL;
    struct err err = {0};
    if (json_parse("body", body->data, body->len, &out, &err) < 0)
        fail_msg("%s in %s", err.text, body->data);
    buf_deinit(body);
    return out;
}

static void check_numbers(const json_t *tensor, const float *expected, const char *dtype)
{
    const json_t *data = json_object_get(tensor, "data");
    assert_string_equal(json_text_at(tensor, "dtype"), dtype);
    assert_int_equal(json_array_size(data), 3);
    for (size_t i = 0; i < 3; i++) {
        float found = (float)json_number_value(json_array_get(data, i));
        assert_true(found == (isnan(expected[i]) ? 0 : expected[i]));
    }
}

static json_t *pass_of(const char *name, struct loss_config config, const struct lm_datum *datum)
{
    const struct loss *loss = loss_find(name);
    struct err err = {0};
    struct buf body;
    if (tinker_check_pass(loss, &config, datum, 1, &err) < 0)
        fail_msg("%s", err.text);
    buf_init(&body, 4096);
    const struct tinker_wire_pass pass = {loss, &config, datum, 1};
    tinker_put_pass(&body, &pass);
    return parse(&body);
}

TEST(pass)
{
    const struct lm_datum datum = {
        .count = 3, .tokens = ids, .targets = ids, .sampled = numbers, .advantages = advantages};
    json_t *pass = pass_of("ppo", loss_config_defaults, &datum);
    const json_t *first = json_array_get(json_object_get(pass, "data"), 0);
    const json_t *inputs = json_object_get(first, "loss_fn_inputs");
    const json_t *chunk = json_array_get(json_object_get(json_object_get(first, "model_input"),
                                                         "chunks"),
                                         0);
    assert_string_equal(json_text_at(chunk, "type"), "encoded_text");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(chunk, "tokens"), 2)),
                     151643);
    check_numbers(json_object_get(inputs, "target_tokens"), (const float[]){5, 0, 151643}, "int64");
    check_numbers(json_object_get(inputs, "logprobs"), numbers, "float32");
    check_numbers(json_object_get(inputs, "advantages"), advantages, "float32");
    assert_null(json_object_get(inputs, "weights"));
    const json_t *config = json_object_get(pass, "loss_fn_config");
    assert_true(json_number_value(json_object_get(config, "clip_low_threshold")) == 0.8);
    assert_true(json_number_value(json_object_get(config, "clip_high_threshold")) == 1.2);
    json_decref(pass);
}

/* Numbers of as many digits as there are, as many as a service may want at once. */
TEST(largest)
{
    const size_t count = TINKER_CHUNK_BYTES_MAX / 20;
    int32_t *tokens = mem_alloc(count * sizeof *tokens);
    float *values = mem_alloc(count * sizeof *values);
    const struct lm_datum datum = {.count = count,
                                   .tokens = tokens,
                                   .targets = tokens,
                                   .sampled = values,
                                   .advantages = values};
    struct buf body;
    for (size_t i = 0; i < count; i++) {
        tokens[i] = LIMIT_LM_VOCAB - 1;
        values[i] = -1.23456789e-10F;
    }
    assert_in_range(tinker_datum_bytes(&datum), TINKER_CHUNK_BYTES_MAX - 20,
                    TINKER_CHUNK_BYTES_MAX);
    tinker_begin(&body);
    const struct tinker_wire_pass pass = {loss_find("ppo"), &loss_config_defaults, &datum, 1};
    tinker_put_pass(&body, &pass);
    assert_false(body.cut);
    buf_deinit(&body);
    mem_free(values);
    mem_free(tokens);
}

TEST(weights)
{
    struct lm_datum datum = {.count = 3, .tokens = ids, .targets = ids};
    for (int given = 0; given < 2; given++) {
        datum.weights = given ? advantages : NULL;
        json_t *pass = pass_of("cross_entropy", loss_config_defaults, &datum);
        const json_t *first = json_array_get(json_object_get(pass, "data"), 0);
        const json_t *inputs = json_object_get(first, "loss_fn_inputs");
        check_numbers(json_object_get(inputs, "weights"),
                      given ? advantages : (const float[]){1, 1, 1}, "float32");
        assert_null(json_object_get(pass, "loss_fn_config"));
        json_decref(pass);
    }
}

TEST(sample)
{
    struct tokens prompt = {.ids = (int32_t[]){1, 2}, .count = 2};
    struct train_backend_sampling sampling = {.max_tokens = 7,
                                              .temperature = 0.6,
                                              .top_p = 1,
                                              .seed = 9};
    const struct tinker_question question = {.prompt = &prompt,
                                             .sampling = &sampling,
                                             .stops = ids,
                                             .stop_count = 1,
                                             .sampler = "a \"b\"",
                                             .number = 3};
    for (sampling.top_k = 0; sampling.top_k < 10; sampling.top_k += 5) {
        struct buf body;
        tinker_begin(&body);
        tinker_add_sample(&body, &question);
        tinker_end(&body);
        json_t *sample = parse(&body);
        const json_t *params = json_object_get(sample, "sampling_params");
        json_int_t top_k = json_integer_value(json_object_get(params, "top_k"));
        assert_int_equal(top_k, sampling.top_k > 0 ? (json_int_t)sampling.top_k : -1);
        assert_true(json_number_value(json_object_get(params, "temperature")) == 0.6);
        assert_int_equal(json_array_size(json_object_get(params, "stop")), 1);
        assert_string_equal(json_text_at(sample, "sampling_session_id"), "a \"b\"");
        assert_int_equal(json_integer_value(json_object_get(sample, "seq_id")), 3);
        json_decref(sample);
    }
}

TEST(futures)
{
    static const struct {
        const char *text;
        enum tinker_state state;
        const char *why;
        bool mine;
    } cases[] = {
        {"{}", TINKER_DONE, NULL, false},
        {"{\"type\": \"sample\"}", TINKER_DONE, NULL, false},
        {"{\"type\": \"try_again\"}", TINKER_AGAIN, NULL, false},
        {"{\"type\": \"try_again\", \"queue_state\": \"active\"}", TINKER_AGAIN, NULL, false},
        {"{\"type\": \"try_again\", \"queue_state\": \"paused_capacity\"}", TINKER_AGAIN,
         "paused_capacity", false},
        {"{\"error\": \"no\", \"category\": \"server\"}", TINKER_FAILED, "no", false},
        {"{\"error\": \"no\", \"category\": \"user\"}", TINKER_FAILED, "no", true},
        {"{\"error\": null}", TINKER_DONE, NULL, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *answer = json_loads(cases[i].text, 0, NULL);
        const char *why;
        bool mine;
        assert_int_equal(tinker_read_future(answer, &why, &mine), cases[i].state);
        assert_int_equal(mine, cases[i].mine);
        if (cases[i].why)
            assert_string_equal(why, cases[i].why);
        else
            assert_null(why);
        json_decref(answer);
    }
}

TEST(texts)
{
    static const char *const bad[] = {"{}", "[]", "{\"name\": 1}", "{\"name\": \"\"}"};
    char *text = NULL;
    struct err err = {0};
    json_t *good = json_loads("{\"name\": \"it\"}", 0, NULL);
    assert_int_equal(tinker_read_text(good, "ask", "name", &text, &err), 0);
    assert_string_equal(text, "it");
    mem_free(text);
    json_decref(good);
    for (size_t i = 0; i < COUNT(bad); i++) {
        json_t *answer = json_loads(bad[i], 0, NULL);
        assert_int_equal(tinker_read_text(answer, "ask", "name", &text, &err), ERR_PROTOCOL);
        assert_string_equal(err.text, "the server's answer to ask has no 'name'");
        json_decref(answer);
    }
}

TEST(logprobs)
{
    static const struct {
        const char *data, *says; /* NULL: it is fine */
    } cases[] = {
        {"[-1, 0]", NULL},
        {"[-1.5, 1e-3]", NULL},
        {"[-1]", "'logprobs' has 1 numbers, not 2"},
        {"[-1, 0, 0]", "'logprobs' has 3 numbers, not 2"},
        {"[-1, null]", "number 1 is not a log-probability"},
        {"[0.5, 0]", "number 0 is not a log-probability"},
        {"[-1e300, 0]", "number 0 is not a log-probability"},
        {"{}", "'logprobs' has 0 numbers, not 2"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = support_text("{\"loss_fn_outputs\": [{\"logprobs\": {\"data\": %s}}]}",
                                  cases[i].data);
        json_t *result = json_loads(text, 0, NULL);
        float found[2];
        struct err err = {0};
        int code = tinker_read_logprobs(result, 0, found, 2, &err);
        assert_int_equal(code, cases[i].says ? ERR_PROTOCOL : 0);
        if (cases[i].says)
            assert_non_null(strstr(err.text, cases[i].says));
        assert_int_equal(tinker_read_logprobs(result, 1, found, 2, &err), ERR_PROTOCOL);
        json_decref(result);
    }
}

TEST(paths)
{
    static const char *const good[] = {"tinker://a/weights/b", "tinker://s:train:0/weights/x_1-2"};
    static const char *const bad[] = {
        "",
        "a/weights/b",
        "tinker://",
        "tinker://a",
        "tinker:///weights/b",
        "tinker://a/weights/",
        "tinker://a/sampler_weights/b",
        "tinker://a/weights/b/c",
        "tinker://a/weights/..",
        "tinker://../weights/b",
        "tinker://a/weights/b?c",
        "tinker://a b/weights/c",
    };
    struct tinker_path path;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(tinker_path_parse(&path, good[i], NULL), 0);
        char *again = support_text("tinker://%s/weights/%s", path.run, path.name);
        assert_string_equal(again, good[i]);
        tinker_path_deinit(&path);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(tinker_path_parse(&path, bad[i], NULL), ERR_INPUT);
    char *name = tinker_name("step 1.5/x", 2);
    assert_string_equal(name, "step-1-5-x-2");
    mem_free(name);
}
