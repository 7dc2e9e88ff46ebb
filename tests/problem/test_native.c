/* problem.yaml: what is accepted and how it reads, what is refused and where exactly. */
#include "../support/test.h"
#include "base/file.h"
#include "problem/loader.h"
#include "problem/native.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH "problems/softmax/problem.yaml"

static const char base[] = /* line numbers as in the tables below */
    "name: softmax\n"
    "summary: Softmax of each row.\n"
    "signature: void solution(const float *x, float *y, size_t rows, size_t cols, float alpha)\n"
    "arguments:\n"
    "  x:     {role: in, type: f32, shape: [rows, cols], fill: normal}\n"
    "  y:     {role: out, type: f32, shape: [rows, cols]}\n"
    "  rows:  {role: size}\n"
    "  cols:  {role: size}\n"
    "  alpha: {role: scalar, type: f32, fill: \"uniform(0.5, 2)\"}\n"
    "tolerance: {relative: 1.0e-5, scale: rms}\n"
    "check: [{rows: 1, cols: 1}, {rows: 3, cols: 17}]\n"
    "draw: {rows: [1, 40], cols: [5, 500]}\n"
    "require: rows <= 10*cols\n"
    "time: [{rows: 2048, cols: 1024}]\n"
    "work: {flops: 5*rows*cols, bytes: 8*rows*cols}\n";

/* The base document with its one `from` replaced. */
static char *edited(const char *from, const char *to)
{
    const char *at = strstr(base, from);
    assert_non_null(at);
    assert_null(strstr(at + 1, from));
    char *text = NULL;
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from)) > 0);
    return text;
}

static void parse(struct problem *problem, const char *text)
{
    struct err err = {0};
    assert_ok(problem_parse_yaml(problem, PATH, text, strlen(text), &err), &err);
}

TEST(category)
{
    struct problem problem;
    char *text = edited("require:", "category: normalization\nrequire:");
    parse(&problem, text);
    assert_string_equal(problem.category, "normalization");
    problem_deinit(&problem);
    free(text);
}

TEST(base)
{
    struct problem problem;
    parse(&problem, base);
    assert_string_equal(problem.category, "");
    assert_int_equal(problem.format, PROBLEM_NATIVE);
    assert_string_equal(problem.name, "softmax");
    assert_string_equal(problem.summary, "Softmax of each row.");
    assert_string_equal(problem.yaml_path, PATH);
    assert_int_equal(problem.argument_count, 5);
    assert_int_equal(problem.size_count, 2);
    assert_string_equal(problem.size_names[0], "rows");
    assert_string_equal(problem.size_names[1], "cols");
    const struct argument *x = &problem.arguments[0], *alpha = &problem.arguments[4];
    assert_string_equal(x->name, "x");
    assert_int_equal(x->role, ROLE_IN);
    assert_int_equal(x->dtype, DTYPE_F32);
    assert_int_equal(x->dimensions, 2);
    assert_string_equal(expression_text(x->shape[1]), "cols");
    assert_int_equal(x->fill, FILL_NORMAL);
    assert_true(expression_value(x->a, NULL) == 0);
    assert_true(expression_value(x->b, NULL) == 1);
    assert_int_equal(problem.arguments[1].role, ROLE_OUT);
    assert_int_equal(problem.arguments[1].fill, FILL_NONE);
    assert_true(problem.arguments[1].tolerance.relative == 1e-5);
    assert_int_equal(problem.arguments[1].tolerance.scale, SCALE_RMS);
    assert_int_equal(problem.arguments[2].role, ROLE_SIZE);
    assert_int_equal(alpha->fill, FILL_UNIFORM);
    assert_true(expression_value(alpha->a, NULL) == 0.5);
    assert_true(expression_value(alpha->b, NULL) == 2);
    assert_int_equal(problem.check_count, 2);
    assert_int_equal(problem.check[1].value[0], 3);
    assert_int_equal(problem.check[1].value[1], 17);
    assert_int_equal(problem.time_count, 1);
    assert_int_equal(problem.time[0].value[1], 1024);
    assert_true(problem.has_draw);
    assert_int_equal(problem.draw[1].low, 5);
    assert_int_equal(problem.draw[1].high, 500);
    assert_true(problem.oracle);
    assert_true(problem_flops(&problem, &problem.check[1]) == 5 * 3 * 17);
    assert_true(problem_bytes(&problem, &problem.check[1]) == 8 * 3 * 17);
    char text[64];
    problem_sizes_text(&problem, &problem.check[1], text, sizeof text);
    assert_string_equal(text, "rows=3 cols=17");
    problem_sizes_text(&problem, &problem.check[1], text, 9);
    assert_string_equal(text, "rows=3 c");
    problem_deinit(&problem);
}

