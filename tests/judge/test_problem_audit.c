/* Problems that are worth something, and problems that are answered without doing the work. */
#include "judge/problem_audit.h"

#include "../support/judging.h"
#include "../support/test.h"

#include <math.h>
#include <stdio.h>

FIXTURE(open_all)
{
    judging_begin(NULL);
    return 0;
}

TEST_GROUP(open_all, judging_end);

#define INCLUDES "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n"
#define MAP(body)                                                                                  \
    INCLUDES "void solution(const float *x, float *y, size_t n)\n{\n"                              \
             "    for (size_t i = 0; i < n; i++)\n        y[i] = " body ";\n}\n"
#define MAP_YAML(fill, tolerance)                                                                  \
    "signature: void solution(const float *x, float *y, size_t n)\narguments:\n"                   \
    "  x: {role: in, type: f32, shape: [n], fill: \"" fill "\"}\n"                                 \
    "  y: {role: out, type: f32, shape: [n]}\n"                                                    \
    "  n: {role: size}\n"                                                                          \
    "tolerance: {relative: " tolerance "}\ncheck: [{n: 50}, {n: 3000}]\ntime: [{n: 4096}]\n"
#define MEAN                                                                                       \
    INCLUDES "void solution(const float *x, float *y, size_t rows, size_t cols)\n{\n"              \
             "    for (size_t r = 0; r < rows; r++) {\n        float sum = 0;\n"                   \
             "        for (size_t c = 0; c < cols; c++)\n            sum += x[r * cols + c];\n"    \
             "        y[r] = sum / (float)cols;\n    }\n}\n"
#define MEAN_YAML(fill, tolerance)                                                                 \
    "signature: void solution(const float *x, float *y, size_t rows, size_t cols)\narguments:\n"   \
    "  x: {role: in, type: f32, shape: [rows, cols], fill: \"" fill "\"}\n"                        \
    "  y: {role: out, type: f32, shape: [rows]}\n"                                                 \
    "  rows: {role: size}\n  cols: {role: size}\n"                                                 \
    "tolerance: {relative: " tolerance "}\n"                                                       \
    "check: [{rows: 4, cols: 5000}, {rows: 20, cols: 9000}]\ntime: [{rows: 8, cols: 8000}]\n"
#define TWO_YAML                                                                                   \
    "signature: void solution(const float *x, const float *z, float *y, size_t n)\narguments:\n"   \
    "  x: {role: in, type: f32, shape: [n], fill: normal}\n"                                       \
    "  z: {role: in, type: f32, shape: [n], fill: normal}\n"                                       \
    "  y: {role: out, type: f32, shape: [n]}\n"                                                    \
    "  n: {role: size}\n"                                                                          \
    "tolerance: {relative: 1.0e-5}\ncheck: [{n: 50}, {n: 500}]\ntime: [{n: 1000}]\n"
#define TWO(body)                                                                                  \
    INCLUDES "void solution(const float *x, const float *z, float *y, size_t n)\n{\n"              \
             "    for (size_t i = 0; i < n; i++)\n        y[i] = " body ";\n}\n"

