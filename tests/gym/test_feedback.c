/* What feedback shows to a model, what it withholds, and what it cannot read. */
#include "gym/feedback/feedback.h"

#include "../support/test.h"
#include "../support/verdicts.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gym/feedback/internal.h"

#include <stdio.h>

#define TIMES(name, ms) "\"" name "\": {\"median\": " ms ", \"quartiles\": [1, 2], \"n\": 9}"
#define TIMING(speedup, more)                                                                      \
    "\"timing\": {\"sizes\": \"rows=8 cols=9\", \"meaningful\": true, " TIMES(                     \
        "candidate", "0.5") ", " TIMES("reference", "1.0") ", \"speedup\": " speedup more "}"
#define TRIALS(trials, passed, more)                                                               \
    "\"correctness\": {\"trials\": " trials ", \"passed\": " passed more "}"
#define PASSED "\"status\": \"passed\", \"compiled\": true, \"correct\": true, "
#define FAILED(status) "\"status\": \"" status "\", \"compiled\": true, \"correct\": false, "
#define ERROR(class, message, excerpt)                                                             \
    "\"error\": {\"class\": \"" class "\", \"message\": \"" message "\", \"excerpt\": " excerpt "}"
#define PATH(path) "\"candidate\": {\"path\": \"" path "\"}, "

static const char source[] = "#include <math.h>\n"
                             "void solution(float *y)\n"
                             "{\n"
                             "    y[0] = foo(1)\n"
                             "    y[1] = 2;\n"
                             "}\n";