/* One edit of the base, and what is different after it. */
TEST(accepted)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"void solution(const float *x", "void solution( float const *restrict x"},
        {"  x:     {role: in, type: f32, shape: [rows, cols], fill: normal}\n",
         "  x:\n    role: in\n    type: f32\n    shape:\n      - rows\n      - cols\n"
         "    fill: normal(1, 2)\n"},
        {"fill: normal", "fill: \"normal(rows, 2*cols)\""},
        {"fill: normal", "fill: \"normal( max(rows, 3) , 2 )\""},
        {"fill: normal", "fill: constant(3)"},
        {"fill: normal", "fill: 'integer(-4, 5)'"},
        {"\"uniform(0.5, 2)\"", "constant(-1/3)"},
        {"[rows, cols], fill", "[\"max(rows, cols)\", 'ceil_div(cols, 3)', 1], fill"},
        {"tolerance: {relative: 1.0e-5, scale: rms}", "tolerance: {exact: true}"},
        {"tolerance: {relative: 1.0e-5, scale: rms}", "tolerance: {absolute: 1/1024, scale: none}"},
        {"check: [{rows: 1, cols: 1}, ", "check: [{cols: 1, rows: 1}, {rows: 2*4, cols: 1e2}, "},
        {"draw: {rows: [1, 40], cols: [5, 500]}\n", ""},
        {"require: rows <= 10*cols\n", ""},
        {"work: {flops: 5*rows*cols, bytes: 8*rows*cols}\n", ""},
        {"work: {flops: 5*rows*cols, bytes: 8*rows*cols}\n", "work: {bytes: 1}\noracle: false\n"},
        {"summary: Softmax of each row.", "summary: >\n  Softmax\n  of each row.\n"},
        {"name: softmax", "# a comment\nname: 'softmax'"},
        {"name: softmax", "---\nname: softmax"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem;
        char *text = edited(rows[i].from, rows[i].to);
        parse(&problem, text);
        problem_deinit(&problem);
        free(text);
    }
}

