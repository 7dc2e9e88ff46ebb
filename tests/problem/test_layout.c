#include "../support/test.h"
#include "problem/fill_check.h"
#include "problem/native.h"
#include "problem/problem.h"

#include <float.h>
#include <math.h>

static const char text[] =
    "name: mixed\nsummary: s\n"
    "signature: void solution(const float *x, const _Float16 *h, int32_t *order, double *out,\n"
    "  size_t rows, size_t cols, int8_t small)\n"
    "arguments:\n"
    "  x: {role: in, type: f32, shape: [rows, cols], fill: \"normal(0, cols)\"}\n"
    "  h: {role: in, type: f16, shape: [rows], fill: \"uniform(0, rows)\"}\n"
    "  order: {role: inout, type: i32, shape: [cols + 1], fill: offsets(2*rows)}\n"
    "  out: {role: out, type: f64, shape: [\"ceil_div(rows*cols, 2)\"]}\n"
    "  rows: {role: size}\n"
    "  cols: {role: size}\n"
    "  small: {role: scalar, type: i8, fill: constant(-3)}\n"
    "tolerance: {relative: 1e-3}\ncheck: [{rows: 1, cols: 1}]\ntime: [{rows: 64, cols: 32}]\n";

static void load(struct problem *problem)
{
    struct err err = {0};
    assert_ok(problem_parse_yaml(problem, "problem.yaml", text, strlen(text), &err), &err);
}

TEST(places)
{
    struct problem problem;
    load(&problem);
    static const struct size_set sets[] = {{{1, 1}},     {{1, 2}},    {{3, 17}},
                                           {{64, 1000}}, {{1000, 1}}, {{63, 65}}};
    for (size_t s = 0; s < COUNT(sets); s++) {
        struct layout layout;
        struct err err = {0};
        uint64_t rows = (uint64_t)sets[s].value[0], cols = (uint64_t)sets[s].value[1];
        memset(&layout, 0xAB, sizeof layout);
        assert_ok(problem_layout(&problem, &sets[s], &layout, &err), &err);
        const struct layout_argument *arguments = layout.arguments;
        assert_int_equal(layout.count, 7);
        assert_int_equal(layout.bytes % 4096, 0);
        assert_int_equal(arguments[0].offset, 0);
        for (uint32_t i = 0; i < layout.count; i++) {
            uint64_t bytes = layout_argument_bytes(&arguments[i]);
            uint64_t next = i + 1 < layout.count ? arguments[i + 1].offset : layout.bytes;
            assert_int_equal(arguments[i].offset % 64, 0);
            assert_true(arguments[i].offset + bytes + LAYOUT_GUARD_BYTES <= next);
            assert_true(i + 1 == layout.count || next < arguments[i].offset + bytes + 384);
        }
        assert_int_equal(arguments[0].count, rows * cols);
        assert_int_equal(arguments[0].fill, FILL_NORMAL);
        assert_true(arguments[0].a == 0 && arguments[0].b == (double)cols);
        assert_int_equal(layout_argument_bytes(&arguments[1]), 2 * rows);
        assert_true(arguments[1].b == (double)rows);
        assert_int_equal(arguments[2].role, ROLE_INOUT);
        assert_int_equal(arguments[2].count, cols + 1);
        assert_true(arguments[2].a == 2 * (double)rows);
        assert_int_equal(arguments[3].count, (rows * cols + 1) / 2);
        assert_int_equal(arguments[3].fill, FILL_NONE);
        assert_int_equal(arguments[4].dtype, DTYPE_U64);
        assert_int_equal(arguments[4].value, rows);
        assert_int_equal(arguments[5].value, cols);
        assert_int_equal(arguments[5].count, 1);
        assert_int_equal(arguments[6].role, ROLE_SCALAR);
        assert_int_equal(arguments[6].count, 1);
        assert_true(arguments[6].a == -3);
        /* Nothing of the caller's bytes is left: the struct goes over a wire. */
        for (uint32_t i = layout.count; i < LIMIT_ARGUMENTS; i++)
            assert_int_equal(arguments[i].role + arguments[i].offset + arguments[i].value, 0);
        assert_int_equal(layout.cases, 0);
    }
    problem_deinit(&problem);
}