/* A verdict, and a part of the facts that come of it. */
static const struct {
    const char *name, *verdict, *facts;
} rows[] = {
    {"faster",
     "{" PASSED TRIALS("8", "8", "") ", " TIMING(
         "2.0",
         ", \"speedup_interval\": [1.9, 2.1], \"roofline_fraction\": 0.25, \"note\": null") "}",
     "{\"status\": \"passed\", \"compiled\": true, \"correct\": true, \"trials\": 8, "
     "\"passed\": 8,"
     " \"headline\": \"It is correct; trials passed: 8; 2 times the reference's speed (95 % "
     "interval 1.9 to 2.1).\", \"error\": null, \"mismatch\": null, \"timing\": "
     "{\"candidate_ms\": "
     "0.5, \"reference_ms\": 1.0, \"speedup\": 2.0, \"low\": 1.9, \"high\": 2.1, "
     "\"roofline_fraction\": 0.25, \"note\": null, \"cases\": [{\"sizes\": \"rows=8 cols=9\", "
     "\"candidate_ms\": 0.5, \"reference_ms\": 1.0, \"speedup\": 2.0}]}, \"kernels\": [], "
     "\"profile_text\": null, \"violations\": [], \"warnings\": []}"},
    {"slower, interval without an end",
     "{" PASSED TRIALS("2", "2", "") ", " TIMING(
         "0.5", ", \"speedup_interval\": [0.1, null], \"note\": \"the machine was busy\"") "}",
     "{\"headline\": \"It is correct, but slower than the reference; trials passed: 2; 0.5 "
     "times "
     "the reference's speed.\", \"timing\": {\"low\": null, \"high\": null, "
     "\"roofline_fraction\": "
     "null, \"note\": \"the machine was busy\"}}"},
    {"several sizes",
     "{" PASSED TIMING(
         "2.0",
         ", \"cases\": [{\"sizes\": \"n=1\", " TIMES("candidate", "1") ", " TIMES(
             "reference",
             "2") ", \"speedup\": 2}, {\"sizes\": null, " TIMES("candidate",
                                                                "1") ", " TIMES("reference",
                                                                                "2") ", "
                                                                                     "\"speedup\": "
                                                                                     "2}]") "}",
     "{\"timing\": {\"cases\": [{\"sizes\": \"n=1\", \"candidate_ms\": 1.0, \"reference_ms\": "
     "2.0, "
     "\"speedup\": 2.0}]}}"},
    {"not timed", "{" PASSED "\"timing\": {\"note\": \"not asked for\"}}",
     "{\"headline\": \"It is correct; its speed is not known: not asked for.\", \"timing\": "
     "null, "
     "\"advice\": \"Make it faster.\"}"},
    {"times without a meaning",
     "{" PASSED TIMING("9.0", ", \"meaningful\": false, \"note\": \"interpreted\"") "}",
     "{\"headline\": \"It is correct; its speed is not known: interpreted.\", \"timing\": "
     "null}"},
    {"library",
     "{" PASSED TIMING("1.1", "") ", \"integrity\": {\"violations\": [], \"warnings\": [{\"code\": "
                                  "\"H41\", \"evidence\": \"it launched no kernel of its own\"}]}}",
     "{\"headline\": \"It is correct, but library operators do most of its work; 1.1 times the "
     "reference's speed.\", \"warnings\": [{\"code\": \"H41\", \"evidence\": \"it launched no "
     "kernel of its own\"}]}"},
    {"wrong",
     "{" FAILED("wrong") TRIALS("4", "3",
                                ", \"max_relative_error\": 0.7, \"first_mismatch\": "
                                "{\"output\": "
                                "\"y\", \"index\": 5, \"got\": 0.25, \"expected\": "
                                "0.0123456789}") ", " ERROR("wrong",
                                                            "y: 3 of 40 elements are wrong; "
                                                            "the first, [5], is 0.25 instead "
                                                            "of 0.0123456789",
                                                            "null") ", " TIMING("3.0", "") "}",
     "{\"headline\": \"It runs, but its answer is wrong: element 5 of y is 0.25, and about "
     "1e-2 was "
     "expected; the largest error is about 1e-1 of the output's scale; trials passed: 3 of "
     "4.\", "
     "\"error\": null, \"timing\": null, \"mismatch\": {\"output\": \"y\", \"index\": 5, "
     "\"got\": "
     "\"0.25\", \"magnitude\": \"about 1e-2\", \"error\": \"about 1e-1\"}}"},
    {"wrong by little, in a timed call",
     "{" FAILED("wrong")
         TRIALS("4", "4",
                ", \"max_relative_error\": 0.0002, \"first_mismatch\": {\"output\": "
                "\"y\", \"index\": 0, \"got\": -1234567.8, \"expected\": -0.0, "
                "\"looks_like\": \"the size of TF32\"}") "}",
     "{\"headline\": \"It runs, but its answer is not exact enough: element 0 of y is "
     "-1.23457e+06, and zero was expected; the largest error is about 1e-4 of the output's "
     "scale; the error: the size of TF32; all trials passed, a call that was timed did not.\", "
     "\"mismatch\": {\"looks_like\": \"the size of TF32\"}}"},
    {"wrong, NaN",
     "{" FAILED("wrong") TRIALS("1", "0",
                                ", \"max_relative_error\": 0.1, \"first_mismatch\": {\"output\": "
                                "\"\", \"index\": 1, \"got\": null, \"expected\": null}") "}",
     "{\"headline\": \"It runs, but its answer is wrong: element 1 of its output is NaN or "
     "infinity, and NaN or infinity was expected; trials passed: 0 of 1.\", \"mismatch\": "
     "{\"output\": \"output\", \"got\": \"NaN or infinity\", \"error\": null}}"},
    {"wrong form",
     "{" FAILED("wrong")
         ERROR("wrong", "output 0 is float32[3], the reference's is float32[4]", "null") "}",
     "{\"headline\": \"It runs, but its answer is not of the form that was asked for: output 0 "
     "is "
     "float32[3], the reference's is float32[4].\", \"error\": {\"class\": \"wrong\", "
     "\"excerpt\": "
     "null}, \"mismatch\": null}"},
    {"wrong, with a message alone that says too much",
     "{" FAILED("wrong") ERROR("wrong", "y is 0.25 instead of 0.0123456789", "null") "}",
     "{\"headline\": \"It runs, but its answer is wrong.\", \"error\": null}"},
    {"compiler that quotes",
     "{" FAILED("compile_error") PATH("some/where/my.c")
         ERROR("compile_error", "my.c:4:18: error: expected ';'",
               "\"my.c:4:18: error: expected ';'\\n    4 |     y[0] = foo(1)\\n      |         "
               "         "
               "^\\n\"") "}",
     "{\"headline\": \"It does not compile: my.c:4:18: error: expected ';'.\", \"error\": "
     "{\"class\": \"compile_error\", \"message\": \"my.c:4:18: error: expected ';'\", "
     "\"excerpt\": "
     "\"my.c:4:18: error: expected ';'\\n    4 |     y[0] = foo(1)\\n      |                  "
     "^\"}}"},
    {"compiler that does not",
     "{" FAILED("compile_error") PATH("my.cu")
         ERROR("compile_error", "my.cu:4: error: expected a semicolon",
               "\"my.cu:4: error: expected a semicolon\\nmy.cu(5): warning: really\\nnot_my.cu:1: "
               "x\\nmy.cu:99: y\\nmy.cu:3: z\"") "}",
     "{\"error\": {\"excerpt\": \"my.cu:4: error: expected a semicolon\\n    4 |     y[0] = "
     "foo(1)\\nmy.cu(5): warning: really\\n    5 |     y[1] = 2;\\nnot_my.cu:1: x\\nmy.cu:99: "
     "y\\nmy.cu:3: z\\n    3 | {\"}}"},
    {"message alone",
     "{" FAILED("compile_error") PATH("my.cu") ERROR("launch_line", "my.cu:1: no grid", "null") "}",
     "{\"error\": {\"class\": \"launch_line\", \"excerpt\": \"my.cu:1: no grid\\n    1 | "
     "#include "
     "<math.h>\"}}"},
    {"traceback",
     "{" FAILED("runtime_error") PATH("candidate.py")
         ERROR("runtime_error", "ValueError: no",
               "\"ValueError: no\\ncandidate.py:5: in forward: y[1] = 2;\\n  File "
               "\\\"/tmp/x/candidate.py\\\", line 2, in f\"") "}",
     "{\"headline\": \"It compiles, but fails when it runs: ValueError: no.\", \"error\": "
     "{\"excerpt\": \"ValueError: no\\ncandidate.py:5: in forward: y[1] = 2;\\n  File "
     "\\\"candidate.py\\\", line 2, in f\\n    2 | void solution(float *y)\"}}"},
    {"name that is withheld",
     "{" FAILED("load_error") ERROR("load_error", "candidate.cpp:2: x", "null") "}",
     "{\"error\": {\"excerpt\": \"candidate.cpp:2: x\\n    2 | void solution(float *y)\"}}"},
    {"plain name of a tool",
     "{" FAILED("runtime_error") PATH("/x/my.py")
         ERROR("runtime_error", "no", "\"no\\ncandidate.py:5: in f\"") "}",
     "{\"error\": {\"excerpt\": \"no\\ncandidate.py:5: in f\\n    5 |     y[1] = 2;\"}}"},
    {"the same line again",
     "{" FAILED("compile_error") PATH("my.c")
         ERROR("compile_error", "my.c:5: a", "\"my.c:5: a\\nmy.c:5: b\"") "}",
     "{\"error\": {\"excerpt\": \"my.c:5: a\\n    5 |     y[1] = 2;\\nmy.c:5: b\"}}"},
    {"crash", "{" FAILED("runtime_error") ERROR("crash", "killed by SIGSEGV.", "null") "}",
     "{\"headline\": \"It compiles, but crashes when it runs: killed by SIGSEGV.\", \"error\": "
     "{\"class\": \"crash\", \"excerpt\": null}}"},
    {"timeout", "{" FAILED("timeout") ERROR("compile_timeout", "60 s", "null") "}",
     "{\"headline\": \"Compiling it took too long: 60 s.\"}"},
    {"violation",
     "{\"status\": \"violation\", \"compiled\": true, \"correct\": true, " ERROR(
         "violation", "late",
         "null") ", " TIMING("99.0", "") ", \"integrity\": {\"violations\": "
                                         "[{\"code\": \"H21\", \"evidence\": \"its outputs "
                                         "still changed\"}, {\"code\": \"\"}]}}",
     "{\"headline\": \"It was refused: it did something that no honest kernel does: its "
     "outputs "
     "still changed.\", \"correct\": false, \"timing\": null, \"violations\": [{\"code\": "
     "\"H21\", "
     "\"evidence\": \"its outputs still changed\"}]}"},
    {"the judge failed",
     "{" FAILED("infrastructure_error")
         ERROR("reference", "the reference of problem x failed", "\"secret = 42\"") "}",
     "{\"headline\": \"It could not be judged: the judge failed, not the candidate.\", "
     "\"error\": "
     "null}"},
    {"printed",
     "{" FAILED("runtime_error")
         ERROR("crash", "it crashed", "null") ", \"output\": {\"text\": \"n=3\\n</KERNEL> at "
                                              "/home/me/x.c\\n\", \"cut_bytes\": 0}}",
     "{\"output\": \"n=3\\n< /KERNEL> at x.c\"}"},
    {"kernels",
     "{" PASSED
     "\"profile\": {\"calls\": 1, \"time_us\": 200, \"text\": \"1 us\\n\\n 2 us\\n\", \"kernels\": "
     "[{\"name\": \"a\", \"time_us\": 1}, {\"name\": \"b\", \"time_us\": 100, \"own\": true}, "
     "{\"name\": \"c\", \"time_us\": 20}, {\"name\": \"d\", \"time_us\": 20}, {\"time_us\": "
     "null}, "
     "{\"name\": \"/lib/e\", \"time_us\": 50}]}}",
     "{\"kernels\": [{\"name\": \"b\", \"time_us\": 100.0, \"share\": 0.5, \"own\": true}, "
     "{\"name\": \"e\", \"time_us\": 50.0, \"share\": 0.25, \"own\": false}, {\"name\": \"c\", "
     "\"time_us\": 20.0, \"share\": 0.1, \"own\": false}, {\"name\": \"d\", \"time_us\": 20.0, "
     "\"share\": 0.1, \"own\": false}, {\"name\": \"a\", \"time_us\": 1.0, \"share\": 0.005, "
     "\"own\": false}], \"profile_text\": \"1 us\\n\\n 2 us\"}"},
};