/* One edit of the base that makes it wrong. */
static const struct {
    const char *from, *to;
    const char *error; /* what must stand behind "PATH:" */
} refused[] = {
    /* Keys. */
    {"shape: [rows, cols], fill", "shpe: [rows, cols], fill",
     "5:32: unknown key 'shpe'; did you mean 'shape'?"},
    {"require:", "requires:", "13:1: unknown key 'requires'; did you mean 'require'?"},
    {"require:", "colour:",
     "13:1: unknown key 'colour'; choose one of name, summary, signature, arguments, check, time, "
     "tolerance, draw, require, work, oracle, launch, category"},
    {"require:", "category: matmol\nrequire:",
     "13:11: unknown category 'matmol'; did you mean 'matmul'?"},
    {"require:", "category: zzzzzzzzz\nrequire:",
     "13:11: unknown category 'zzzzzzzzz'; choose one of elementwise, reduction, matmul, "
     "convolution, "
     "pooling, normalization, attention, scan, sorting, indexing, "
     "loss, stencil, layout, sparse, fft, recurrent, quantization, optimizer, network"},
    {"require:", "category: [matmul]\nrequire:", "13:11: category must be a single value"},
    {"summary:", "sumary:", "2:1: unknown key 'sumary'; did you mean 'summary'?"},
    {"require: rows <= 10*cols", "name: softmax",
     "13:1: key 'name' is given twice (first on line 1)"},
    {"  cols:  {role: size}\n", "  cols:  {role: size}\n  x:     {role: size}\n",
     "9:3: key 'x' is given twice (first on line 5)"},
    {"time: [{rows: 2048, cols: 1024}]\n", "", "1:1: the key 'time' is missing"},
    {"summary: Softmax of each row.\n", "", "1:1: the key 'summary' is missing"},
    {"summary: Softmax of each row.", "summary:", "2:1: summary has no value"},
    {"summary: Softmax of each row.", "summary: [a]", "2:10: summary must be a single value"},
    /* YAML itself. */
    {"check: [{rows: 1, cols: 1}, ", "check: [{rows: 1, cols: 1}}, ", "11:27: "},
    {"name: softmax", "name: [softmax", "3:"},
    {"name: softmax", "name: soft: max", "1:"},
    {"require: rows <= 10*cols", "require: &r rows <= 10*cols", "13:1"},
    {"require: rows <= 10*cols", "require: *r",
     "13:10: anchors and aliases are not supported: write the value out"},
    {"require: rows <= 10*cols", "require: !!str rows <= 10*cols", "13:1"},
    {"require: rows <= 10*cols", "require: \"rows\\n<= cols\"",
     "13:10: a text may hold no line break or control character here"},
    {"work: {", "--- {", "15:5: a second document begins here; one file holds one"},
    {"require: rows <= 10*cols", "[a, b]: 1", "13:1: a key must be a plain name"},
    {"require: rows <= 10*cols", "require: [[[[[[[[[1]]]]]]]]]",
     "13:17: is nested deeper than 8 levels"},
    /* Name. */
    {"name: softmax", "name: sofmax",
     "1:7: name is 'sofmax', but the directory is called 'softmax': they must agree"},
    {"name: softmax", "name: soft/max", "1:11: a name is made of letters, digits, '_' and '-'"},
    /* Signature. */
    {"void solution", "int solution",
     "3:12: signature: expected 'void solution(...)': it returns nothing"},
    {"solution(", "solve(", "3:17: signature: expected the name 'solution'"},
    {"float alpha)", "float alpha);", "3:90: signature: expected the end after ')'"},
    {"float alpha)", "float alpha", "3:89: signature: expected ',' or ')'"},
    {"float *y,", "float **y,", "3:49: signature: a pointer to a pointer is no array"},
    {"float *y,", "float y[],", "3:49: signature: write an array parameter with '*'"},
    {"float *y,", "unsigned int *y,",
     "3:42: signature: write a type of one word, such as uint32_t or int64_t"},
    {"float *y,", "float *,", "3:49: signature: expected the parameter's name"},
    {"float *y,", ",", "3:42: signature: expected a parameter such as 'const float *x'"},
    {"const float *x", "float *x",
     "3:26: as argument 'x' is declared, this must be 'const float *x'"},
    {"float *y,", "const float *y,", "3:42: as argument 'y' is declared, this must be 'float *y'"},
    {"float *y,", "double *y,", "3:42: as argument 'y' is declared, this must be 'float *y'"},
    {"size_t rows, ", "int rows, ",
     "3:52: as argument 'rows' is declared, this must be 'size_t rows'"},
    {"float alpha", "float *alpha",
     "3:78: as argument 'alpha' is declared, this must be 'float alpha'"},
    {"float alpha", "double alpha",
     "3:78: as argument 'alpha' is declared, this must be 'float alpha'"},
    {"size_t rows, size_t cols", "size_t cols, size_t rows",
     "3:52: parameter 3 is 'cols' here but 'rows' under arguments: names and order must agree"},
    {", float alpha)", ")", "9:3: argument 'alpha' is missing in the signature"},
    {"float alpha)", "float alpha, float beta)",
     "3:91: parameter 'beta' is missing under arguments"},
    /* Arguments. */
    {"{role: in,", "{role: input,", "5:17: unknown role 'input'; did you mean 'inout'?"},
    {"{role: in,", "{role: both,",
     "5:17: unknown role 'both'; choose one of in, out, inout, size, scalar"},
    {"{role: in,", "{role: inn,", "5:17: unknown role 'inn'; did you mean 'in'?"},
    {"{role: in, type", "{type", "5:3: 'x' has no role"},
    {"in, type: f32", "in, type: f31", "5:27: unknown type 'f31'; did you mean 'f32'?"},
    {"in, type: f32", "in, type: float",
     "5:27: unknown type 'float'; choose one of f16, bf16, "
     "f32, f64, i8, u8, i16, i32, i64, u32, u64, bool"},
    {"in, type: f32,", "in,", "5:3: 'x' needs a type: its role is in"},
    {", fill: normal", "", "5:3: 'x' needs a fill: its role is in"},
    {"  y:     {role: out,", "  y:     {role: out, fill: normal,",
     "6:22: 'y' takes no fill: its role is out"},
    {"  y:     {role: out,", "  y:     {role: inout,", "6:3: 'y' needs a fill: its role is inout"},
    {"rows:  {role: size}", "rows:  {role: size, type: u64}",
     "7:23: 'rows' takes no type: its role is size"},
    {"{role: scalar, type: f32,", "{role: scalar, type: f32, shape: [1],",
     "9:36: 'alpha' takes no shape: its role is scalar"},
    {"in, type: f32,", "in, type: f32, tolerance: {exact: true},",
     "5:32: 'x' takes no tolerance: its role is in"},
    {"rows:  {role: size}", "rows:  size", "7:10: an argument must be a mapping: {key: value}"},
    {"rows:  {role: size}", "rows:", "7:3: an argument has no value"},
    {"  y:     {role: out, type: f32, shape: [rows, cols]}",
     "  y:     {role: in, type: f32, shape: [rows, cols], fill: normal}",
     "4:1: no argument is out or inout: nothing is computed"},
    {"  rows:  {role: size}", "  min:   {role: size}",
     "7:3: a size may not be called 'min': that is a function"},
    /* Shapes and expressions, with places inside of them. */
    {"[rows, cols], fill", "[rows, clos], fill",
     "5:46: a dimension: unknown name 'clos'; did you mean 'cols'?"},
    {"[rows, cols], fill", "[rows, 2*(cols+1], fill",
     "5:48: a dimension: this '(' is never closed; between brackets or braces a text with a "
     "comma needs quotes: \"f(a, b)\""},
    {"[rows, cols], fill", "[rows, \"2*(cols+1\"], fill",
     "5:49: a dimension: this '(' is never closed"},
    {"[rows, cols], fill", "[rows, max(cols, 3)], fill",
     "5:54: a dimension: expected ',' or ')' for the '(' 5 characters before; between brackets "
     "or braces a text with a comma needs quotes: \"f(a, b)\""},
    {"[rows, cols], fill", "[], fill", "5:39: a shape has 1 to 8 dimensions, not 0"},
    {"[rows, cols], fill", "rows, fill", "5:39: shape must be a list: [...]"},
    {"[rows, cols], fill", "[rows/2, cols], fill",
     "11:9: check: argument 'x' with rows=1 cols=1: dimension 1 (rows/2) is 0.5; it must be a "
     "whole number from 1 on"},
    {"[rows, cols], fill", "[rows - 1, cols], fill",
     "11:9: check: argument 'x' with rows=1 cols=1: dimension 1 (rows - 1) is 0; it must be a "
     "whole number from 1 on"},
    {"[rows, cols], fill", "[rows, cols, 1e6, 1e6], fill",
     "11:9: check: argument 'x' with rows=1 cols=1: it is larger than the 16 GiB that one "
     "argument may have"},
    /* Fills. */
    {"fill: normal", "fill: normale", "5:59: unknown fill 'normale'; did you mean 'normal'?"},
    {"fill: normal", "fill: poisson",
     "5:59: unknown fill 'poisson'; choose one of normal, uniform, integer, permutation, "
     "offsets, constant"},
    {"fill: normal", "fill: normal(1)", "5:59: fill: write normal or normal(mean, deviation)"},
    {"fill: normal", "fill: uniform", "5:59: fill: write uniform(low, high)"},
    {"\"uniform(0.5, 2)\"", "uniform(0.5, 2)",
     "9:42: fill: missing ')'; between brackets or braces a text with a comma needs quotes: "
     "\"f(a, b)\""},
    {"uniform(0.5, 2)", "uniform(0.5, 2, 3)", "9:58: fill: expected nothing more here"},
    {"uniform(0.5, 2)", "uniform(0.5, two)",
     "9:56: fill: unknown name 'two'; choose one of rows, cols, min, max, ceil_div, log2, sqrt"},
    {"uniform(0.5, 2)", "uniform 0.5", "9:51: fill: expected '(' or nothing more here"},
    {"uniform(0.5, 2)", "integer(0.5, 2)",
     "11:9: check: argument 'alpha' with rows=1 cols=1: integer needs whole numbers, not 0.5 "
     "and 2"},
    {"uniform(0.5, 2)", "uniform(2, 2)",
     "11:9: check: argument 'alpha' with rows=1 cols=1: uniform needs low < high, not 2 and 2"},
    {"uniform(0.5, 2)", "normal(0, rows - 1)",
     "11:9: check: argument 'alpha' with rows=1 cols=1: normal needs a deviation above 0, not "
     "0"},
    {"uniform(0.5, 2)", "uniform(0, 1e39)",
     "11:9: check: argument 'alpha' with rows=1 cols=1: values from 0 to 1e+39 pass the type's "
     "largest, 3.40282e+38"},
    {"uniform(0.5, 2)", "permutation",
     "9:42: fill 'permutation' of 'alpha' (f32): fills an array; a scalar takes normal, "
     "uniform, integer or constant"},
    {"fill: normal", "fill: permutation",
     "5:59: fill 'permutation' of 'x' (f32): needs an integer type"},
    {"f32, shape: [rows, cols], fill: normal", "i32, shape: [rows, cols], fill: normal",
     "5:59: fill 'normal' of 'x' (i32): needs a floating type; whole numbers take integer(low, "
     "high)"},
    {"f32, shape: [rows, cols], fill: normal", "i8, shape: [rows, cols], fill: constant(128)",
     "3:26: as argument 'x' is declared, this must be 'const int8_t *x'"},
    /* Tolerances. */
    {"relative: 1.0e-5", "relativ: 1.0e-5",
     "10:13: unknown key 'relativ'; did you mean 'relative'?"},
    {"relative: 1.0e-5", "relative: 1", "10:23: relative must be from 0 to below 1, not 1"},
    {"relative: 1.0e-5", "relative: -1e-5", "10:23: relative must be from 0 to below 1, not -1e-5"},
    {"relative: 1.0e-5", "relative: 0",
     "10:12: a tolerance of nothing: write {exact: true}, or "
     "a relative one"},
    {"relative: 1.0e-5", "relative: rows",
     "10:23: relative: unknown name 'rows'; only numbers "
     "may stand here"},
    {"relative: 1.0e-5", "exact: true", "10:13: exact: true allows no other key"},
    {"relative: 1.0e-5", "exact: yes", "10:20: exact must be true or false, not 'yes'"},
    {"scale: rms", "scale: max", "10:38: unknown scale 'max'; choose one of none, rms"},
    {"tolerance: {relative: 1.0e-5, scale: rms}\n", "",
     "6:3: 'y' has no tolerance: it is floating, and the key 'tolerance' is missing"},
    /* Sizes. */
    {"{rows: 3, cols: 17}", "{rows: 3}", "11:29: check gives no value for 'cols'"},
    {"{rows: 3, cols: 17}", "{rows: 3, cosl: 17}",
     "11:39: unknown key 'cosl'; did you mean 'cols'?"},
    {"{rows: 3, cols: 17}", "{rows: 3, cols: 0}",
     "11:45: a size is a whole number from 1 on, not 0"},
    {"{rows: 3, cols: 17}", "{rows: 3, cols: -2}",
     "11:45: a size is a whole number from 1 on, not -2"},
    {"{rows: 3, cols: 17}", "{rows: 3, cols: 1.5}",
     "11:45: a size is a whole number from 1 on, not 1.5"},
    {"{rows: 3, cols: 17}", "{rows: 1, cols: 1}", "11:29: check: the same sizes as row 1"},
    {"{rows: 3, cols: 17}", "{rows: 171, cols: 17}",
     "11:29: check rows=171 cols=17 does not satisfy 'require: rows <= 10*cols'"},
    {"{rows: 3, cols: 17}", "3", "11:29: check must be a mapping: {key: value}"},
    {"time: [{rows: 2048, cols: 1024}]", "time: []", "14:7: time has 1 to 16 rows, not 0"},
    {"time: [{rows: 2048, cols: 1024}]", "time: {rows: 2048, cols: 1024}",
     "14:7: time must be a list: [...]"},
    {"require: rows <= 10*cols", "require: rows <= 10*col",
     "13:21: require: unknown name 'col'; did you mean 'cols'?"},
    /* Folded or escaped text has its own columns: then the scalar's begin is named. */
    {"require: rows <= 10*cols", "require: rows <=\n  10*col",
     "13:10: require: unknown name 'col'; did you mean 'cols'?"},
    {"require: rows <= 10*cols", "require: \"rows\\x20<= col\"",
     "13:10: require: unknown name 'col'; did you mean 'cols'?"},
    {"require: rows <= 10*cols", "require: 'rows <= col'",
     "13:19: require: unknown name 'col'; did you mean 'cols'?"},
    {"require: rows <= 10*cols", "require: 1 <= rows <= cols",
     "13:20: require: comparisons do not chain: join two of them with 'and'"},
    {"rows: [1, 40]", "rows: [40, 1]", "12:14: the range [40, 1] is empty"},
    {"rows: [1, 40]", "rows: [1]", "12:14: a range is [low, high], both inclusive, not 1 numbers"},
    {"rows: [1, 40]", "rows: [0, 40]", "12:15: a size is a whole number from 1 on, not 0"},
    {"rows: [1, 40]", "rows: 40", "12:14: a range of draw must be a list: [...]"},
    {"rows: [1, 40], ", "", "12:7: draw gives no value for 'rows'"},
    {"rows: [1, 40], cols: [5, 500]", "rows: [100, 400], cols: [1, 9]",
     "12:7: 1024 sets were drawn from these ranges, and none satisfies 'require: rows <= "
     "10*cols'"},
    {"rows: [1, 40], cols: [5, 500]", "rows: [1, 400000], cols: [1, 400000]",
     "12:7: draw: argument 'x' with rows=400000 cols=400000: it is larger than the 16 GiB that "
     "one argument may have"},
    /* Work and oracle. */
    {"flops: 5*rows*cols", "flops: 5*rows*cols*",
     "15:27: flops: ends too early: expected a "
     "number, a name or '('"},
    {"flops: 5*rows*cols", "flops: -rows",
     "11:9: check rows=1 cols=1: work is -1 flops and 8 bytes; both must be numbers from 0 on"},
    {"work: {", "oracle: maybe\nwork: {", "15:9: oracle must be true or false, not 'maybe'"},
};