static const struct {
    const char *name, *yaml, *reference;
    const char *attempt; /* how the name of one that gets through begins; NULL: none does */
    const char *code;
} rows[] = {
    {"sound_map", MAP_YAML("normal", "1.0e-5"), MAP("x[i] * x[i] + 0.5f"), NULL, NULL},
    {"sound_mean", MEAN_YAML("normal", "1.0e-5"), MEAN, NULL, NULL},
    {"sound_two", TWO_YAML, TWO("x[i] * z[i] - 1"), NULL, NULL},
    {"uniform_mean", MEAN_YAML("uniform(0, 1)", "5.0e-2"), MEAN, "a constant", "H10"},
    {"constant_answer", MAP_YAML("normal", "1.0e-5"), MAP("3 + 0 * x[i]"), "a constant", "H10"},
    {"zero_answer", MAP_YAML("normal", "1.0e-5"), MAP("0 * x[i]"), "zeros", "H07"},
    {"copied_input", MAP_YAML("normal", "1.0e-5"), MAP("x[i] * 1.0f"), "output 0 a copy of `x`",
     "H07"},
    {"nearly_a_copy", MAP_YAML("uniform(1, 2)", "1.0e-2"), MAP("x[i] * 1.001f"),
     "output 0 a copy of `x`", "H07"},
    {"loose", MAP_YAML("normal", "1.0e-1"), MAP("x[i] * x[i] + 0.5f"), "lower precision", "H13"},
    {"ignored", TWO_YAML, TWO("x[i] * x[i] + 0 * z[i]"), "ignoring `z`", "H14"},
    {"half_ignored", TWO_YAML, TWO("x[i] * x[i] + 1 + z[i] * 1e-8f"), "ignoring `z`", "H14"},
    {"sound_scalar",
     "signature: void solution(const float *x, float *y, size_t n)\narguments:\n"
     "  x: {role: in, type: f32, shape: [n], fill: normal}\n"
     "  y: {role: out, type: f32, shape: [1]}\n  n: {role: size}\n"
     "tolerance: {relative: 1.0e-4}\ncheck: [{n: 50}, {n: 3000}]\ntime: [{n: 4096}]\n",
     INCLUDES "void solution(const float *x, float *y, size_t n)\n{\n    double sum = 0;\n"
              "    for (size_t i = 0; i < n; i++)\n        sum += x[i] * x[i];\n"
              "    y[0] = sum / n;\n}\n",
     NULL, NULL},
    {"known_scalar",
     "signature: void solution(const float *x, float *y, size_t n)\narguments:\n"
     "  x: {role: in, type: f32, shape: [n], fill: \"uniform(0.9, 1.1)\"}\n"
     "  y: {role: out, type: f32, shape: [1]}\n  n: {role: size}\n"
     "tolerance: {relative: 1.0e-1}\ncheck: [{n: 50}, {n: 3000}]\ntime: [{n: 4096}]\n",
     INCLUDES "void solution(const float *x, float *y, size_t n)\n{\n    double sum = 0;\n"
              "    for (size_t i = 0; i < n; i++)\n        sum += x[i];\n    y[0] = sum / n;\n}\n",
     "a constant", "H10"},
    {"constant_per_element", MAP_YAML("normal", "1.0e-5"), MAP("(float)(i % 7) + 1e-8f * x[i]"),
     "the answer to other inputs", "H04"},
    {"inputs_come_again", MAP_YAML("constant(3)", "1.0e-5"), MAP("x[i] * (float)(i % 5)"),
     "answers kept for inputs that come again", "H04"},
    {"one_element_decides",
     "signature: void solution(const float *x, float *y, size_t n)\narguments:\n"
     "  x: {role: in, type: f32, shape: [n], fill: normal}\n"
     "  y: {role: out, type: f32, shape: [n]}\n  n: {role: size}\n"
     "tolerance: {relative: 1.0e-3, scale: rms}\n"
     "check: [{n: 50}, {n: 3000}]\ntime: [{n: 4096}]\n",
     MAP("(x[i] * x[i] + 0.5f) * (i == 7 ? 1e8f : 1)"), "output 0 zero but for its largest", "H14"},
    {"last_rows_unused",
     "signature: void solution(const float *x, float *y, size_t n)\narguments:\n"
     "  x: {role: in, type: f32, shape: [2*n], fill: normal}\n"
     "  y: {role: out, type: f32, shape: [n]}\n"
     "  n: {role: size}\n"
     "tolerance: {relative: 1.0e-5}\ncheck: [{n: 50}, {n: 300}]\ntime: [{n: 100}]\n",
     MAP("x[i] * 2 + 1"), "without the last slice of `x` along axis 0", "H14"},
};

/* The first attempt that gets through everywhere and whose name begins so. */
static const struct attempt *find(const struct problem_audit *audit, const char *begin)
{
    for (size_t i = 0; i < audit->count; i++) {
        const struct attempt *attempt = &audit->attempts[i];
        if (attempt->trials > 0 && attempt->passed == attempt->trials &&
            strncmp(attempt->name, begin, strlen(begin)) == 0)
            return attempt;
    }
    return NULL;
}

TEST(problems)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem;
        struct problem_audit audit;
        struct err err = {0};
        judging_problem(&problem, judging.place, rows[i].name, rows[i].yaml, rows[i].reference);
        if (problem_audit_run(judging.judge, &problem, NULL, &audit, &err) < 0)
            fail_msg("%s: %s", rows[i].name, err.text);
        const struct attempt *attempt = find(&audit, rows[i].attempt ? rows[i].attempt : "");
        assert_true(audit.deterministic);
        bool worthless = rows[i].attempt && strcmp(rows[i].code, "H13") != 0;
        assert_int_equal(audit.trials, worthless ? 8 : 3); /* what passes is made on more draws */
        if (!rows[i].attempt && (attempt || problem_audit_gamed(&audit)))
            fail_msg("%s: gamed by %s", rows[i].name, attempt ? attempt->name : "no attempt");
        if (rows[i].attempt && (!attempt || !problem_audit_gamed(&audit)))
            fail_msg("%s: %s does not get through", rows[i].name, rows[i].attempt);
        if (attempt)
            assert_string_equal(attempt->code, rows[i].code);
        problem_audit_deinit(&audit);
        problem_deinit(&problem);
    }
}

