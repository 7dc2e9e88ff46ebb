/* Evaluations of problems with every kind of argument: each with a right answer and wrong ones. */
#include "judge/judge.h"

#include "../support/judging.h"
#include "../support/test.h"
#include "base/mem.h"

FIXTURE(open_all)
{
    judging_begin(NULL);
    return 0;
}

TEST_GROUP(open_all, judging_end);

/* Judges `text`; a message that begins with "passed", or with the status and has `says` in it. */
static void expect(const struct problem *problem, const char *text, enum verdict_status status,
                   const char *says)
{
    struct verdict verdict;
    struct candidate candidate = judging_candidate("candidate.c", text);
    session_evaluate(judging.session, problem, &candidate, NULL, &verdict);
    if (verdict.status != status ||
        (says && !strstr(verdict.error_message ? verdict.error_message : "", says)))
        fail_msg("%s: %s\n%s", problem->id, judging_summary(&verdict), text);
    verdict_deinit(&verdict);
}

#define INCLUDES "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n"

/* y += alpha x: an inout argument and a scalar. */
TEST(inout)
{
    struct problem problem;
#define AXPY(body)                                                                                 \
    INCLUDES "void solution(const float *x, float *y, float alpha, size_t n)\n{\n" body "\n}\n"
    judging_problem(&problem, judging.place, "axpy",
                    "signature: void solution(const float *x, float *y, float alpha, size_t n)\n"
                    "arguments:\n"
                    "  x: {role: in, type: f32, shape: [n], fill: normal}\n"
                    "  y: {role: inout, type: f32, shape: [n], fill: normal}\n"
                    "  alpha: {role: scalar, type: f32, fill: \"uniform(0.5, 2)\"}\n"
                    "  n: {role: size}\n"
                    "tolerance: {relative: 1.0e-5}\n"
                    "check: [{n: 1}, {n: 777}]\ntime: [{n: 1}]\n",
                    AXPY("for (size_t i = 0; i < n; i++) y[i] += alpha * x[i];"));
    expect(&problem, AXPY("for (size_t i = n; i-- > 0;) y[i] = fmaf(alpha, x[i], y[i]);"),
           STATUS_PASSED, NULL);
    expect(&problem, AXPY(""), STATUS_WRONG, "y:"); /* left as it was */
    expect(&problem, AXPY("for (size_t i = 0; i < n; i++) y[i] = alpha * x[i];"), STATUS_WRONG,
           "y:");
    expect(&problem, AXPY("for (size_t i = 0; i < n; i++) y[i] += x[i];"), STATUS_WRONG, "y:");
    expect(&problem,
           AXPY("static int twice; twice++;\nfor (size_t i = 0; i < n; i++) y[i] += alpha * x[i] "
                "* (twice > 1 ? 2 : 1);"),
           STATUS_WRONG, "y:");
    problem_deinit(&problem);
}

/* Two outputs of two types, each with a tolerance of its own. */
TEST(outputs)
{
    struct problem problem;
#define PAIR(body)                                                                                 \
    INCLUDES "void solution(const float *x, float *root, int32_t *sign, size_t n)\n"               \
             "{\n    for (size_t i = 0; i < n; i++) {\n" body "\n    }\n}\n"
    judging_problem(&problem, judging.place, "pair",
                    "signature: void solution(const float *x, float *root, int32_t *sign, "
                    "size_t n)\n"
                    "arguments:\n"
                    "  x: {role: in, type: f32, shape: [n], fill: normal}\n"
                    "  root: {role: out, type: f32, shape: [n], tolerance: {relative: 1.0e-4}}\n"
                    "  sign: {role: out, type: i32, shape: [n]}\n"
                    "  n: {role: size}\n"
                    "check: [{n: 1}, {n: 501}]\ntime: [{n: 1}]\n",
                    PAIR("root[i] = sqrtf(fabsf(x[i])); sign[i] = x[i] < 0 ? -1 : 1;"));
    expect(&problem, PAIR("root[i] = (float)sqrt(fabs(x[i])); sign[i] = x[i] < 0 ? -1 : 1;"),
           STATUS_PASSED, NULL);
    expect(&problem, PAIR("root[i] = sqrtf(fabsf(x[i])) * 1.00005f; sign[i] = x[i] < 0 ? -1 : 1;"),
           STATUS_PASSED, NULL);
    expect(&problem, PAIR("root[i] = sqrtf(fabsf(x[i])) * 1.01f; sign[i] = x[i] < 0 ? -1 : 1;"),
           STATUS_WRONG, "root:");
    expect(&problem,
           PAIR("root[i] = sqrtf(fabsf(x[i])); sign[i] = i == 500 ? 2 : x[i] < 0 ? -1 : 1;"),
           STATUS_WRONG, "sign: 1 of 501");
    expect(&problem, PAIR("root[i] = sqrtf(fabsf(x[i]));"), STATUS_WRONG, "sign:");
    problem_deinit(&problem);
}