TEST(refused)
{
    int wrong = 0;
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct problem problem;
        struct err err = {0};
        char *text = edited(refused[i].from, refused[i].to);
        if (problem_parse_yaml(&problem, PATH, text, strlen(text), &err) == 0)
            fail_msg("accepted: '%s' as '%s'", refused[i].from, refused[i].to);
        assert_int_equal(err.code, ERR_INPUT);
        assert_null(problem.arena.blocks); /* nothing is left to free */
        const char *wanted = refused[i].error;
        size_t length = strlen(wanted);
        /* Words of libfyaml are its own: there only the place is ours, and the row ends early. */
        bool begin_only = length < 8;
        const char *got = err.text + strlen(PATH ":");
        if (strncmp(err.text, PATH ":", strlen(PATH ":")) != 0 ||
            (begin_only ? strncmp(got, wanted, length) : strcmp(got, wanted)) != 0) {
            print_error("'%s' as '%s'\n  wanted %s\n  got    %s\n", refused[i].from, refused[i].to,
                        wanted, got);
            wrong++;
        }
        free(text);
    }
    assert_int_equal(wrong, 0);
}

TEST(not_text)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *error;
    } rows[] = {
        {"", 0, PATH ": is empty"},
        {" \n\n", 3, PATH ": holds nothing but white space"},
        {"a: 1\nb: \0 1\n", 12, PATH ":2: holds a NUL byte; a source is text"},
        {"a: 1\nb: \xff\n", 10, PATH ":2: is not UTF-8 (byte 0xff at offset 8)"},
        {"# nothing\n", 10, PATH ":1:1: holds no YAML"},
        {"softmax\n", 8, PATH ":1:1: a problem must be a mapping: {key: value}"},
        {"[1, 2]\n", 7, PATH ":1:1: a problem must be a mapping: {key: value}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem;
        struct err err = {0};
        assert_int_equal(problem_parse_yaml(&problem, PATH, rows[i].text, rows[i].bytes, &err),
                         ERR_INPUT);
        assert_string_equal(err.text, rows[i].error);
    }
}