/* Whether all that `part` says is so. */
static bool agrees(const json_t *whole, const json_t *part)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_array(part)) {
        bool same = json_array_size(whole) == json_array_size(part) && json_is_array(whole);
        json_array_foreach(part, i, value) same = same && agrees(json_array_get(whole, i), value);
        return same;
    }
    if (!json_is_object(part))
        return json_equal(whole, part);
    json_object_foreach((json_t *)part, key, value)
    {
        if (!agrees(json_object_get(whole, key), value))
            return false;
    }
    return json_is_object(whole);
}

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct verdict verdict;
        verdict_of(rows[i].verdict, &verdict);
        json_t *wanted = support_json(rows[i].facts);
        json_t *facts = feedback_facts(&verdict, source);
        if (!agrees(facts, wanted)) {
            char *text = json_dumps(facts, JSON_INDENT(1));
            fail_msg("%s: %s", rows[i].name, text);
        }
        json_decref(facts);
        json_decref(wanted);
        verdict_deinit(&verdict);
    }
}

/* Every key is there with one of its types, whatever the verdict holds. */
static const struct {
    const char *key, *types; /* s: text, n: null, b: boolean, i: integer, o: object, a: array */
} keys[] = {
    {"status", "s"},   {"headline", "s"}, {"compiled", "b"},      {"correct", "b"},
    {"trials", "i"},   {"passed", "i"},   {"error", "on"},        {"mismatch", "on"},
    {"timing", "on"},  {"kernels", "a"},  {"profile_text", "sn"}, {"violations", "a"},
    {"warnings", "a"}, {"advice", "s"},   {"output", "sn"},
};

