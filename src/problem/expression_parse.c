#include "problem/expression_node.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/suggest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct symbol {
    const char *text;
    enum operation operation;
};

/* Longer ones before their beginnings. */
static const struct symbol comparisons[] = {
    {"==", OP_EQUAL},         {"!=", OP_UNEQUAL}, {"<=", OP_LESS_EQUAL},
    {">=", OP_GREATER_EQUAL}, {"<", OP_LESS},     {">", OP_GREATER},
};
static const struct symbol sums[] = {{"+", OP_ADD}, {"-", OP_SUBTRACT}};
static const struct symbol products[] = {{"*", OP_MULTIPLY},
                                         {"//", OP_FLOOR_DIVIDE},
                                         {"/", OP_DIVIDE},
                                         {"%", OP_REMAINDER}};

static const struct function {
    const char *name;
    enum operation operation;
    uint32_t least, most; /* arguments */
} functions[] = {
    {"min", OP_MIN, 2, UINT32_MAX},
    {"max", OP_MAX, 2, UINT32_MAX},
    {"ceil_div", OP_CEIL_DIVIDE, 2, 2},
    {"log2", OP_LOG2, 1, 1},
    {"sqrt", OP_SQRT, 1, 1},
};

struct parser {
    struct arena *arena;
    const char *text;
    const char *at;
    const char *const *names;
    uint32_t name_count;
    uint32_t depth;
    const char *failed_at; /* NULL until the first failure, which is the one that is reported */
    char reason[256];
};

/* Parsing functions return NULL once something failed. */
static const struct node *parse_all(struct parser *parser);

__attribute__((format(printf, 3, 4))) static const struct node *
fail_parse(struct parser *parser, const char *at, const char *format, ...)
{
    if (!parser->failed_at) {
        va_list args;
        va_start(args, format);
        vsnprintf(parser->reason, sizeof parser->reason, format, args);
        va_end(args);
        parser->failed_at = at;
    }
    return NULL;
}

static const struct node *make_node(struct parser *parser, enum operation operation,
                                    const struct node *left, const struct node *right)
{
    struct node *node = arena_alloc(parser->arena, sizeof *node);
    node->operation = operation;
    node->left = left;
    node->right = right;
    return node;
}

static void skip_blanks(struct parser *parser)
{
    while (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n')
        parser->at++;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    if (is_name_start(*at))
        while (is_name_start(at[length]) || is_digit(at[length]))
            length++;
    return length;
}

static bool take_symbol(struct parser *parser, const struct symbol *symbols, size_t count,
                        enum operation *operation)
{
    skip_blanks(parser);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(symbols[i].text);
        if (strncmp(parser->at, symbols[i].text, length) != 0)
            continue;
        parser->at += length;
        *operation = symbols[i].operation;
        return true;
    }
    return false;
}

static double power_of_ten(int exponent)
{
    double power = 1;
    for (int i = 0; i < exponent; i++)
        power *= 10;
    return power;
}

/* Decimal text to double without strtod, which heeds the locale and takes "inf" and hexadecimal.
 * Up to 15 digits and powers of ten up to 22 are exact doubles, so that the one operation on them
 * rounds correctly (Clinger 1990); the rest is right to a few last places. */
static double scale_by_ten(double digits, int exponent)
{
    while (exponent < -22) {
        digits /= 1e22;
        exponent += 22;
    }
    while (exponent > 22) {
        digits *= 1e22;
        exponent -= 22;
    }
    return exponent < 0 ? digits / power_of_ten(-exponent) : digits * power_of_ten(exponent);
}

/* Reads digits into *value and returns how many there were; those that a double cannot hold any
 * more only move the point. */
static int take_digits(struct parser *parser, double *value, int *dropped)
{
    int count = 0;
    for (; is_digit(*parser->at); parser->at++, count++) {
        if (*value >= 1e16)
            *dropped += 1;
        else
            *value = *value * 10 + (*parser->at - '0');
    }
    return count;
}