TEST(bounds)
{
    char text[16384];
    struct problem problem;
    struct err err = {0};
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "name: softmax\nsummary: s\nsignature: s\n"
                                   "check: [{}]\ntime: [{}]\narguments:\n");
    for (int i = 0; i <= LIMIT_ARGUMENTS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "  a%d: {role: in}\n", i);
    assert_int_equal(problem_parse_yaml(&problem, PATH, text, used, &err), ERR_INPUT);
    assert_string_equal(err.text, PATH ":31:3: more than 24 arguments");

    used = (size_t)snprintf(text, sizeof text,
                            "name: softmax\nsummary: s\nsignature: s\n"
                            "check: [{}]\ntime: [{}]\narguments:\n");
    for (int i = 0; i <= LIMIT_SIZES; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "  a%d: {role: size}\n", i);
    assert_int_equal(problem_parse_yaml(&problem, PATH, text, used, &err), ERR_INPUT);
    assert_string_equal(err.text, PATH ":15:3: more than 8 sizes");

    used = (size_t)snprintf(text, sizeof text, "check: [");
    for (int i = 0; i <= 256; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "1, ");
    used += (size_t)snprintf(text + used, sizeof text - used, "]\n");
    assert_int_equal(problem_parse_yaml(&problem, PATH, text, used, &err), ERR_INPUT);
    assert_string_equal(err.text, PATH ":1:777: more than 256 entries");

    char *name = edited("name: softmax",
                        "name: "
                        "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"
                        "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij");
    assert_int_equal(problem_parse_yaml(&problem, PATH, name, strlen(name), &err), ERR_INPUT);
    assert_string_equal(err.text, PATH ":1:7: the name is longer than 127 characters");
    free(name);
}