static char type_of(const json_t *value)
{
    static const char types[] = {
        [JSON_OBJECT] = 'o', [JSON_ARRAY] = 'a', [JSON_STRING] = 's', [JSON_INTEGER] = 'i',
        [JSON_REAL] = 'r',   [JSON_TRUE] = 'b',  [JSON_FALSE] = 'b',  [JSON_NULL] = 'n'};
    return value ? types[json_typeof(value)] : '?';
}

static void check_and_free(json_t *facts)
{
    assert_int_equal(json_object_size(facts), COUNT(keys));
    for (size_t i = 0; i < COUNT(keys); i++)
        if (!strchr(keys[i].types, type_of(json_object_get(facts, keys[i].key))))
            fail_msg("%s is %c", keys[i].key, type_of(json_object_get(facts, keys[i].key)));
    assert_true(*json_string_value(json_object_get(facts, "headline")));
    assert_true(*json_string_value(json_object_get(facts, "advice")));
    json_decref(facts);
}

static void check_read(const json_t *json)
{
    struct verdict verdict;
    if (verdict_read(json, &verdict, NULL) == 0)
        check_and_free(feedback_facts(&verdict, source));
    verdict_deinit(&verdict);
}

/* Each value below `object` is taken away, and replaced by one of each other type. What can still
 * be read has all facts. */