static const struct node *parse_number(struct parser *parser)
{
    const char *start = parser->at;
    double digits = 0;
    int dropped_whole = 0, dropped_fraction = 0, exponent = 0;
    int count = take_digits(parser, &digits, &dropped_whole);
    int fraction = 0;
    if (*parser->at == '.') {
        parser->at++;
        fraction = take_digits(parser, &digits, &dropped_fraction);
    }
    if (count + fraction == 0)
        return fail_parse(parser, start, "a number needs a digit");
    if (*parser->at == 'e' || *parser->at == 'E') {
        bool negative = parser->at[1] == '-';
        parser->at += parser->at[1] == '-' || parser->at[1] == '+' ? 2 : 1;
        if (!is_digit(*parser->at))
            return fail_parse(parser, start, "a number needs digits behind its 'e'");
        for (; is_digit(*parser->at); parser->at++)
            exponent = exponent < 1000 ? exponent * 10 + (*parser->at - '0') : exponent;
        exponent = negative ? -exponent : exponent;
    }
    if (is_name_start(*parser->at) || *parser->at == '.')
        return fail_parse(parser, start, "a number runs into '%.20s'; write * to multiply",
                          parser->at);
    double value = scale_by_ten(digits, exponent + dropped_whole + dropped_fraction - fraction);
    if (!isfinite(value))
        return fail_parse(parser, start, "the number is too large");
    struct node *node = arena_alloc(parser->arena, sizeof *node);
    node->operation = OP_NUMBER;
    node->number = value;
    return node;
}

static const struct node *unknown_name(struct parser *parser, const char *what, const char *word,
                                       const char *start)
{
    const char *known[LIMIT_SIZES + COUNT(functions)];
    size_t count = 0;
    struct err err;
    for (uint32_t i = 0; i < parser->name_count && i < LIMIT_SIZES; i++)
        known[count++] = parser->names[i];
    for (size_t i = 0; i < COUNT(functions); i++)
        known[count++] = functions[i].name;
    err_unknown(&err, what, word, known, count);
    bool numbers = parser->name_count == 0 && !suggest_name(word, known, count);
    return numbers ? fail_parse(parser, start, "unknown %s '%.60s'; only numbers may stand here",
                                what, word)
                   : fail_parse(parser, start, "%s", err.text);
}

static const struct node *parse_arguments(struct parser *parser, const struct function *function,
                                          const char *start)
{
    const struct node *value = NULL;
    const char *open = parser->at++;
    uint32_t count = 0;
    for (;;) {
        const struct node *argument = parse_all(parser);
        if (!argument)
            return NULL;
        count++;
        if (function->least == 1)
            value = make_node(parser, function->operation, argument, NULL);
        else
            value = count == 1 ? argument : make_node(parser, function->operation, value, argument);
        skip_blanks(parser);
        if (*parser->at == ',') {
            parser->at++;
            continue;
        }
        if (*parser->at != ')')
            return fail_parse(parser, parser->at,
                              "expected ',' or ')' for the '(' %d characters before",
                              (int)(parser->at - open));
        parser->at++;
        break;
    }
    if (count < function->least || count > function->most)
        return fail_parse(parser, start, "%s takes %s%u argument%s, not %u", function->name,
                          function->most > function->least ? "at least " : "", function->least,
                          function->least == 1 ? "" : "s", count);
    return value;
}

static const struct node *parse_word(struct parser *parser)
{
    const char *start = parser->at;
    size_t length = word_length(start);
    parser->at += length;
    for (uint32_t i = 0; i < parser->name_count; i++) {
        if (strncmp(start, parser->names[i], length) != 0 || parser->names[i][length] != '\0')
            continue;
        struct node *node = arena_alloc(parser->arena, sizeof *node);
        node->operation = OP_NAME;
        node->name = i;
        return node;
    }
    skip_blanks(parser);
    for (size_t i = 0; i < COUNT(functions); i++) {
        if (strncmp(start, functions[i].name, length) != 0 || functions[i].name[length] != '\0')
            continue;
        if (*parser->at != '(')
            return fail_parse(parser, start, "'%s' is a function: write %s(...)", functions[i].name,
                              functions[i].name);
        return parse_arguments(parser, &functions[i], start);
    }
    char word[LIMIT_EXPRESSION_BYTES + 1];
    snprintf(word, sizeof word, "%.*s", (int)length, start);
    return unknown_name(parser, *parser->at == '(' ? "function" : "name", word, start);
}

static const struct node *unexpected_token(struct parser *parser, const char *expected)
{
    unsigned char c = (unsigned char)*parser->at;
    if (c == '\0')
        return fail_parse(parser, parser->at, "ends too early: expected %s", expected);
    if (c < ' ' || c >= 127)
        return fail_parse(parser, parser->at, "expected %s, not byte 0x%02x", expected, c);
    return fail_parse(parser, parser->at, "expected %s, not '%c'", expected, c);
}