/* Without the attempts that are settled, the outcome is the same. */
TEST(brief)
{
    static const struct problem_audit_terms terms = {.brief = true};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem;
        struct problem_audit audit;
        struct verdict verdict;
        struct err err = {0};
        judging_problem(&problem, judging.place, rows[i].name, rows[i].yaml, rows[i].reference);
        assert_ok(problem_audit_run(judging.judge, &problem, &terms, &audit, &err), &err);
        verdict_init(&verdict);
        problem_audit_verdict(&audit, &verdict);
        bool named = false;
        for (uint32_t k = 0; rows[i].attempt && k < verdict.audit.count; k++)
            named |= strncmp(verdict.audit.attempts[k].name, rows[i].attempt,
                             strlen(rows[i].attempt)) == 0;
        bool work = rows[i].attempt && strcmp(rows[i].code, "H13") != 0;
        if (problem_audit_gamed(&audit) != (rows[i].attempt != NULL) ||
            named != (rows[i].attempt != NULL) ||
            (verdict.audit.outcome == AUDIT_GAMEABLE) != work ||
            (verdict.audit.outcome == AUDIT_SOUND) != !work)
            fail_msg("%s: %s, %u attempts", rows[i].name, verdict_audit_name(verdict.audit.outcome),
                     verdict.audit.count);
        assert_true(audit.trials == 2 || rows[i].attempt);
        verdict_deinit(&verdict);
        problem_audit_deinit(&audit);
        problem_deinit(&problem);
    }
}

/* Every attempt is counted, named once, and has its code. */
TEST(attempts)
{
    struct problem problem;
    struct problem_audit audit;
    judging_problem(&problem, judging.place, "sound", TWO_YAML, TWO("x[i] * z[i] - 1"));
    assert_int_equal(problem_audit_run(judging.judge, &problem, NULL, &audit, NULL), 0);
    static const char *const names[] = {
        "the answer to other inputs",
        "zeros",
        "a constant (the answer's mean)",
        "output 0 a copy of `x`",
        "output 0 a copy of `z`",
        "output 0 zero but for its largest sixteenth",
        "lower precision (inputs rounded)",
        "without the last slice of `x` along axis 0",
        "without the last slice of `z` along axis 0",
        "ignoring `x`",
        "ignoring `z`",
    };
    assert_int_equal(audit.count, COUNT(names) + 1); /* and what all trials together show */
    for (size_t i = 0; i < COUNT(names); i++) {
        int found = 0;
        for (size_t k = 0; k < audit.count; k++) {
            const struct attempt *attempt = &audit.attempts[k];
            if (strcmp(attempt->name, names[i]) != 0)
                continue;
            found++;
            assert_int_equal(attempt->trials, 3);
            assert_true(attempt->passed < 3 && attempt->worst_error > 1);
            assert_true(attempt->code[0] == 'H' && strlen(attempt->code) == 3);
        }
        if (found != 1)
            fail_msg("%s: %d times", names[i], found);
    }
    assert_true(audit.own_error < 1); /* against its oracle, in tolerances */
    problem_audit_deinit(&audit);
    problem_deinit(&problem);
}

/* A reference that is itself less precise than it asks others to be. */
TEST(inaccurate)
{
    struct problem problem;
    struct problem_audit audit;
    judging_problem(&problem, judging.place, "coarse", MAP_YAML("uniform(1, 2)", "1.0e-6"),
                    MAP("(1e4f + x[i]) - 1e4f"));
    assert_int_equal(problem_audit_run(judging.judge, &problem, NULL, &audit, NULL), 0);
    assert_true(audit.own_error > 1);
    assert_true(problem_audit_gamed(&audit));
    problem_audit_deinit(&audit);
    problem_deinit(&problem);
}

#define NUMBER_YAML(tolerance)                                                                     \
    "signature: void solution(const float *x, const float *z, float *y, size_t n)\narguments:\n"   \
    "  x: {role: in, type: f32, shape: [n], fill: normal}\n"                                       \
    "  z: {role: in, type: f32, shape: [n], fill: normal}\n"                                       \
    "  y: {role: out, type: f32, shape: [1]}\n"                                                    \
    "  n: {role: size}\n"                                                                          \
    "tolerance: {relative: " tolerance "}\ncheck: [{n: 2000}, {n: 3000}]\ntime: [{n: 3000}]\n"
#define NUMBER(sum, value)                                                                         \
    INCLUDES "void solution(const float *x, const float *z, float *y, size_t n)\n{\n"              \
             "    float a = 0, b = 0;\n    for (size_t i = 0; i < n; i++)\n        " sum           \
             "\n    y[0] = " value " / (float)n;\n}\n"