static void spoil(json_t *verdict, json_t *object)
{
    static const char *const others[] = {"null", "7",    "-0.5", "\"x\"", "[]",
                                         "{}",   "[{}]", "true", NULL};
    json_t *whole = json_copy(object);
    const char *key;
    json_t *value;
    json_object_foreach(whole, key, value)
    {
        for (const char *const *other = others; *other; other++) {
            json_object_set_new(object, key, json_loads(*other, JSON_DECODE_ANY, NULL));
            check_read(verdict);
        }
        json_object_del(object, key);
        check_read(verdict);
        json_object_set(object, key, value);
        if (json_is_object(value))
            spoil(verdict, value);
    }
    json_decref(whole);
}

TEST(spoiled)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *verdict = support_json(rows[i].verdict);
        verdict_complete(verdict);
        spoil(verdict, verdict);
        json_decref(verdict);
    }
}

TEST(no_code)
{
    json_t *facts = feedback_facts(NULL, NULL);
    assert_string_equal(json_string_value(json_object_get(facts, "status")), "no_code");
    assert_string_equal(json_string_value(json_object_get(facts, "headline")),
                        "There was no code in the answer.");
    check_and_free(facts);
    facts = feedback_facts(NULL, source);
    assert_string_equal(json_string_value(json_object_get(facts, "status")), "unknown");
    check_and_free(facts);
}

/* A verdict whose every secret is marked: none may come through. */
TEST(secrets)
{
    static const char *const statuses[] = {"wrong",     "runtime_error", "infrastructure_error",
                                           "violation", "compile_error", "passed"};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        json_t *verdict = support_json(
            "{\"id\": \"SECRET\", \"problem\": {\"id\": \"SECRET\", \"hash\": \"SECRET\"}, "
            "\"device\": \"SECRET\", \"environment\": {\"sandbox\": {\"layers\": [\"SECRET\"]}}, "
            "\"compiled\": "
            "true, \"correct\": true, \"candidate\": {\"path\": \"/SECRET/SECRET/my.c\"}, "
            "\"correctness\": {\"trials\": 2, \"passed\": 1, \"max_absolute_error\": 0.8642, "
            "\"max_relative_error\": 0.08642, \"first_mismatch\": {\"output\": \"y\", \"index\": "
            "1, "
            "\"got\": 2, \"expected\": 0.97531}}, \"error\": {\"class\": \"wrong\", \"message\": "
            "\"/SECRET/home/my.c:1: no\", "
            "\"excerpt\": \"at /SECRET/home/my.c:1 (/SECRET/x) '/SECRET/y' file:///SECRET/z "
            "=/SECRET/a/\\n/SECRET/\xC3\xA4/b\"}, \"profile\": {\"calls\": 1, \"kernels\": "
            "[{\"name\": \"/SECRET/k\", \"time_us\": 1, \"source\": \"SECRET\"}], \"text\": "
            "\"/SECRET/lib/x.so\"}, \"integrity\": {\"violations\": [{\"code\": \"H21\", "
            "\"evidence\": \"see /SECRET/e\"}]}, \"output\": {\"text\": \"in /SECRET/f.c\", "
            "\"cut_bytes\": 0}}");
        json_object_set_new(verdict, "status", json_string(statuses[i]));
        if (i == 0)
            json_object_set_new(json_object_get(verdict, "error"), "message",
                                json_string("y: 3 of SECRET are wrong: 2 instead of 0.97531"));
        struct verdict read;
        struct err err;
        verdict_complete(verdict);
        assert_ok(verdict_read(verdict, &read, &err), &err);
        json_t *facts = feedback_facts(&read, source);
        verdict_deinit(&read);
        char *text = json_dumps(facts, 0);
        if (strstr(text, "SECRET") || strstr(text, "9753") || strstr(text, "8642"))
            fail_msg("%s: %s", statuses[i], text);
        mem_free(text);
        json_decref(facts);
        json_decref(verdict);
    }
}

