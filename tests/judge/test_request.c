#include "judge/request/request.h"

#include "../support/setting.h"
#include "../support/test.h"
#include "base/json.h"
#include "base/limits.h"
#include "judge/request/judge_settings.h"

#define PROBLEM "\"problem\": {\"id\": \"softmax\"}"
#define CANDIDATE "\"candidate\": {\"source\": \"void solution() {}\"}"
#define TORCH "\"problem\": {\"format\": \"torch\", \"source\": \"class Model\"}"

TEST(taken)
{
    static const struct {
        const char *text, *name;
        enum evaluation_format format;
    } taken[] = {
        {"{" PROBLEM ", " CANDIDATE "}", "candidate.c", EVALUATION_KNOWN},
        {"{" TORCH ", " CANDIDATE "}", "candidate.py", EVALUATION_TORCH},
        {"{" PROBLEM ", \"candidate\": {\"source\": \"__global__ void k()\"}}", "candidate.cu",
         EVALUATION_KNOWN},
        {"{" PROBLEM ", \"candidate\": {\"source\": \"class ModelNew: pass\"}}", "candidate.py",
         EVALUATION_KNOWN},
        {"{" PROBLEM ", \"candidate\": {\"source\": \"\", \"language\": \"triton\"}}",
         "candidate.py", EVALUATION_KNOWN},
        {"{" PROBLEM ", \"candidate\": {\"source\": \"\", \"language\": \"c\", \"name\": \"a.c\"}}",
         "a.c", EVALUATION_KNOWN},
        {"{\"problem\": {\"format\": \"native\", \"yaml\": \"name: x\", \"source\": \"\", "
         "\"cuda\": \"\"}, " CANDIDATE "}",
         "candidate.c", EVALUATION_NATIVE},
        {"{\"problem\": {\"format\": \"simple\"}, " CANDIDATE "}", "candidate.py",
         EVALUATION_SIMPLE},
        {"{\"problem\": {\"format\": \"simple\", \"cases\": [[1]], \"entry_point\": \"_X9\", "
         "\"compare\": false}, " CANDIDATE "}",
         "candidate.py", EVALUATION_SIMPLE},
        {"{" PROBLEM ", " CANDIDATE
         ", \"id\": \"a/b \\u00fc\", \"timing\": false, \"fresh\": true, "
         "\"timeout_ms\": 1, \"priority\": \"urgent\", \"notes\": {\"a\": 1}, \"settings\": "
         "{\"check.tolerance\": {\"rtol\": 0.1}, \"check.trials\": 7, \"timing.budget_ms\": "
         "\"20ms\", \"timing.target\": 0.1}}",
         "candidate.c", EVALUATION_KNOWN},
        {"{\"refused\": \"because\"}", NULL, EVALUATION_KNOWN},
    };
    for (size_t i = 0; i < COUNT(taken); i++) {
        struct evaluation_request request;
        struct err err = {0};
        json_t *object = support_json(taken[i].text);
        if (evaluation_request_parse(object, &request, &err) < 0)
            fail_msg("%s: %s", taken[i].text, err.text);
        assert_int_equal(request.format, taken[i].format);
        if (taken[i].name)
            assert_string_equal(request.candidate_name, taken[i].name);
        json_decref(object);
    }
}