static const struct node *parse_primary(struct parser *parser)
{
    skip_blanks(parser);
    if (is_digit(*parser->at) || *parser->at == '.')
        return parse_number(parser);
    if (is_name_start(*parser->at))
        return parse_word(parser);
    if (*parser->at != '(')
        return unexpected_token(parser, "a number, a name or '('");
    const char *open = parser->at++;
    const struct node *value = parse_all(parser);
    if (!value)
        return NULL;
    skip_blanks(parser);
    if (*parser->at != ')')
        return fail_parse(parser, open, "this '(' is never closed");
    parser->at++;
    return value;
}

static const struct node *parse_unary(struct parser *parser)
{
    skip_blanks(parser);
    if (*parser->at != '-')
        return parse_primary(parser);
    parser->at++;
    const struct node *value = parse_primary(parser);
    return value ? make_node(parser, OP_NEGATE, value, NULL) : NULL;
}

static const struct node *parse_product(struct parser *parser)
{
    enum operation operation;
    const struct node *left = parse_unary(parser);
    while (left && take_symbol(parser, products, COUNT(products), &operation)) {
        if (operation == OP_MULTIPLY && *parser->at == '*')
            return fail_parse(parser, parser->at - 1, "there is no power operator: multiply");
        const struct node *right = parse_unary(parser);
        left = right ? make_node(parser, operation, left, right) : NULL;
    }
    return left;
}

static const struct node *parse_sum(struct parser *parser)
{
    enum operation operation;
    const struct node *left = parse_product(parser);
    while (left && take_symbol(parser, sums, COUNT(sums), &operation)) {
        const struct node *right = parse_product(parser);
        left = right ? make_node(parser, operation, left, right) : NULL;
    }
    return left;
}

static const struct node *parse_compare(struct parser *parser)
{
    enum operation operation;
    const struct node *left = parse_sum(parser);
    if (!left || !take_symbol(parser, comparisons, COUNT(comparisons), &operation))
        return left;
    const struct node *right = parse_sum(parser);
    skip_blanks(parser);
    const char *again = parser->at;
    if (right && take_symbol(parser, comparisons, COUNT(comparisons), &operation))
        return fail_parse(parser, again, "comparisons do not chain: join two of them with 'and'");
    return right ? make_node(parser, operation, left, right) : NULL;
}

static const struct node *parse_all(struct parser *parser)
{
    if (parser->depth == LIMIT_EXPRESSION_DEPTH)
        return fail_parse(parser, parser->at, "is nested deeper than %d levels",
                          LIMIT_EXPRESSION_DEPTH);
    parser->depth++;
    const struct node *left = parse_compare(parser);
    for (skip_blanks(parser); left; skip_blanks(parser)) {
        if (word_length(parser->at) != 3 || strncmp(parser->at, "and", 3) != 0)
            break;
        parser->at += 3;
        const struct node *right = parse_compare(parser);
        left = right ? make_node(parser, OP_AND, left, right) : NULL;
    }
    parser->depth--;
    return left;
}

int expression_parse_placed(struct arena *arena, const char *text, const char *const *names,
                            uint32_t count, const struct expression **expression, uint32_t *column,
                            struct err *err)
{
    struct parser parser = {.arena = arena, .names = names, .name_count = count};
    parser.text = parser.at = text;
    const struct node *root = NULL;
    if (strnlen(text, LIMIT_EXPRESSION_BYTES + 1) > LIMIT_EXPRESSION_BYTES) {
        fail_parse(&parser, text, "is longer than %d characters", LIMIT_EXPRESSION_BYTES);
    } else {
        parser.text = parser.at = arena_strdup(arena, text);
        root = parse_all(&parser);
        skip_blanks(&parser);
        if (root && *parser.at == '=')
            root = fail_parse(&parser, parser.at,
                              "a single '=' means nothing: write == to compare");
        else if (root && *parser.at != '\0')
            root = unexpected_token(&parser, "an operator or the end");
    }
    if (!root) {
        *column = (uint32_t)(parser.failed_at - parser.text) + 1;
        return err_set(err, ERR_INPUT, "%s", parser.reason);
    }
    struct expression *made = arena_alloc(arena, sizeof *made);
    made->text = parser.text;
    made->root = root;
    *expression = made;
    return 0;
}

bool expression_reserves(const char *name)
{
    for (size_t i = 0; i < COUNT(functions); i++)
        if (strcmp(name, functions[i].name) == 0)
            return true;
    return strcmp(name, "and") == 0;
}
