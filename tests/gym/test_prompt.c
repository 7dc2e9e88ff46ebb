/* What each style says in first and later turns, of problems and of the machine. */
#include "base/json.h"
#include "base/mem.h"
#include "gym/feedback/feedback.h"
#include "gym/prompt/prompt.h"

#include "../support/prompting.h"
#include "../support/test.h"
#include "../support/verdicts.h"

#include <stdlib.h>

static struct prompts *prompts;
static const json_t *samples;
static json_t *device;

FIXTURE(setup)
{
    struct settings settings;
    prompts = prompting_open(NULL);
    samples = prompting_samples();
    settings_init(&settings);
    device = prompt_device(&settings, NULL);
    settings_deinit(&settings);
    return 0;
}

FIXTURE(teardown)
{
    prompts_close(prompts);
    json_decref(device);
    return 0;
}

TEST_GROUP(setup, teardown);

static struct prompt_turn turn_of(const char *status, size_t nth, const char *code)
{
    return (struct prompt_turn){.answer = code ? code : "words",
                                .thought = "SECRET THOUGHT",
                                .code = code,
                                .facts = prompting_facts(status, nth),
                                .reward = 0.25};
}

static const json_t *messages_of(const struct prompt_options *options, const char *problem,
                                 const json_t *examples, const struct prompt_turn *turns,
                                 size_t count)
{
    return prompting_messages(prompts, options, prompting_problem(problem), device, examples, turns,
                              count);
}

TEST(nothing_is_missing_anywhere)
{
    struct err err;
    assert_ok(prompts_try(prompts, &err), &err);
}

static const struct {
    const char *language, *problem, *point, *title;
} languages[] = {
    {"c", "softmax", "void solution(const float *x, float *y, size_t rows, size_t cols)", "C"},
    {"cpp", "softmax", "C++ (gnu++20). Define `solution` as `extern \"C\"`", "C++"},
    {"cuda", "softmax", "// launch:", "CUDA"},
    {"torch-cuda", "torch/rms_norm", "load_inline", "CUDA"},
    {"triton", "torch/rms_norm", "@triton.jit", "Triton"},
};
static const char *const styles[] = {"warpgym", "kevin", "drkernel"};

TEST(first_turns)
{
    for (size_t s = 0; s < COUNT(styles); s++)
        for (size_t i = 0; i < COUNT(languages); i++)
            for (int thinking = 0; thinking <= 1; thinking++) {
                struct prompt_options options = {.style = styles[s],
                                                 .language = languages[i].language,
                                                 .thinking = thinking};
                const json_t *messages = messages_of(&options, languages[i].problem, NULL, NULL, 0);
                size_t count = json_array_size(messages);
                const char *task = prompting_text(messages, count - 1);
                assert_int_equal(count, strcmp(styles[s], "drkernel") == 0 ? 1 : 2);
                assert_string_equal(prompting_role(messages, count - 1), "user");
                assert_non_null(strstr(task, languages[i].point));
                /* The reference, whole. */
                assert_non_null(strstr(task, json_text_at(prompting_problem(languages[i].problem),
                                                          "reference")));
                char *all = mem_printf("%s%s", prompting_text(messages, 0), task);
                assert_non_null(strcasestr(all, languages[i].title));
                assert_true((strstr(all, "<think>") != NULL) == thinking);
                bool tags = strcmp(styles[s], "drkernel") != 0;
                assert_true((strstr(all, "</KERNEL>") != NULL) == tags);
                mem_free(all);
            }
}