TEST(refused)
{
    struct problem problem;
    load(&problem);
    static const struct {
        struct size_set sizes;
        int code;
        const char *error;
    } rows[] = {
        {{{0, 5}},
         ERR_INPUT,
         "argument 'x' with rows=0 cols=5: dimension 1 (rows) is 0; it must be a whole number from "
         "1 on"},
        {{{5, -1}},
         ERR_INPUT,
         "argument 'x' with rows=5 cols=-1: dimension 2 (cols) is -1; it must be a whole number "
         "from 1 on"},
        {{{70000, 1}},
         ERR_INPUT,
         "argument 'h' with rows=70000 cols=1: values from 0 to 70000 pass the type's largest, "
         "65504"},
        {{{1, 100000}}, 0, NULL}, /* accepted: what the rows below must be compared with */
        {{{(int64_t)1 << 32, (int64_t)1 << 31}},
         ERR_LIMIT,
         "argument 'x' with rows=4294967296 cols=2147483648: it is larger than the 16 GiB that one "
         "argument may have"},
        {{{(int64_t)1 << 62, (int64_t)1 << 62}}, ERR_LIMIT, NULL},
        {{{INT64_MAX, INT64_MAX}}, ERR_LIMIT, NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct layout layout;
        struct err err = {0};
        int code = problem_layout(&problem, &rows[i].sizes, &layout, &err);
        assert_int_equal(code, rows[i].code);
        assert_int_equal(err.code, code);
        if (rows[i].error)
            assert_string_equal(err.text, rows[i].error);
    }
    problem.format = PROBLEM_TORCH;
    problem.id = "torch/x";
    struct layout layout;
    struct err err = {0};
    assert_int_equal(problem_layout(&problem, &rows[0].sizes, &layout, &err), ERR_INPUT);
    problem_deinit(&problem);
}

TEST(largest)
{
    struct problem problem;
    struct layout layout;
    load(&problem);
    /* x and out both take exactly what one argument may have; then one column more. */
    struct size_set sizes = {{32768, 131072}};
    assert_int_equal(problem_layout(&problem, &sizes, &layout, NULL), 0);
    assert_true(layout_argument_bytes(&layout.arguments[0]) == LIMIT_TENSOR_BYTES);
    assert_true(layout_argument_bytes(&layout.arguments[3]) == LIMIT_TENSOR_BYTES);
    assert_true(layout.bytes > 2 * LIMIT_TENSOR_BYTES);
    sizes.value[1]++;
    assert_int_equal(problem_layout(&problem, &sizes, &layout, NULL), ERR_LIMIT);
    problem_deinit(&problem);
}

TEST(fill_values)
{
    static const struct {
        enum fill_kind kind;
        uint32_t dtype;
        uint64_t count;
        double a, b;
        bool good;
    } rows[] = {
        {FILL_NONE, DTYPE_F32, 1, 0, 0, true},
        {FILL_NORMAL, DTYPE_F32, 1, 0, 1, true},
        {FILL_NORMAL, DTYPE_F32, 1, 0, 0, false},
        {FILL_NORMAL, DTYPE_F32, 1, 0, -1, false},
        {FILL_NORMAL, DTYPE_F32, 1, NAN, 1, false},
        {FILL_NORMAL, DTYPE_F32, 1, 0, INFINITY, false},
        {FILL_NORMAL, DTYPE_F16, 1, 0, 10000, true},
        {FILL_NORMAL, DTYPE_F16, 1, 0, 20000, false},
        {FILL_NORMAL, DTYPE_F16, 1, 65000, 1000, false},
        {FILL_NORMAL, DTYPE_BF16, 1, 0, 20000, true},
        {FILL_UNIFORM, DTYPE_F16, 1, -65504, 65504, true},
        {FILL_UNIFORM, DTYPE_F16, 1, 0, 65505, false},
        {FILL_UNIFORM, DTYPE_F32, 1, 1, 1, false},
        {FILL_UNIFORM, DTYPE_F32, 1, 2, 1, false},
        {FILL_UNIFORM, DTYPE_F64, 1, 0, DBL_MAX, true},
        {FILL_INTEGER, DTYPE_I8, 1, -128, 128, true},
        {FILL_INTEGER, DTYPE_I8, 1, -129, 0, false},
        {FILL_INTEGER, DTYPE_I8, 1, 0, 129, false},
        {FILL_INTEGER, DTYPE_I8, 1, 5, 5, false},
        {FILL_INTEGER, DTYPE_I8, 1, 0, 1.5, false},
        {FILL_INTEGER, DTYPE_U8, 1, -1, 1, false},
        {FILL_INTEGER, DTYPE_BOOL, 1, 0, 2, true},
        {FILL_INTEGER, DTYPE_BOOL, 1, 0, 3, false},
        {FILL_INTEGER, DTYPE_U32, 1, 0, 0x1p32, true},
        {FILL_INTEGER, DTYPE_U32, 1, 0, 0x1p32 + 1, false},
        {FILL_INTEGER, DTYPE_I64, 1, -0x1p53, 0x1p53, true},
        {FILL_INTEGER, DTYPE_I64, 1, 0, 0x1p54, false},
        {FILL_INTEGER, DTYPE_F32, 1, 0, 0x1p24 + 1, true},
        {FILL_INTEGER, DTYPE_F32, 1, 0, 0x1p24 + 2, false},
        {FILL_INTEGER, DTYPE_F16, 1, -2048, 2049, true},
        {FILL_INTEGER, DTYPE_F16, 1, -2049, 0, false},
        {FILL_INTEGER, DTYPE_BF16, 1, 0, 258, false},
        {FILL_CONSTANT, DTYPE_I16, 1, 32767, 0, true},
        {FILL_CONSTANT, DTYPE_I16, 1, 32768, 0, false},
        {FILL_CONSTANT, DTYPE_I16, 1, 0.5, 0, false},
        {FILL_CONSTANT, DTYPE_F16, 1, 0.1, 0, true},
        {FILL_CONSTANT, DTYPE_F16, 1, 1e5, 0, false},
        {FILL_PERMUTATION, DTYPE_U8, 256, 0, 0, true},
        {FILL_PERMUTATION, DTYPE_U8, 257, 0, 0, false},
        {FILL_PERMUTATION, DTYPE_I32, 1000000, 0, 0, true},
        {FILL_OFFSETS, DTYPE_I32, 10, 100, 0, true},
        {FILL_OFFSETS, DTYPE_I32, 10, 0, 0, true},
        {FILL_OFFSETS, DTYPE_I32, 10, -1, 0, false},
        {FILL_OFFSETS, DTYPE_I32, 10, 1.5, 0, false},
        {FILL_OFFSETS, DTYPE_I32, 10, 0x1p31, 0, false},
        {FILL_OFFSETS, DTYPE_I64, 10, 0x1p31, 0, true},
        {FILL_OFFSETS, DTYPE_I32, 1, 0, 0, true},
        {FILL_OFFSETS, DTYPE_I32, 1, 1, 0, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char reason[160] = "";
        bool good = fill_check_values(rows[i].kind, rows[i].dtype, rows[i].count, rows[i].a,
                                      rows[i].b, reason, sizeof reason);
        if (good != rows[i].good)
            fail_msg("row %zu: %s", i, good ? "accepted" : reason);
        assert_int_equal(reason[0] == '\0', good);
    }
}

TEST(fill_kinds)
{
    for (uint32_t type = 0; type < DTYPE_COUNT; type++) {
        bool floating = dtype_facts(type)->floating;
        for (int scalar = 0; scalar < 2; scalar++) {
            assert_int_equal(fill_check_kind(FILL_NORMAL, type, scalar) == NULL, floating);
            assert_int_equal(fill_check_kind(FILL_UNIFORM, type, scalar) == NULL, floating);
            assert_null(fill_check_kind(FILL_INTEGER, type, scalar));
            assert_null(fill_check_kind(FILL_CONSTANT, type, scalar));
            bool whole = !floating && type != DTYPE_BOOL && !scalar;
            assert_int_equal(fill_check_kind(FILL_PERMUTATION, type, scalar) == NULL, whole);
            assert_int_equal(fill_check_kind(FILL_OFFSETS, type, scalar) == NULL, whole);
        }
    }
}