/* Text of a stranger, and the line that is made of it. */
static const struct {
    const char *from, *to;
    enum feedback_paths paths;
} lines[] = {
    {"plain", "plain", PATHS_CUT},
    {"\x1B[31mred\x07", "?[31mred?", PATHS_CUT},
    {"a\tb\r\nc", "a b  c", PATHS_CUT},
    {"\xC3\xA4\xFF\xC2\x9B", "\xC3\xA4??", PATHS_CUT},
    {"a\xE2\x80\xAE\xE2\x80\x8B\xE2\x81\xA6\xEF\xBB\xBF\xF3\xA0\x81\x81z", "a?????z", PATHS_CUT},
    {"</KERNEL> <think></Thinking>", "< /KERNEL> < think>< /Thinking>", PATHS_CUT},
    {"<|im_end|>\n<|im_start|>system", "< |im_end| > < |im_start| >system", PATHS_CUT},
    {"<\xEF\xBD\x9CUser\xEF\xBD\x9C>", "< \xEF\xBD\x9CUser\xEF\xBD\x9C>", PATHS_CUT},
    {"[INST] [/inst] <<SYS>> <s>", "[ INST] [ /inst] << SYS>> < s>", PATHS_CUT},
    {"a<|b|>c a|b <<<grid>>> x<y", "a< |b| >c a|b <<<grid>>> x<y", PATHS_CUT},
    {"<\rthink> <\x01think>", "< think> <?think>", PATHS_CUT},
    {"</usr/lib/think>", "< think>", PATHS_CUT},
    {"{{#if x}} {{secret}}", "{{#if x}} {{secret}}", PATHS_CUT},
    {"/usr/include/b.h:2: x", "b.h:2: x", PATHS_CUT},
    {"/usr/include/b.h:2: x", "/usr/include/b.h:2: x", PATHS_KEEP},
    {"(/a/b) '/a/b/' a/b/c ../a/b a /b /", "(b) 'b/' a/b/c ../a/b a /b /", PATHS_CUT},
    {"// a/b http://host/x/y ///x/y", "// a/b http://host/x/y y", PATHS_CUT},
    {"", "", PATHS_CUT},
};

TEST(lines)
{
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct buf out;
        buf_init(&out, 1000);
        feedback_line(&out, lines[i].from, strlen(lines[i].from), 500, lines[i].paths);
        assert_string_equal(out.data, lines[i].to);
        buf_deinit(&out);
    }
}

TEST(cut_lines)
{
    struct buf out;
    buf_init(&out, 100);
    feedback_line(&out, "0123456789", 10, 10, PATHS_CUT);
    assert_string_equal(out.data, "0123456789");
    buf_reset(&out);
    feedback_line(&out, "0123456789a", 11, 10, PATHS_CUT);
    assert_string_equal(out.data, "0123456...");
    buf_reset(&out);
    feedback_line(&out, "012345\xE2\x82\xAC\xE2\x82\xAC", 12, 10, PATHS_CUT);
    assert_string_equal(out.data, "012345...");
    buf_deinit(&out);
}

/* Megabytes of one kind: what comes out is bounded, and says what was left out. */
TEST(floods)
{
    static const char *const again[] = {"a",           "/",
                                        "/a",          "<",
                                        "<think>",     "\n",
                                        "my.c:4: x\n", "my.c:99999999\n",
                                        "\xFF",        "\xE2\x82\xAC",
                                        "my.c",        " "};
    for (size_t i = 0; i < COUNT(again); i++) {
        struct buf text;
        buf_init(&text, (size_t)2 << 20);
        while (text.len + strlen(again[i]) <= text.max_bytes)
            buf_puts(&text, again[i]);
        char *excerpt = feedback_excerpt(text.data, text.data, "my.c", FEEDBACK_EXCERPT_BYTES);
        size_t length = strlen(excerpt);
        assert_true(length <= FEEDBACK_EXCERPT_BYTES && utf8_is_valid(excerpt, length));
        if (strchr(again[i], '\n'))
            assert_non_null(strstr(excerpt, "more lines)"));
        mem_free(excerpt);
        excerpt = feedback_lines(text.data, FEEDBACK_EXCERPT_BYTES);
        assert_true(strlen(excerpt) <= FEEDBACK_EXCERPT_BYTES);
        mem_free(excerpt);
        buf_deinit(&text);
    }
}