/* A long quoted name is cut, and never in the middle of a character. */
TEST(errors_are_utf8)
{
    char key[256];
    memset(key, 0, sizeof key);
    for (int shift = 0; shift < 4; shift++) {
        size_t used = (size_t)snprintf(key, sizeof key, "%.*s", shift, "aaa");
        for (int i = 0; i < 40; i++)
            used += (size_t)snprintf(key + used, sizeof key - used, "\xC3\xA4");
        snprintf(key + used, sizeof key - used, ": 1\n");
        struct problem problem;
        struct err err = {0};
        assert_int_equal(problem_parse_yaml(&problem, PATH, key, strlen(key), &err), ERR_INPUT);
        assert_int_equal(file_check_text("error", err.text, strlen(err.text), NULL), 0);
    }
}

/* Types of arguments, and whether double may take their place in an oracle. */
TEST(oracle)
{
    static const struct {
        const char *type, *c_type, *fill, *extra;
        bool loads, oracle;
    } rows[] = {
        {"f32", "float", "normal", "", true, true},
        {"f16", "_Float16", "normal", "", true, true},
        {"f32", "float", "normal", "oracle: false\n", true, false},
        {"bf16", "uint16_t", "normal", "", true, false},
        {"f64", "double", "normal", "", true, false},
        {"i32", "int32_t", "permutation", "", true, false},
        {"u8", "uint8_t", "\"integer(0, 256)\"", "", true, false},
        {"bool", "_Bool", "\"integer(0, 2)\"", "", true, false},
        {"bool", "bool", "\"integer(0, 2)\"", "", true, false},
        {"bf16", "uint16_t", "normal", "oracle: true\n", false, false},
        {"f64", "double", "normal", "oracle: true\n", false, false},
        {"i32", "int32_t", "permutation", "oracle: true\n", false, false},
        {"u8", "uint8_t", "\"integer(0, 257)\"", "", false, false},
        {"f16", "_Float16", "\"integer(0, 3000)\"", "", false, false},
        {"f16", "_Float16", "constant(70000)", "", false, false},
        {"i8", "int8_t", "constant(0.5)", "", false, false},
        {"i32", "int32_t", "offsets(n)", "", true, false},
        {"i32", "int32_t", "offsets(n/2)", "", false, false},
        {"i8", "int8_t", "permutation", "", false, false},
        {"u8", "uint8_t", "permutation", "", true, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "name: softmax\nsummary: s\n"
                 "signature: void solution(const %s *x, %s *y, size_t n)\n"
                 "arguments:\n"
                 "  x: {role: in, type: %s, shape: [n], fill: %s}\n"
                 "  y: {role: out, type: %s, shape: [n], tolerance: {exact: true}}\n"
                 "  n: {role: size}\n"
                 "check: [{n: 129}]\ntime: [{n: 255}]\n%s",
                 rows[i].c_type, rows[i].c_type, rows[i].type, rows[i].fill, rows[i].type,
                 rows[i].extra);
        struct problem problem;
        struct err err = {0};
        int result = problem_parse_yaml(&problem, PATH, text, strlen(text), &err);
        if ((result == 0) != rows[i].loads)
            fail_msg("row %zu (%s, %s): %s", i, rows[i].type, rows[i].fill,
                     result == 0 ? "accepted" : err.text);
        if (result < 0)
            continue;
        assert_int_equal(problem.oracle, rows[i].oracle);
        assert_true(problem.arguments[1].tolerance.exact);
        problem_deinit(&problem);
    }
}

