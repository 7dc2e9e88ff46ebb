#include "problem/expression_node.h"

#include <math.h>

int expression_parse(struct arena *arena, const char *text, const char *const *names,
                     uint32_t count, const struct expression **expression, struct err *err)
{
    uint32_t column = 1;
    int result = expression_parse_placed(arena, text, names, count, expression, &column, err);
    return result < 0 ? err_prefix(err, "column %u", column) : 0;
}

/* A value that is no number stays one: fmin and fmax would drop it. */
static double least_of(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}

static double quotient_of(double a, double b)
{
    return b == 0 ? NAN : a / b;
}

static double value_of(const struct node *node, const int64_t *values)
{
    if (node->operation == OP_NUMBER)
        return node->number;
    if (node->operation == OP_NAME)
        return (double)values[node->name];
    double a = value_of(node->left, values);
    double b = node->right ? value_of(node->right, values) : 0;
    switch (node->operation) {
    case OP_NEGATE:
        return -a;
    case OP_ADD:
        return a + b;
    case OP_SUBTRACT:
        return a - b;
    case OP_MULTIPLY:
        return a * b;
    case OP_DIVIDE:
        return quotient_of(a, b);
    case OP_FLOOR_DIVIDE:
        return floor(quotient_of(a, b));
    case OP_REMAINDER:
        return a - floor(quotient_of(a, b)) * b;
    case OP_EQUAL:
        return a == b;
    case OP_UNEQUAL:
        return a < b || a > b;
    case OP_LESS:
        return a < b;
    case OP_LESS_EQUAL:
        return a <= b;
    case OP_GREATER:
        return a > b;
    case OP_GREATER_EQUAL:
        return a >= b;
    case OP_AND:
        return fabs(a) > 0 && fabs(b) > 0;
    case OP_MIN:
        return least_of(a, b);
    case OP_MAX:
        return -least_of(-a, -b);
    case OP_CEIL_DIVIDE:
        return ceil(quotient_of(a, b));
    case OP_LOG2:
        return log2(a);
    case OP_SQRT:
        return sqrt(a);
    default:
        return NAN;
    }
}

double expression_value(const struct expression *expression, const int64_t *values)
{
    return value_of(expression->root, values);
}

const char *expression_text(const struct expression *expression)
{
    return expression->text;
}
