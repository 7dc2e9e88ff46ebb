/* expression_node: what a parsed expression is, for expression_parse.c and expression.c. */
#pragma once

#include "problem/expression.h"

enum operation {
    OP_NUMBER,
    OP_NAME,
    OP_NEGATE,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_FLOOR_DIVIDE,
    OP_REMAINDER,
    OP_EQUAL,
    OP_UNEQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_AND,
    OP_MIN,
    OP_MAX,
    OP_CEIL_DIVIDE,
    OP_LOG2,
    OP_SQRT
};

struct node {
    enum operation operation;
    uint32_t name; /* OP_NAME: its place among the names */
    double number; /* OP_NUMBER */
    const struct node *left, *right;
};

struct expression {
    const char *text;
    const struct node *root;
};