TEST(tolerances)
{
    static const char text[] =
        "name: softmax\nsummary: s\n"
        "signature: void solution(float *a, float *b, int32_t *c, size_t n)\n"
        "arguments:\n"
        "  a: {role: out, type: f32, shape: [n]}\n"
        "  b: {role: inout, type: f32, shape: [n], fill: normal, tolerance: {absolute: 0.25}}\n"
        "  c: {role: out, type: i32, shape: [n]%s}\n"
        "  n: {role: size}\n"
        "%scheck: [{n: 1}]\ntime: [{n: 2}]\n";
    char edit[1024];
    struct problem problem;
    snprintf(edit, sizeof edit, "%s", "");
    for (int exact = 0; exact < 2; exact++) {
        struct err err = {0};
        /* -Wformat=2 wants a literal: the two places are filled by hand. */
        const char *first = strstr(text, "%s"), *second = strstr(first + 2, "%s");
        snprintf(edit, sizeof edit, "%.*s%s%.*s%s%s", (int)(first - text), text,
                 exact ? ", tolerance: {exact: true}" : "", (int)(second - first - 2), first + 2,
                 "tolerance: {relative: 1e-3, scale: none}\n", second + 2);
        if (problem_parse_yaml(&problem, PATH, edit, strlen(edit), &err) < 0)
            fail_msg("%s", err.text);
        const struct argument *arguments = problem.arguments;
        assert_true(arguments[0].tolerance.relative == 1e-3);
        assert_int_equal(arguments[0].tolerance.scale, SCALE_NONE);
        assert_true(arguments[1].tolerance.absolute == 0.25);
        assert_true(arguments[1].tolerance.relative == 0);
        assert_int_equal(arguments[2].tolerance.exact, exact);
        problem_deinit(&problem);
    }
}