/* A task names what is timed, and nothing that could be aimed at. */
TEST(problem_facts)
{
    const json_t *native = prompting_problem("gemm_f16"), *exact = prompting_problem("relu");
    const json_t *torch = prompting_problem("torch/rms_norm"),
                 *single = prompting_problem("softmax");
    const json_t *problems = json_object_get(samples, "problems");
    const json_t *const all[4] = {native, torch, exact, single};
    const char *key;
    json_t *value;
    for (size_t i = 0; i < 4; i++) {
        json_object_foreach((json_t *)json_array_get(problems, i % 3), key,
                            value) if (!json_object_get(all[i], key))
            fail_msg("prompt_problem does not give '%s'", key);
        json_object_foreach((json_t *)all[i], key,
                            value) if (!json_object_get(json_array_get(problems, 0), key))
            fail_msg("the samples do not know '%s'", key);
        char *text = json_dumps(all[i], 0);
        assert_null(strstr(text, "tolerance"));
        assert_null(strstr(text, "1e-0"));
        free(text);
    }
    assert_non_null(strstr(json_string_value(json_object_get(native, "precision")), "f16"));
    assert_string_equal(json_string_value(json_object_get(torch, "precision")), "f32");
    assert_string_equal(json_string_value(json_object_get(torch, "candidate_class")), "ModelNew");
    assert_string_equal(json_string_value(json_object_get(torch, "accuracy")), "single");
    assert_string_equal(json_string_value(json_object_get(exact, "accuracy")), "exact");
    assert_string_equal(json_string_value(json_object_get(single, "accuracy")), "single");
    const json_t *sizes = json_object_get(single, "sizes");
    assert_int_equal(json_array_size(sizes), 1); /* the one under time:, none under check: */
    assert_string_equal(json_string_value(json_object_get(json_array_get(sizes, 0), "sizes")),
                        "rows=256 cols=1024");
}

/* The samples are what feedback_facts makes of a verdict. */
TEST(feedback_facts)
{
    const json_t *known = prompting_facts("passed", 1);
    struct err err;
    struct verdict verdict;
    verdict_of("{\"status\": \"passed\", \"compiled\": true, \"correct\": true, \"correctness\": "
               "{\"trials\": "
               "3, \"passed\": 3}, \"timing\": {\"candidate\": {\"median\": 0.5}, \"reference\": "
               "{\"median\": "
               "1.5}, \"speedup\": 3.0, \"speedup_interval\": [2.9, 3.1], \"meaningful\": true}}",
               &verdict);
    json_t *both[] = {feedback_facts(NULL, NULL), feedback_facts(&verdict, "code")};
    for (size_t i = 0; i < 2; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(both[i], key, value) if (!json_object_get(known, key))
            fail_msg("the samples do not know '%s'", key);
        assert_int_equal(json_object_size(both[i]), json_object_size(known));
        for (size_t s = 0; s < COUNT(styles); s++) {
            struct prompt_options options = {.style = styles[s], .language = "c"};
            struct prompt_turn turn = {.answer = "x", .code = i ? "code" : NULL, .facts = both[i]};
            char *text = NULL;
            assert_ok(prompts_feedback(prompts, &options, &turn, &text, &err), &err);
            assert_non_null(strstr(text, i ? "3" : "code"));
            mem_free(text);
        }
        json_decref(both[i]);
    }
    verdict_deinit(&verdict);
}

TEST(device_facts)
{
    const json_t *known = json_array_get(json_object_get(samples, "devices"), 2);
    const json_t *cpu = json_object_get(device, "cpu"), *gpu = json_object_get(device, "gpu");
    const json_t *parts[][2] = {{device, known},
                                {cpu, json_object_get(known, "cpu")},
                                {gpu, json_object_get(known, "gpu")}};
    for (size_t i = 0; i < (json_is_object(gpu) ? 3U : 2U); i++) {
        const char *key;
        json_t *value;
        assert_int_equal(json_object_size(parts[i][0]), json_object_size(parts[i][1]));
        json_object_foreach((json_t *)parts[i][1], key, value)
            assert_non_null(json_object_get(parts[i][0], key));
    }
    assert_true(json_integer_value(json_object_get(cpu, "threads")) >= 1);
    const char *flags = json_string_value(
        json_object_get(json_object_get(json_object_get(cpu, "compilers"), "c"), "flags"));
    assert_non_null(strstr(flags, "-O3"));
    assert_null(strstr(flags, "candidate")); /* nothing of our files */
    char *text = json_dumps(device, 0);
    assert_null(strstr(text, "/bin/"));
    free(text);
}

static void check_example(const json_t *messages, const char *mark, bool wanted)
{
    bool there = false;
    for (size_t i = 0; i < json_array_size(messages); i++)
        there |= strstr(prompting_text(messages, i), mark) != NULL;
    if (there != wanted)
        fail_msg("'%s' is %s", mark, there ? "there" : "not there");
}