/* A scalar of each type by value, between others, so that registers and stack are used up. */
static const struct {
    const char *type, *c_type, *fill;
} scalars[] = {
    {"f16", "_Float16", "uniform(-2, 2)"},
    {"f32", "float", "normal"},
    {"f64", "double", "normal"},
    {"i8", "int8_t", "integer(-128, 128)"},
    {"u8", "uint8_t", "integer(0, 256)"},
    {"i16", "int16_t", "integer(-32768, 32768)"},
    {"i32", "int32_t", "integer(-2000000000, 2000000000)"},
    {"i64", "int64_t", "integer(-9000000000000, 9000000000000)"},
    {"u32", "uint32_t", "integer(0, 4294967296)"},
    {"u64", "uint64_t", "integer(0, 9000000000000)"},
    {"bool", "_Bool", "integer(0, 2)"},
};

TEST(scalars)
{
    for (size_t i = 0; i < COUNT(scalars); i++) {
        struct problem problem;
        const char *c_type = scalars[i].c_type;
        char *name = mem_printf("scalar_%s", scalars[i].type);
        char *signature = mem_printf(
            "void solution(%s a, const double *x, double *y, size_t n, %s b)", c_type, c_type);
        char *yaml = mem_printf("signature: %s\narguments:\n"
                                "  a: {role: scalar, type: %s, fill: \"%s\"}\n"
                                "  x: {role: in, type: f64, shape: [n], fill: normal}\n"
                                "  y: {role: out, type: f64, shape: [n]}\n"
                                "  n: {role: size}\n"
                                "  b: {role: scalar, type: %s, fill: \"%s\"}\n"
                                "tolerance: {relative: 1.0e-12}\n"
                                "check: [{n: 2}, {n: 3}, {n: 4}]\ntime: [{n: 2}]\n",
                                signature, scalars[i].type, scalars[i].fill, scalars[i].type,
                                scalars[i].fill);
        char *right = mem_printf(INCLUDES
                                 "%s\n{\n    y[0] = x[0] + (double)a;\n"
                                 "    for (size_t i = 1; i < n; i++) y[i] = x[i] * (double)b;\n}\n",
                                 signature);
        char *swapped =
            mem_printf(INCLUDES "%s\n{\n    y[0] = x[0] + (double)b + 1;\n"
                                "    for (size_t i = 1; i < n; i++) y[i] = x[i] * (double)a;\n}\n",
                       signature);
        judging_problem(&problem, judging.place, name, yaml, right);
        expect(&problem, right, STATUS_PASSED, NULL);
        expect(&problem, swapped, STATUS_WRONG, "y:");
        problem_deinit(&problem);
        mem_free(name);
        mem_free(signature);
        mem_free(yaml);
        mem_free(right);
        mem_free(swapped);
    }
}

