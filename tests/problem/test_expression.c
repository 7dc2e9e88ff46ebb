#include "../support/test.h"
#include "base/limits.h"
#include "base/random.h"
#include "problem/expression.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {"rows", "cols", "zero", "minimum"};
static const int64_t values[] = {12, 5, 0, 3};
#define NAMES 4

static int parse(struct arena *arena, const char *text, const struct expression **expression,
                 struct err *err)
{
    return expression_parse(arena, text, names, NAMES, expression, err);
}

static const struct {
    const char *text;
    double value;
} accepted[] = {
    {"0", 0},
    {"42", 42},
    {"1.5", 1.5},
    {".5", 0.5},
    {"2.", 2},
    {"1e3", 1000},
    {"1.0e-5", 1e-5},
    {"2.5E+2", 250},
    {"9007199254740991", 9007199254740991.0},
    {"0.1", 0.1},
    {"3.14159", 3.14159},
    {"1e-22", 1e-22},
    {"0e999", 0},
    {"rows", 12},
    {" rows ", 12},
    {"minimum", 3}, /* begins like a function */
    {"5*rows*cols", 300},
    {"1 + 2 * 3", 7},
    {"(1 + 2) * 3", 9},
    {"10 - 4 - 3", 3},
    {"100 / 10 / 5", 2},
    {"7 / 2", 3.5},
    {"7 // 2", 3},
    {"-7 // 2", -4},
    {"7 % 3", 1},
    {"-7 % 3", 2},
    {"7 % -3", -2},
    {"-rows + 1", -11},
    {"2 * -3", -6},
    {"-(2 + 3)", -5},
    {"2 - -3", 5},
    {"7//2*2", 6},
    {"min(3, 2)", 2},
    {"min(3, 2, 1, 4)", 1},
    {"max(rows, cols, 3)", 12},
    {"max(-1, -2)", -1},
    {"ceil_div(rows, cols)", 3},
    {"ceil_div(10, 5)", 2},
    {"log2(8)", 3},
    {"sqrt(rows + 4)", 4},
    {"rows == 12", 1},
    {"rows != 12", 0},
    {"rows < 12", 0},
    {"rows <= 12", 1},
    {"rows > 11", 1},
    {"rows >= 13", 0},
    {"rows + 1 == 13", 1},
    {"rows % 2 == 0 and cols % 2 == 1", 1},
    {"rows and zero", 0},
    {"rows and cols and 1 < 2", 1},
    {"(rows < cols) + 3", 3},
    {"min(rows == 12, 5)", 1},
    {"rows\n+ cols", 17},
};

TEST(values)
{
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT(accepted); i++) {
        const struct expression *expression;
        struct err err = {0};
        if (parse(&arena, accepted[i].text, &expression, &err) < 0)
            fail_msg("%s: %s", accepted[i].text, err.text);
        double value = expression_value(expression, values);
        if (value != accepted[i].value)
            fail_msg("%s is %.17g, not %.17g", accepted[i].text, value, accepted[i].value);
        assert_string_equal(expression_text(expression), accepted[i].text);
    }
    arena_deinit(&arena);
}

/* Nothing that is no number ever passes for true. */
TEST(no_number)
{
    static const struct {
        const char *text;
        bool zero; /* else NaN */
    } rows[] = {
        {"1/zero", false},
        {"0/zero", false},
        {"1//zero", false},
        {"1 % zero", false},
        {"ceil_div(1, zero)", false},
        {"sqrt(-1)", false},
        {"min(1, 1/zero)", false},
        {"max(1/zero, 1)", false},
        {"1/zero == 1/zero", true},
        {"1/zero != 1", true},
        {"1/zero < 1", true},
        {"1/zero >= 1", true},
        {"1/zero and 1", true},
        {"1 and 1/zero", true},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct expression *expression;
        assert_int_equal(parse(&arena, rows[i].text, &expression, NULL), 0);
        double value = expression_value(expression, values);
        assert_true(rows[i].zero ? value == 0 : isnan(value));
    }
    arena_deinit(&arena);
}