static void write_file(const char *directory, const char *name, const char *text, size_t bytes)
{
    char path[512];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_ok(file_write_atomic(path, text, bytes, 0644, &err), &err);
}

TEST(load)
{
    char *directory = support_text("%s/softmax", support_directory()), path[512], wanted[512];
    assert_int_equal(mkdir(directory, 0755), 0);
    struct problem problem;
    struct err err = {0};

    assert_int_equal(problem_load(&problem, directory, NULL, &err), ERR_MISSING);
    snprintf(wanted, sizeof wanted, "%s/problem.yaml: no such file", directory);
    assert_string_equal(err.text, wanted);

    write_file(directory, "problem.yaml", base, strlen(base));
    assert_int_equal(problem_load(&problem, directory, NULL, &err), ERR_MISSING);
    snprintf(wanted, sizeof wanted, "%s/reference.c: no such file", directory);
    assert_string_equal(err.text, wanted);

    write_file(directory, "reference.c", "void\0", 5);
    assert_int_equal(problem_load(&problem, directory, NULL, &err), ERR_INPUT);
    snprintf(wanted, sizeof wanted, "%s/reference.c:1: holds a NUL byte; a source is text",
             directory);
    assert_string_equal(err.text, wanted);

    write_file(directory, "reference.c", "void solution(void);\n", 21);
    char hashes[2][HASH_HEX_BYTES];
    static const char *const endings[] = {"", "/", "/problem.yaml"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", directory, endings[i]);
        assert_ok(problem_load(&problem, path, i == 2 ? "my/id" : NULL, &err), &err);
        assert_string_equal(problem.id, i == 2 ? "my/id" : "softmax");
        assert_string_equal(problem.directory, directory);
        snprintf(path, sizeof path, "%s/reference.c", directory);
        assert_string_equal(problem.reference_path, path);
        assert_string_equal(problem.reference_text, "void solution(void);\n");
        assert_int_equal(problem.reference_bytes, 21);
        assert_int_equal(strlen(problem.hash), 64);
        memcpy(hashes[0], problem.hash, sizeof hashes[0]);
        problem_deinit(&problem);
    }
    write_file(directory, "reference.c", "void solution(int);\n", 20);
    assert_int_equal(problem_load(&problem, directory, NULL, &err), 0);
    memcpy(hashes[1], problem.hash, sizeof hashes[1]);
    problem_deinit(&problem);
    assert_string_not_equal(hashes[0], hashes[1]);

    assert_int_equal(problem_load(&problem, "/nonexistent/x", NULL, &err), ERR_MISSING);
    assert_string_equal(err.text, "/nonexistent/x: no such problem directory or module");
    snprintf(path, sizeof path, "%s/reference.c", directory);
    assert_int_equal(problem_load(&problem, path, NULL, &err), ERR_INPUT);
}

TEST(draw)
{
    struct problem problem;
    struct size_set sizes, again;
    parse(&problem, base);
    int small = 0, differ = 0, low = 0, high = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        problem_draw_sizes(&problem, seed, &sizes);
        problem_draw_sizes(&problem, seed, &again);
        assert_memory_equal(&sizes, &again, sizeof sizes);
        assert_in_range(sizes.value[0], 1, 40);
        assert_in_range(sizes.value[1], 5, 500);
        assert_true(sizes.value[0] <= 10 * sizes.value[1]);
        small += sizes.value[1] < 32;
        low += sizes.value[0] == 1;
        high += sizes.value[0] == 40;
        problem_draw_sizes(&problem, seed + 1, &again);
        differ += memcmp(&sizes, &again, sizeof sizes) != 0;
    }
    /* Uniformly it would be 5 %, and half of the draws are logarithmic. */
    assert_in_range(small, 700, 2000);
    assert_in_range(low, 200, 700);
    assert_in_range(high, 20, 200);
    assert_true(differ > 3900);
    problem_deinit(&problem);

    char *text = edited("draw: {rows: [1, 40], cols: [5, 500]}\n", "");
    parse(&problem, text);
    int rows[2] = {0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        problem_draw_sizes(&problem, seed, &sizes);
        rows[memcmp(&sizes, &problem.check[1], sizeof sizes) == 0] += 1;
        assert_true(sizes.value[0] == 1 || sizes.value[0] == 3);
    }
    assert_true(rows[0] > 25 && rows[1] > 25);
    problem_deinit(&problem);
    free(text);
}