TEST(shots)
{
    static const char *const marks[] = {"## Example 1: ", "## Example 2: ", "## Example 3: ",
                                        "## Example 4: "};
    for (size_t i = 0; i < COUNT(languages); i++)
        for (int64_t shots = 0; shots <= 3; shots++) {
            struct prompt_options options = {.style = "warpgym",
                                             .language = languages[i].language,
                                             .shots = shots};
            /* rms_norm is itself an example: there are still as many as asked for. */
            const json_t *messages = messages_of(&options, languages[i].problem, NULL, NULL, 0);
            for (int64_t m = 0; m < 4; m++)
                check_example(messages, marks[m], m < shots);
        }
}

/* The answer to the very question is no example. */
TEST(examples_do_not_leak)
{
    static const struct {
        const char *language, *problem, *code;
    } rows[] = {
        {"c", "row_sum", "out[col] = gate"},
        {"c", "row_sum",
         "float sum = 0;\n#pragma omp simd reduction(+ : sum)\n        for (size_t"},
        {"c", "transpose", "TILE"},
        {"cpp", "transpose", "turn<true>"},
        {"cuda", "row_sum", "warp_sum"},
        {"triton", "torch/relu_bias", "relu_bias_kernel"},
        {"torch-cuda", "torch/layer_norm", "layer_norm_kernel"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct prompt_options options = {.style = "warpgym",
                                         .language = rows[i].language,
                                         .shots = 3};
        const json_t *messages = messages_of(&options, rows[i].problem, NULL, NULL, 0);
        check_example(messages, rows[i].code, i == 0); /* the first row: another one's code is */
        /* The same problem by another name. */
        json_t *facts = json_copy((json_t *)prompting_problem(rows[i].problem));
        char *moved = mem_printf("\n%s  \n", json_text_at(facts, "reference"));
        json_put(facts, "id", json_text("elsewhere"));
        json_put(facts, "reference", json_text(moved));
        messages = prompting_messages(prompts, &options, facts, device, NULL, NULL, 0);
        check_example(messages, rows[i].code, i == 0);
        mem_free(moved);
        json_decref(facts);
    }
}

/* Nor is one of a problem that is withheld, whatever is asked. */
TEST(withheld)
{
    static const char *const named[] = {"row_sum", "another name"};
    const struct prompt_options options = {.style = "warpgym", .language = "c", .shots = 3};
    struct prompts *shared = prompts;
    const char *reference = json_text_at(prompting_problem("row_sum"), "reference");
    const json_t *messages = messages_of(&options, "softmax", NULL, NULL, 0);
    check_example(messages, "row_sum", true);
    for (size_t i = 0; i < COUNT(named); i++) {
        prompts = prompting_open(NULL);
        prompts_withhold(prompts, named[i], reference);
        messages = messages_of(&options, "softmax", NULL, NULL, 0);
        check_example(messages, "row_sum", false);
        check_example(messages, "## Example 3: ", true);
        prompts_close(prompts);
    }
    prompts = shared;
}

TEST(retrieved)
{
    struct prompt_options options = {.style = "kevin", .language = "triton"};
    json_t *examples = json_array();
    char *code = mem_alloc(10101);
    memset(code, 'c', 10100);
    static const struct {
        const char *name, *source, *problem, *reference;
    } rows[] = {{"Adder", "corpus", NULL, "REFERENCE ONE"},
                {NULL, "archive", NULL, "REFERENCE TWO"},
                {"Leak", "corpus", "torch/rms_norm", "REFERENCE THREE"}};
    for (size_t i = 0; i < 3; i++) {
        json_t *row = json_object();
        json_put(row, "name", json_text(rows[i].name));
        json_put(row, "source", json_text(rows[i].source));
        json_put(row, "language", json_text("triton"));
        json_put(row, "problem", json_text(rows[i].problem));
        json_put(row, "reference", json_text(rows[i].reference));
        json_put(row, "solution", json_text(i ? "short" : code));
        json_put(row, "score", json_number(0.4217));
        json_array_append_new(examples, row);
    }
    const json_t *messages = messages_of(&options, "torch/rms_norm", examples, NULL, 0);
    const char *text = prompting_text(messages, 1);
    prompting_in_order(text, (const char *const[]){"## Similar Optimization Examples",
                                                   "### Example 1: Adder", "REFERENCE ONE",
                                                   "TRITON:", "100 more bytes, left out",
                                                   "### Example 2: archive_2", "REFERENCE TWO",
                                                   "---", "## Task", "class Model", NULL});
    assert_null(strstr(text, "REFERENCE THREE"));
    assert_null(strstr(text, "4217")); /* no scores */
    /* A worked example that was found as well is shown once, and another takes its place. */
    options.shots = 1;
    messages = messages_of(&options, "torch/softmax_rows", examples, NULL, 0);
    text = prompting_text(messages, 1);
    assert_non_null(strstr(text, "### Example 3: Leak"));
    assert_non_null(strstr(text, "### Worked example 1: "));
    assert_null(strstr(text, "### Worked example 1: torch/rms_norm"));
    mem_free(code);
    json_decref(examples);
}

TEST(kevin_layout)
{
    struct prompt_options options = {.style = "kevin", .language = "triton", .thinking = true};
    struct prompt_turn turns[] = {turn_of("compile_error", 0, "FIRST CODE"),
                                  turn_of("passed", 1, "SECOND CODE")};
    const json_t *messages = messages_of(&options, "torch/rms_norm", NULL, turns, 2);
    assert_int_equal(json_array_size(messages), 2);
    assert_string_equal(prompting_role(messages, 0), "system");
    assert_string_equal(prompting_role(messages, 1), "user");
    assert_non_null(strstr(prompting_text(messages, 0), "TRITON"));
    const char *text = prompting_text(messages, 1);
    prompting_in_order(text, (const char *const[]){"## Task", "class Model",
                                                   "## Previous Attempt (Turn 2)",
                                                   "```python\nSECOND CODE\n```",
                                                   "## Evaluation Feedback", "**Status**: SUCCESS",
                                                   "**Compiled**: Yes", "**Tests Passed**: 5/5",
                                                   "**Speedup**: 3.10x", "## Instructions",
                                                   "Keep what works", "<think>", "<KERNEL>", NULL});
    assert_null(strstr(text, "FIRST CODE"));
    assert_null(strstr(text, "SECRET THOUGHT"));
    assert_null(strstr(text, "## Error Details"));
}

TEST(kevin_categories)
{
    static const struct {
        const char *status;
        size_t nth;
        const char *shown, *guidance;
    } rows[] = {
        {"no_code", 0, "FORMAT ERROR", "in a fenced block"},
        {"compile_error", 0, "COMPILATION ERROR", "Fix the TRITON syntax"},
        {"load_error", 0, "LOAD ERROR", "signature of the entry point"},
        {"runtime_error", 0, "RUNTIME ERROR", "launch configuration"},
        {"timeout", 0, "TIMEOUT", "loops that never end"},
        {"out_of_memory", 0, "OUT OF MEMORY", "too much memory"},
        {"wrong", 0, "CORRECTNESS ERROR", "boundaries, reductions"},
        {"violation", 0, "REFUSED", "no honest kernel"},
        {"unsupported", 0, "UNSUPPORTED", "Keep what works"},
        {"unknown", 0, "NOT JUDGED", "Keep what works"},
        {"passed", 0, "CORRECT (but slower than the baseline)", "tiling"},
        {"passed", 1, "**Status**: SUCCESS", "Make it faster"},
        {"passed", 2, "**Status**: SUCCESS", "Make it faster"},
    };
    struct prompt_options options = {.style = "kevin", .language = "triton"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool passed = strcmp(rows[i].status, "passed") == 0;
        struct prompt_turn turn = turn_of(rows[i].status, rows[i].nth,
                                          strcmp(rows[i].status, "no_code") ? "code" : NULL);
        const json_t *messages = messages_of(&options, "torch/rms_norm", NULL, &turn, 1);
        const char *text = prompting_text(messages, 1);
        prompting_in_order(text, (const char *const[]){"## Evaluation Feedback", rows[i].shown,
                                                       "## Instructions", rows[i].guidance, NULL});
        assert_true((strstr(text, "## Error Details") == NULL) == passed);
    }
}

TEST(kevin_cuts_the_attempt)
{
    struct prompt_options options = {.style = "kevin", .language = "c"};
    char code[2102];
    memset(code, 'k', sizeof code - 1);
    code[sizeof code - 1] = '\0';
    struct prompt_turn turn = turn_of("wrong", 0, code);
    const json_t *messages = messages_of(&options, "softmax", NULL, &turn, 1);
    const char *text = prompting_text(messages, 1);
    const char *start = strstr(text, "kkkk");
    assert_int_equal(strspn(start, "k"), 2000);
    assert_non_null(strstr(start, "101 more bytes, left out"));
    assert_non_null(strstr(text, "element 16 of y is 0"));
}

TEST(drkernel_layout)
{
    struct prompt_options options = {.style = "drkernel", .language = "triton"};
    struct prompt_turn turns[] = {turn_of("wrong", 0, "ANSWER ONE"),
                                  turn_of("passed", 1, "ANSWER TWO")};
    const json_t *messages = messages_of(&options, "torch/softmax_rows", NULL, turns, 2);
    static const char *const roles[] = {"user", "assistant", "user", "assistant", "user"};
    assert_int_equal(json_array_size(messages), 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(prompting_role(messages, i), roles[i]);
    /* One worked example, although none was asked for; then the architecture, then the contract. */
    prompting_in_order(prompting_text(messages, 0),
                       (const char *const[]){"Fuse", "torch.relu(x + self.bias)", "@triton.jit",
                                             "class ModelNew", "class Model(", "ModelNew",
                                             "no pseudocode", NULL});
    assert_string_equal(prompting_text(messages, 1), "ANSWER ONE");
    prompting_in_order(prompting_text(messages, 4),
                       (const char *const[]){"Feedback of the server", "```json",
                                             "\"speedup\": 3.1", "```", "improved", NULL});
}

/* Whatever happened, the feedback is one JSON object with KernelGYM's names. */
TEST(drkernel_feedback_is_json)
{
    static const char *const keys[] = {
        "status",         "compiled", "correctness", "decoy_kernel", "reference_runtime",
        "kernel_runtime", "speedup",  "reward",      "success"};
    struct prompt_options options = {.style = "drkernel", .language = "cuda"};
    const json_t *all = json_object_get(samples, "facts");
    for (size_t i = 0; i < json_array_size(all); i++) {
        struct prompt_turn turn = {.answer = "x", .facts = json_array_get(all, i), .reward = -0.5};
        struct err err;
        char *text = NULL;
        json_t *object = NULL;
        assert_ok(prompts_feedback(prompts, &options, &turn, &text, &err), &err);
        assert_ok(json_parse("feedback", text, strlen(text), &object, &err), &err);
        for (size_t k = 0; k < COUNT(keys); k++)
            if (!json_object_get(object, keys[k]))
                fail_msg("no %s in %s", keys[k], text);
        bool correct = json_is_true(json_object_get(turn.facts, "correct"));
        assert_true(json_is_true(json_object_get(object, "correctness")) == correct);
        assert_float_equal(json_number_value(json_object_get(object, "reward")), -0.5, 0);
        json_decref(object);
        mem_free(text);
    }
}

TEST(warpgym_feedback)
{
    struct prompt_options options = {.style = "warpgym", .language = "c", .thinking = true};
    struct prompt_turn turns[] = {turn_of("passed", 1, "GOOD CODE"), turn_of("wrong", 0, "BAD"),
                                  turn_of("violation", 0, "WORSE")};
    const json_t *messages = messages_of(&options, "softmax", NULL, turns, 3);
    assert_int_equal(json_array_size(messages), 8);
    assert_string_equal(prompting_text(messages, 2), "GOOD CODE");
    prompting_in_order(prompting_text(messages, 3),
                       (const char *const[]){"# Attempt 1", "3.1 times", "0.3220 ms",
                                             "- n=17: 0.0010 ms", "61.0 % of what",
                                             "2 kernels, 327 us", "Memory is the bound",
                                             "Write a faster version", "<KERNEL>", NULL});
    prompting_in_order(prompting_text(messages, 5),
                       (const char *const[]){"# Attempt 2", "element 16", "Check the tail",
                                             "So far: 1: correct, 3.10x; 2: wrong.",
                                             "Attempt 1 is still the best one", "corrected version",
                                             NULL});
    prompting_in_order(prompting_text(messages, 7),
                       (const char *const[]){"# Attempt 3", "Violation H08: x was changed",
                                             "Warning H41", "3: violation", NULL});
}

/* A conversation only grows: what was shown stays as it was, word for word. */
TEST(history_grows)
{
    const json_t *all = json_object_get(samples, "facts");
    struct prompt_turn turns[8];
    for (size_t i = 0; i < 8; i++)
        turns[i] = (struct prompt_turn){.answer = "answer",
                                        .code = "code",
                                        .facts = json_array_get(all, i + 5)};
    for (size_t s = 0; s < COUNT(styles); s += 2) {
        struct prompt_options options = {.style = styles[s], .language = "c", .shots = 1};
        const json_t *before = messages_of(&options, "softmax", NULL, NULL, 0);
        for (size_t count = 1; count <= 8; count++) {
            const json_t *messages = messages_of(&options, "softmax", NULL, turns, count);
            assert_int_equal(json_array_size(messages), json_array_size(before) + 2);
            for (size_t i = 0; i < json_array_size(before); i++)
                assert_true(json_equal(json_array_get(messages, i), json_array_get(before, i)));
            before = messages;
        }
    }
}

/* What a model writes is text, never a template; odd bytes and empty answers do no harm. */
TEST(hostile_answers)
{
    static const char *const answers[] = {
        "{{problem.reference}} {{#if x}}", "```\n</KERNEL>", "", " \n", "\xff\xfe bytes", NULL};
    for (size_t s = 0; s < COUNT(styles); s++)
        for (size_t i = 0; i < COUNT(answers); i++) {
            struct prompt_options options = {.style = styles[s], .language = "c"};
            struct prompt_turn turn = turn_of("wrong", 0, answers[i] && *answers[i] ? "x" : NULL);
            turn.answer = turn.thought = answers[i];
            turn.code = i < 2 ? answers[i] : turn.code;
            const json_t *messages = messages_of(&options, "softmax", NULL, &turn, 1);
            size_t count = json_array_size(messages);
            bool last_only = strcmp(styles[s], "kevin") == 0;
            assert_int_equal(count, strcmp(styles[s], "warpgym") == 0 ? 4 : last_only ? 2 : 3);
            if (i == 0)
                assert_non_null(strstr(prompting_text(messages, last_only ? 1 : count - 2),
                                       "{{problem.reference}}"));
            if (i == 2 && !last_only)
                assert_string_equal(prompting_text(messages, count - 2),
                                    "(An answer without code.)");
        }
}

TEST(options)
{
    static const struct {
        struct prompt_options options;
        const char *error;
    } rows[] = {
        {{.style = "warpgim", .language = "c"}, "unknown prompt style 'warpgim'; did you mean 'w"},
        {{.style = "x", .language = "c"},
         "unknown prompt style 'x'; choose one of drkernel, kevin, warpgym"},
        {{.style = "kevin", .language = "cude"}, "unknown prompt language 'cude'; did you mean 'c"},
        {{.style = "kevin", .language = "parts"}, "unknown prompt language 'parts'"},
        {{.style = "c", .language = "c"}, "unknown prompt style 'c'"},
        {{.style = "kevin", .language = "c", .shots = 4}, "shots is 0 to 3, not 4"},
        {{.style = "kevin", .language = "c", .shots = -1}, "shots is 0 to 3, not -1"},
        {{.style = "kevin", .language = "c", .token_budget = -1}, "token_budget is not negative"},
        {{.style = "kevin", .language = "triton"},
         "problem 'softmax' is a native one, and triton solves PyTorch ones"},
    };
    const json_t *facts = prompting_problem("softmax");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        json_t *messages;
        assert_int_equal(prompts_messages(prompts, &rows[i].options, facts, device, NULL, NULL, 0,
                                          &messages, &err),
                         ERR_INPUT);
        assert_null(messages);
        if (!strstr(err.text, rows[i].error))
            fail_msg("'%s', not '%s'", err.text, rows[i].error);
    }
}