TEST(refused)
{
    static const struct {
        const char *text;
        const char *error;
    } rows[] = {
        {"", "column 1: ends too early: expected a number, a name or '('"},
        {"   ", "column 4: ends too early: expected a number, a name or '('"},
        {"1 +", "column 4: ends too early: expected a number, a name or '('"},
        {"rwos*2", "column 1: unknown name 'rwos'; did you mean 'rows'?"},
        {"2*colour", "column 3: unknown name 'colour'; choose one of rows, cols, zero, minimum, "
                     "min, max, ceil_div, log2, sqrt"},
        {"foo(1)", "column 1: unknown function 'foo'; choose one of rows, cols, zero, minimum, "
                   "min, max, ceil_div, log2, sqrt"},
        {"mix(1, 2)", "column 1: unknown function 'mix'; did you mean 'min'?"},
        {"2 rows", "column 3: expected an operator or the end, not 'r'"},
        {"2rows", "column 1: a number runs into 'rows'; write * to multiply"},
        {"1.2.3", "column 1: a number runs into '.3'; write * to multiply"},
        {"1e", "column 1: a number needs digits behind its 'e'"},
        {"1e+", "column 1: a number needs digits behind its 'e'"},
        {".", "column 1: a number needs a digit"},
        {"1e400", "column 1: the number is too large"},
        {"0x10", "column 1: a number runs into 'x10'; write * to multiply"},
        {"nan", "column 1: unknown name 'nan'; choose one of rows, cols, zero, minimum, min, max, "
                "ceil_div, log2, sqrt"},
        {"(1", "column 1: this '(' is never closed"},
        {"1)", "column 2: expected an operator or the end, not ')'"},
        {"()", "column 2: expected a number, a name or '(', not ')'"},
        {"min", "column 1: 'min' is a function: write min(...)"},
        {"min(1)", "column 1: min takes at least 2 arguments, not 1"},
        {"1+log2(1, 2)", "column 3: log2 takes 1 argument, not 2"},
        {"ceil_div(1, 2, 3)", "column 1: ceil_div takes 2 arguments, not 3"},
        {"min(1, 2", "column 9: expected ',' or ')' for the '(' 5 characters before"},
        {"min(1 2)", "column 7: expected ',' or ')' for the '(' 3 characters before"},
        {"min(1,)", "column 7: expected a number, a name or '(', not ')'"},
        {"rows ** 2", "column 6: there is no power operator: multiply"},
        {"rows = 2", "column 6: a single '=' means nothing: write == to compare"},
        {"1 < 2 < 3", "column 7: comparisons do not chain: join two of them with 'and'"},
        {"1 == 2 == 3", "column 8: comparisons do not chain: join two of them with 'and'"},
        {"rows and", "column 9: ends too early: expected a number, a name or '('"},
        {"rows or cols", "column 6: expected an operator or the end, not 'o'"},
        {"+1", "column 1: expected a number, a name or '(', not '+'"},
        {"--1", "column 2: expected a number, a name or '(', not '-'"},
        {"1 & 2", "column 3: expected an operator or the end, not '&'"},
        {"!1", "column 1: expected a number, a name or '(', not '!'"},
        {"1,5", "column 2: expected an operator or the end, not ','"},
        {"r\xC3\xB6ws", "column 1: unknown name 'r'; choose one of rows, cols, zero, minimum, min, "
                        "max, ceil_div, log2, sqrt"},
        {"1 \x01", "column 3: expected an operator or the end, not byte 0x01"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct expression *expression;
        struct err err = {0};
        if (parse(&arena, rows[i].text, &expression, &err) == 0)
            fail_msg("accepted: %s", rows[i].text);
        assert_int_equal(err.code, ERR_INPUT);
        assert_string_equal(err.text, rows[i].error);
        uint32_t column = 0;
        struct err placed = {0};
        assert_int_equal(expression_parse_placed(&arena, rows[i].text, names, NAMES, &expression,
                                                 &column, &placed),
                         ERR_INPUT);
        char joined[ERR_TEXT_MAX + 32];
        snprintf(joined, sizeof joined, "column %u: %s", column, placed.text);
        assert_string_equal(joined, rows[i].error);
    }
    arena_deinit(&arena);
}

TEST(bounds)
{
    struct arena arena = {0};
    const struct expression *expression;
    struct err err = {0};
    char text[LIMIT_EXPRESSION_BYTES + 2];
    /* Length. */
    memset(text, ' ', sizeof text);
    text[0] = '1';
    text[LIMIT_EXPRESSION_BYTES] = '\0';
    assert_int_equal(parse(&arena, text, &expression, &err), 0);
    text[LIMIT_EXPRESSION_BYTES] = ' ';
    text[LIMIT_EXPRESSION_BYTES + 1] = '\0';
    assert_int_equal(parse(&arena, text, &expression, &err), ERR_INPUT);
    assert_string_equal(err.text, "column 1: is longer than 256 characters");
    /* Depth: as many levels as allowed, one of which is the outermost; then one more. */
    for (int extra = 0; extra < 2; extra++) {
        int depth = LIMIT_EXPRESSION_DEPTH - 1 + extra;
        memset(text, '(', (size_t)depth);
        text[depth] = '1';
        memset(text + depth + 1, ')', (size_t)depth);
        text[2 * depth + 1] = '\0';
        assert_int_equal(parse(&arena, text, &expression, &err), extra ? ERR_INPUT : 0);
    }
    assert_string_equal(err.text, "column 33: is nested deeper than 32 levels");
    /* As long a chain as fits. */
    int ones = 0;
    for (int i = 0; i < LIMIT_EXPRESSION_BYTES - 1; i++) {
        text[i] = i % 2 ? '+' : '1';
        ones += text[i] == '1';
    }
    text[LIMIT_EXPRESSION_BYTES - 1] = '\0';
    assert_int_equal(parse(&arena, text, &expression, &err), 0);
    assert_true(expression_value(expression, values) == ones);
    arena_deinit(&arena);
}

/* Numbers against the C library, over the range where ours promises to be exact. */
TEST(numbers)
{
    struct arena arena = {0};
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        uint64_t digits = random_next(&random) % 1000000000000000u;
        int exponent = (int)(random_next(&random) % 19) - 9;
        snprintf(text, sizeof text, "%llu.%03ue%d", (unsigned long long)(digits / 1000),
                 (unsigned)(digits % 1000), exponent);
        const struct expression *expression;
        assert_int_equal(expression_parse(&arena, text, NULL, 0, &expression, NULL), 0);
        if (expression_value(expression, NULL) != strtod(text, NULL))
            fail_msg("%s", text);
    }
    arena_deinit(&arena);
}

TEST(reserved)
{
    assert_true(expression_reserves("min"));
    assert_true(expression_reserves("and"));
    assert_false(expression_reserves("rows"));
    assert_false(expression_reserves("mi"));
}