TEST(refused)
{
    static const struct {
        const char *text, *error;
    } refused[] = {
        {"[]", "an evaluation must be an object"},
        {"{}", "'problem' is missing"},
        {"{" PROBLEM "}", "'candidate' is missing"},
        {"{" PROBLEM ", " CANDIDATE ", \"timout_ms\": 5}", "did you mean 'timeout_ms'?"},
        {"{\"problem\": {}, " CANDIDATE "}", "problem: give either \"id\" or \"format\""},
        {"{\"problem\": {\"id\": \"../x\"}, " CANDIDATE "}", "problem: 'id' is a path"},
        {"{\"problem\": {\"id\": \"/etc/x.py\"}, " CANDIDATE "}", "problem: 'id' is a path"},
        {"{\"problem\": {\"id\": \"x\", \"source\": \"\"}, " CANDIDATE "}", "unknown key 'source'"},
        {"{\"problem\": {\"format\": \"fortran\"}, " CANDIDATE "}",
         "problem: 'format' is 'fortran'; it must be one of torch, native, simple"},
        {"{\"problem\": {\"format\": \"known\", \"id\": \"x\"}, " CANDIDATE "}", "one of torch"},
        {"{\"problem\": {\"format\": \"torch\"}, " CANDIDATE "}", "problem: 'source' is missing"},
        {"{\"problem\": {\"format\": \"torch\", \"source\": \"\", \"entry_point\": \"a "
         "b\"}, " CANDIDATE "}",
         "must be the name of a class, not 'a b'"},
        {"{\"problem\": {\"format\": \"simple\", \"cases\": 5}, " CANDIDATE "}",
         "'cases' must be a module's text or a list"},
        {"{\"problem\": {\"format\": \"simple\", \"cases\": []}, " CANDIDATE "}",
         "'cases' must be a module's text or a list"},
        {"{" PROBLEM ", \"candidate\": {\"source\": 5}}", "candidate: 'source' must be a string"},
        {"{" PROBLEM ", \"candidate\": {\"source\": \"\", \"language\": \"java\"}}",
         "candidate: 'language' is 'java'"},
        {"{" PROBLEM ", " CANDIDATE ", \"id\": \"\"}", "'id' must have 1 to 255 bytes"},
        {"{" PROBLEM ", " CANDIDATE ", \"id\": \"a\\u0001\"}", "'id' must have 1 to 255 bytes"},
        {"{" PROBLEM ", " CANDIDATE ", \"timeout_ms\": 0}", "'timeout_ms' must be between 1 and"},
        {"{" PROBLEM ", " CANDIDATE ", \"timeout_ms\": 86400001}",
         "must be between 1 and 86400000"},
        {"{" PROBLEM ", " CANDIDATE ", \"priority\": \"top\"}",
         "'priority' is 'top'; it must be one of urgent, high, normal, low"},
        {"{" PROBLEM ", " CANDIDATE ", \"settings\": {\"check.trials\": 0}}", "settings: "},
        {"{" PROBLEM ", " CANDIDATE ", \"settings\": {\"check.trials\": [1]}}",
         "must be a text, a number or a boolean"},
        {"{" PROBLEM ", " CANDIDATE ", \"settings\": {\"check.tolerance\": {\"rtol\": -1}}}",
         "is no tolerance; write strict, kernelbench"},
        {"{" PROBLEM ", " CANDIDATE ", \"settings\": {\"check.tolerance\": {\"rtol\": 1, \"a "
         "name that is longer than any text that a setting could have, and then some, so that it "
         "is cut, and refused for that\": 1}}}",
         "check.tolerance: empty"},
        {"{" PROBLEM ", " CANDIDATE ", \"settings\": {\"python.path\": \"/bin/sh\"}}",
         "settings: unknown key 'python.path'"},
        {"{" PROBLEM ", " CANDIDATE ", \"settings\": {\"gpu.nvrtc\": \"/tmp/x.so\"}}",
         "settings: unknown key 'gpu.nvrtc'"},
        {"{" PROBLEM ", " CANDIDATE ", \"notes\": 5}", "'notes' must be an object"},
        {"{\"refused\": \"x\", \"problem\": {}}", "problem: give either"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct evaluation_request request;
        struct err err = {0};
        json_t *object = support_json(refused[i].text);
        if (evaluation_request_parse(object, &request, &err) == 0)
            fail_msg("%s was taken", refused[i].text);
        if (!strstr(err.text, refused[i].error))
            fail_msg("%s: %s", refused[i].text, err.text);
        json_decref(object);
    }
}

TEST(too_large)
{
    static const struct {
        const char *text, *container, *key;
        size_t most;
    } limits[] = {
        {"{" PROBLEM ", " CANDIDATE "}", "candidate", "name", LIMIT_NAME_BYTES},
        {"{" PROBLEM ", " CANDIDATE "}", "problem", "id", LIMIT_NAME_BYTES},
        {"{" TORCH ", " CANDIDATE "}", "problem", "source", LIMIT_SOURCE_BYTES},
        {"{" PROBLEM ", " CANDIDATE ", \"notes\": {}}", "notes", "x", LIMIT_NOTES_BYTES - 8},
    };
    char *text = mem_alloc(LIMIT_SOURCE_BYTES + 2);
    for (size_t i = 0; i < COUNT(limits); i++) {
        struct evaluation_request request;
        struct err err; /* of which the code is read where it gets its prefix */
        json_t *object = support_json(limits[i].text);
        json_t *container = json_object_get(object, limits[i].container);
        memset(text, 'x', LIMIT_SOURCE_BYTES + 1);
        text[limits[i].most] = '\0';
        json_object_set_new(container, limits[i].key, json_text(text));
        assert_int_equal(evaluation_request_parse(object, &request, &err), 0);
        text[limits[i].most] = 'x';
        text[limits[i].most + 1] = '\0';
        json_object_set_new(container, limits[i].key, json_text(text));
        assert_int_equal(evaluation_request_parse(object, &request, &err), ERR_LIMIT);
        json_decref(object);
    }
    /* A candidate's text is judged, not refused. */
    json_t *object = support_json("{" PROBLEM ", " CANDIDATE "}");
    struct evaluation_request request;
    memset(text, 'x', LIMIT_SOURCE_BYTES + 1);
    json_object_set_new(json_object_get(object, "candidate"), "source", json_text(text));
    assert_int_equal(evaluation_request_parse(object, &request, NULL), 0);
    assert_int_equal(strlen(request.candidate_source), LIMIT_SOURCE_BYTES + 1);
    json_decref(object);
    mem_free(text);
}

TEST(settings)
{
    struct settings base, out;
    struct evaluation_request request;
    settings_init(&base);
    json_t *object = support_json(
        "{" PROBLEM ", " CANDIDATE
        ", \"settings\": {\"check.trials\": 7, \"timing.max_samples\": 20, "
        "\"check.tolerance\": {\"atol\": 0.5, \"rtol\": 0.25}, "
        "\"torch.compile\": \"default\"}}");
    assert_int_equal(evaluation_request_parse(object, &request, NULL), 0);
    assert_int_equal(evaluation_request_settings(&request, &base, &out, NULL), 0);
    assert_int_equal(check_settings(&out)->trials, 7);
    assert_string_equal(check_settings(&out)->tolerance, "{\"atol\":0.5,\"rtol\":0.25}");
    assert_int_equal(timing_settings(&out)->max_samples, 20);
    assert_int_equal(torch_settings(&out)->compile, TORCH_COMPILE_DEFAULT);
    assert_int_equal(run_settings(&out)->timeout_ms, run_settings(&base)->timeout_ms);
    assert_int_equal(torch_settings(&base)->compile, TORCH_EAGER);
    settings_deinit(&out);
    set(&base, "timing.min_samples=50"); /* which no single value shows */
    assert_int_equal(evaluation_request_settings(&request, &base, &out, NULL), ERR_INPUT);
    json_decref(object);
    settings_deinit(&base);
}

/* What an evaluation is known by: everything that its verdict depends on, and nothing else. */
TEST(hash)
{
    static const struct {
        const char *one, *two;
        bool same;
    } pairs[] = {
        {"{" PROBLEM ", " CANDIDATE "}",
         "{" CANDIDATE ", " PROBLEM ", \"id\": \"x\", \"priority\": \"low\", \"fresh\": true, "
         "\"notes\": {\"a\": 1}, \"timeout_ms\": 5}",
         true},
        {"{" PROBLEM ", " CANDIDATE ", \"settings\": {\"check.trials\": 7, \"timing.target\": 1}}",
         "{" PROBLEM ", " CANDIDATE ", \"settings\": {\"timing.target\": 1, \"check.trials\": 7}}",
         true},
        {"{" PROBLEM ", " CANDIDATE "}", "{" PROBLEM ", " CANDIDATE ", \"timing\": false}", false},
        {"{" PROBLEM ", " CANDIDATE "}",
         "{" PROBLEM ", " CANDIDATE ", \"settings\": {\"check.trials\": 7}}", false},
        {"{" PROBLEM ", " CANDIDATE "}", "{" TORCH ", " CANDIDATE "}", false},
        {"{" PROBLEM ", " CANDIDATE "}",
         "{" PROBLEM ", \"candidate\": {\"source\": \"void solution() { }\"}}", false},
        {"{\"problem\": {\"format\": \"simple\", \"cases\": [[1]]}, " CANDIDATE "}",
         "{\"problem\": {\"format\": \"simple\", \"cases\": [[2]]}, " CANDIDATE "}", false},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct evaluation_request request;
        char hashes[2][HASH_HEX_BYTES];
        json_t *one = support_json(pairs[i].one), *two = support_json(pairs[i].two);
        assert_int_equal(evaluation_request_parse(one, &request, NULL), 0);
        evaluation_request_hash(&request, "", hashes[0]);
        assert_int_equal(evaluation_request_parse(two, &request, NULL), 0);
        evaluation_request_hash(&request, "", hashes[1]);
        assert_int_equal(strcmp(hashes[0], hashes[1]) == 0, pairs[i].same);
        evaluation_request_hash(&request, "another problem", hashes[0]);
        assert_string_not_equal(hashes[0], hashes[1]);
        json_decref(one);
        json_decref(two);
    }
}

TEST(refusal)
{
    struct evaluation_request request;
    json_t *object = support_json("{\"id\": \"x\", \"refused\": \"because\", \"candidate\": "
                                  "{\"source\": \"int a;\", \"name\": \"a.c\"}}");
    char hash[HASH_HEX_BYTES];
    hash_bytes("int a;", 6, hash);
    assert_int_equal(evaluation_request_parse(object, &request, NULL), 0);
    struct verdict verdict;
    evaluation_request_refuse(&request, request.refused, &verdict);
    assert_int_equal(verdict.status, STATUS_UNSUPPORTED);
    assert_string_equal(verdict.error_class, "validation");
    assert_string_equal(verdict.error_message, "because");
    assert_string_equal(verdict.candidate_path, "a.c");
    assert_string_equal(verdict.candidate_hash, hash);
    assert_false(verdict.correct);
    verdict_deinit(&verdict);
    json_decref(object);
}