/* The judge's own values, not what the child makes of them: the answer is known in advance. */
TEST(scalar_values)
{
    static const struct {
        const char *type, *c_type, *value;
    } rows[] = {
        {"f16", "_Float16", "-1.5"},
        {"f32", "float", "0.1"},
        {"f64", "double", "0.1"},
        {"i8", "int8_t", "-128"},
        {"u8", "uint8_t", "255"},
        {"i16", "int16_t", "-32768"},
        {"i32", "int32_t", "-2147483648"},
        {"i64", "int64_t", "-4503599627370497"},
        {"u32", "uint32_t", "4294967295"},
        {"u64", "uint64_t", "9007199254740991"},
        {"bool", "_Bool", "1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem;
        char *name = mem_printf("value_%s", rows[i].type);
        char *head = mem_printf("void solution(%s a, double *y)", rows[i].c_type);
        char *yaml = mem_printf("signature: %s\narguments:\n"
                                "  a: {role: scalar, type: %s, fill: \"constant(%s)\"}\n"
                                "  y: {role: out, type: f64, shape: [1]}\n"
                                "tolerance: {exact: true}\ncheck: [{}]\ntime: [{}]\n",
                                head, rows[i].type, rows[i].value);
        char *pass_on = mem_printf(INCLUDES "%s { y[0] = (double)a; }\n", head);
        char *constant = mem_printf(INCLUDES "%s { (void)a; y[0] = (double)(%s)%s; }\n", head,
                                    rows[i].c_type, rows[i].value);
        judging_problem(&problem, judging.place, name, yaml, constant);
        expect(&problem, pass_on, STATUS_PASSED, NULL);
        problem_deinit(&problem);
        mem_free(name);
        mem_free(head);
        mem_free(yaml);
        mem_free(pass_on);
        mem_free(constant);
    }
}

/* More arguments than there are registers. */
TEST(many_arguments)
{
    struct problem problem;
    judging_problem(
        &problem, judging.place, "many",
        "signature: void solution(double *y, float a, int8_t b, double c, const int16_t *unused, "
        "int64_t d, float e, float f, float g, uint8_t h, float i, float j, float k, int16_t l, "
        "float m, size_t n)\narguments:\n"
        "  y: {role: out, type: f64, shape: [n]}\n"
        "  a: {role: scalar, type: f32, fill: normal}\n"
        "  b: {role: scalar, type: i8, fill: \"integer(-9, 9)\"}\n"
        "  c: {role: scalar, type: f64, fill: normal}\n"
        "  unused: {role: in, type: i16, shape: [n], fill: \"integer(-9, 9)\"}\n"
        "  d: {role: scalar, type: i64, fill: \"integer(-9, 9)\"}\n"
        "  e: {role: scalar, type: f32, fill: normal}\n"
        "  f: {role: scalar, type: f32, fill: normal}\n"
        "  g: {role: scalar, type: f32, fill: normal}\n"
        "  h: {role: scalar, type: u8, fill: \"integer(0, 9)\"}\n"
        "  i: {role: scalar, type: f32, fill: normal}\n"
        "  j: {role: scalar, type: f32, fill: normal}\n"
        "  k: {role: scalar, type: f32, fill: normal}\n"
        "  l: {role: scalar, type: i16, fill: \"integer(-9, 9)\"}\n"
        "  m: {role: scalar, type: f32, fill: normal}\n"
        "  n: {role: size}\n"
        "tolerance: {relative: 1.0e-9}\ncheck: [{n: 3}, {n: 5}]\ntime: [{n: 1}]\n",
        INCLUDES "void solution(double *y, float a, int8_t b, double c, const int16_t *unused, "
                 "int64_t d, float e, float f, float g, uint8_t h, float i, float j, float k, "
                 "int16_t l, float m, size_t n)\n{\n    double all[] = {a, b, c, d, e, f, g, h, i,"
                 " j, k, l, m};\n    for (size_t at = 0; at < n; at++) {\n        y[at] = "
                 "unused[at];\n        for (int of = 0; of < 13; of++)\n            y[at] += "
                 "all[of] * (of + 1);\n    }\n}\n");
    expect(&problem, problem.reference_text, STATUS_PASSED, NULL);
    problem_deinit(&problem);
}

/* Integers are compared byte by byte, beyond what a double can hold. */
TEST(exact)
{
    struct problem problem;
#define WIDE(body)                                                                                 \
    INCLUDES "void solution(const int64_t *x, int64_t *y, size_t n)\n{\n"                          \
             "    for (size_t i = 0; i < n; i++)\n        y[i] = " body ";\n}\n"
    judging_problem(&problem, judging.place, "wide",
                    "signature: void solution(const int64_t *x, int64_t *y, size_t n)\n"
                    "arguments:\n"
                    "  x: {role: in, type: i64, shape: [n], fill: \"integer(1, 1000)\"}\n"
                    "  y: {role: out, type: i64, shape: [n]}\n"
                    "  n: {role: size}\n"
                    "check: [{n: 1}, {n: 64}]\ntime: [{n: 1}]\n",
                    WIDE("x[i] * 9007199254740993"));
    expect(&problem, WIDE("9007199254740993 * x[i]"), STATUS_PASSED, NULL);
    expect(&problem, WIDE("x[i] * 9007199254740993 + (i == 63)"), STATUS_WRONG, "1 of 64");
    problem_deinit(&problem);
}

/* Half precision: held against the reference at double precision, or against itself. */
TEST(half)
{
#define HALF(body)                                                                                 \
    INCLUDES "void solution(const _Float16 *x, _Float16 *y, size_t rows, size_t cols)\n{\n"        \
             "    for (size_t r = 0; r < rows; r++) {\n        " body                              \
             "\n        y[r] = (_Float16)sum;\n    }\n}\n"
#define SUM(type)                                                                                  \
    type " sum = 0; for (size_t c = 0; c < cols; c++) sum += (" type ")x[r * cols + c];"
    for (int oracle = 0; oracle < 2; oracle++) {
        struct problem problem;
        char *yaml = mem_printf(
            "signature: void solution(const _Float16 *x, _Float16 *y, size_t rows, size_t cols)\n"
            "arguments:\n"
            "  x: {role: in, type: f16, shape: [rows, cols], fill: \"uniform(0, 1)\"}\n"
            "  y: {role: out, type: f16, shape: [rows]}\n"
            "  rows: {role: size}\n  cols: {role: size}\n"
            "tolerance: {relative: 1.0e-3}\noracle: %s\n"
            "check: [{rows: 3, cols: 1}, {rows: 9, cols: 1500}]\ntime: [{rows: 1, cols: 1}]\n",
            oracle ? "true" : "false");
        judging_problem(&problem, judging.place, oracle ? "half_oracle" : "half_plain", yaml,
                        HALF(SUM("float")));
        assert_int_equal(problem.oracle, oracle);
        expect(&problem, HALF(SUM("double")), STATUS_PASSED, NULL);
        expect(&problem,
               HALF("_Float16 sum = 0; for (size_t c = 0; c < cols; c++) sum += x[r * "
                    "cols + c];"),
               STATUS_WRONG, "y:");
        problem_deinit(&problem);
        mem_free(yaml);
    }
}

/* A reference that is off at its own precision: with an oracle the true answer passes as well as
 * its own, and without one its own is the measure. What one forgives the other does not. */
TEST(oracle)
{
#define TOTAL(body) INCLUDES "void solution(const float *x, float *y, size_t n)\n{\n" body "\n}\n"
#define SUM_TIMES(factor)                                                                          \
    TOTAL("float sum = 0;\nfor (size_t i = 0; i < n; i++) sum += x[i];\n"                          \
          "y[0] = sum * (float)(sizeof(float) == 4 ? " factor " : 1);")
    static const char *const references[] = {SUM_TIMES("1.001"), SUM_TIMES("1.01")};
    static const char fine[] = TOTAL(
        "double sum = 0;\nfor (size_t i = 0; i < n; i++) sum += x[i];\ny[0] = (float)sum;");
    for (int oracle = 1; oracle >= 0; oracle--) {
        struct problem problem;
        struct verdict verdict;
        char *yaml = mem_printf("signature: void solution(const float *x, float *y, size_t n)\n"
                                "arguments:\n"
                                "  x: {role: in, type: f32, shape: [n], fill: \"uniform(0, 1)\"}\n"
                                "  y: {role: out, type: f32, shape: [1]}\n"
                                "  n: {role: size}\n"
                                "tolerance: {relative: 1.0e-5}\noracle: %s\n"
                                "check: [{n: 3000}]\ntime: [{n: 1}]\n",
                                oracle ? "true" : "false");
        judging_problem(&problem, judging.place, oracle ? "total_oracle" : "total_plain", yaml,
                        references[oracle]);
        struct candidate candidate = judging_candidate("fine.c", fine);
        session_evaluate(judging.session, &problem, &candidate, NULL, &verdict);
        if (verdict.status != (oracle ? STATUS_PASSED : STATUS_WRONG))
            fail_msg("%s: %s", problem.id, judging_summary(&verdict));
        if (oracle)
            assert_true(verdict.max_relative < 1e-5); /* held against the oracle itself */
        verdict_deinit(&verdict);
        expect(&problem, references[oracle], STATUS_PASSED, NULL);
        expect(&problem, TOTAL("(void)x; (void)n; y[0] = 0;"), STATUS_WRONG, "y:");
        problem_deinit(&problem);
        mem_free(yaml);
    }
}

/* Sizes that only the judge knows: an answer that is right for the check rows alone. */
TEST(drawn_sizes)
{
    struct problem problem;
    judging_problem(&problem, judging.place, "drawn",
                    "signature: void solution(const float *x, float *y, size_t n)\n"
                    "arguments:\n"
                    "  x: {role: in, type: f32, shape: [n], fill: normal}\n"
                    "  y: {role: out, type: f32, shape: [n]}\n"
                    "  n: {role: size}\n"
                    "tolerance: {relative: 1.0e-6}\n"
                    "check: [{n: 16}, {n: 64}]\ndraw: {n: [100, 200]}\ntime: [{n: 64}]\n",
                    TOTAL("for (size_t i = 0; i < n; i++) y[i] = -x[i];"));
    expect(&problem, TOTAL("for (size_t i = 0; i < n; i++) y[i] = 0 - x[i];"), STATUS_PASSED, NULL);
    expect(&problem, TOTAL("for (size_t i = 0; i < (n > 64 ? 64 : n); i++) y[i] = -x[i];"),
           STATUS_WRONG, "[64]");
    problem_deinit(&problem);
}

/* Not a number where the reference says so, and nowhere else. */
TEST(not_finite)
{
    struct problem problem;
    judging_problem(&problem, judging.place, "suites",
                    "signature: void solution(const float *x, float *y, size_t n)\n"
                    "arguments:\n"
                    "  x: {role: in, type: f32, shape: [n], fill: normal}\n"
                    "  y: {role: out, type: f32, shape: [n]}\n"
                    "  n: {role: size}\n"
                    "tolerance: {relative: 1.0e-5}\ncheck: [{n: 400}]\ntime: [{n: 4}]\n",
                    TOTAL("for (size_t i = 0; i < n; i++) y[i] = sqrtf(x[i]);"));
    expect(&problem, TOTAL("for (size_t i = 0; i < n; i++) y[i] = x[i] < 0 ? NAN : sqrtf(x[i]);"),
           STATUS_PASSED, NULL);
    expect(&problem, TOTAL("for (size_t i = 0; i < n; i++) y[i] = NAN;"), STATUS_WRONG, "y:");
    expect(&problem, TOTAL("for (size_t i = 0; i < n; i++) y[i] = sqrtf(fabsf(x[i]));"),
           STATUS_WRONG, "y:");
    problem_deinit(&problem);
}