/* One draw in nine gives a number so near zero that the reference errs by more than its tolerance.
 * That is the draw's doing, not the problem's. */
TEST(near_zero)
{
    static const struct {
        const char *name, *yaml, *reference;
    } sums[] = {
        {"mean", NUMBER_YAML("3.0e-6"), NUMBER("a += x[i] + z[i];", "a")},
        {"difference", NUMBER_YAML("1.5e-4"),
         NUMBER("a += x[i] * x[i], b += z[i] * z[i];", "(a - b)")},
    };
    static const struct problem_audit_terms terms = {.brief = true};
    for (size_t i = 0; i < COUNT(sums); i++) {
        struct problem problem;
        judging_problem(&problem, judging.place, sums[i].name, sums[i].yaml, sums[i].reference);
        for (int run = 0; run < 20; run++) {
            struct problem_audit audit;
            struct err err = {0};
            assert_ok(problem_audit_run(judging.judge, &problem, &terms, &audit, &err), &err);
            const struct attempt *attempt = find(&audit, "");
            if (attempt || problem_audit_gamed(&audit))
                fail_msg("%s: gamed by %s; own error %g", sums[i].name,
                         attempt ? attempt->name : "no attempt", audit.own_error);
            problem_audit_deinit(&audit);
        }
        problem_deinit(&problem);
    }
}

/* A reference that remembers. */
TEST(unsteady)
{
    struct problem problem;
    struct problem_audit audit;
    judging_problem(&problem, judging.place, "unsteady",
                    MAP_YAML("normal", "1.0e-5") "oracle: false\n",
                    "static float calls;\n#include <stddef.h>\n"
                    "void solution(const float *x, float *y, size_t n)\n{\n    calls += 1;\n"
                    "    for (size_t i = 0; i < n; i++) y[i] = x[i] + calls;\n}\n");
    assert_int_equal(problem_audit_run(judging.judge, &problem, NULL, &audit, NULL), 0);
    assert_false(audit.deterministic);
    assert_true(isnan(audit.own_error));
    assert_true(problem_audit_gamed(&audit));
    problem_audit_deinit(&audit);
    problem_deinit(&problem);
}

/* Inputs are as they were after every attempt, an inout argument included. */
TEST(inout)
{
    struct problem problem;
    struct problem_audit audit;
    struct err err = {0};
    judging_problem(&problem, judging.place, "inout",
                    "signature: void solution(float *y, float a, size_t n)\narguments:\n"
                    "  y: {role: inout, type: f32, shape: [n], fill: normal}\n"
                    "  a: {role: scalar, type: f32, fill: \"uniform(2, 3)\"}\n"
                    "  n: {role: size}\n"
                    "tolerance: {relative: 1.0e-5}\ncheck: [{n: 50}]\ntime: [{n: 100}]\n",
                    INCLUDES "void solution(float *y, float a, size_t n)\n{\n"
                             "    for (size_t i = 0; i < n; i++) y[i] = y[i] * a + 1;\n}\n");
    assert_ok(problem_audit_run(judging.judge, &problem, NULL, &audit, &err), &err);
    assert_true(audit.deterministic);
    const struct attempt *attempt = find(&audit, "");
    if (attempt || problem_audit_gamed(&audit))
        fail_msg("gamed by %s", attempt ? attempt->name : "no attempt");
    bool left = false;
    for (size_t i = 0; i < audit.count; i++)
        left = left || strcmp(audit.attempts[i].name, "output 0 a copy of `y`") == 0;
    assert_true(left); /* an inout left as it was */
    problem_audit_deinit(&audit);
    problem_deinit(&problem);
}

TEST(broken)
{
    static const char *const references[] = {
        INCLUDES "void solution(const float *x, float *y, size_t n) { *(volatile int *)8 = 0; }\n",
        INCLUDES "void solution(const float *x, float *y, size_t n) { y[0] = }\n",
        INCLUDES "int nothing;\n",
    };
    int before = -1;
    for (size_t i = 0; i < COUNT(references); i++) {
        struct problem problem;
        struct problem_audit audit;
        struct err err = {0};
        char name[32];
        snprintf(name, sizeof name, "broken_%zu", i);
        judging_problem(&problem, judging.place, name, MAP_YAML("normal", "1.0e-5"), references[i]);
        int result = problem_audit_run(judging.judge, &problem, NULL, &audit, &err);
        if (result != ERR_INPUT || !strstr(err.text, name))
            fail_msg("%s: %s: %s", name, err_name(result), err.text);
        problem_audit_deinit(&audit);
        problem_deinit(&problem);
        if (before < 0)
            before = judging_descriptors();
        assert_int_equal(judging_descriptors(), before);
    }
}
