/* signature: the C prototype in problem.yaml, taken apart.
 *
 *   void solution(const float *x, float *restrict y, size_t rows, float alpha)
 *
 * Exactly this shape: one word for a type, at most one '*', a name for every parameter.
 */
#pragma once

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct parameter {
    const char *type; /* "float" */
    const char *name;
    bool constant; /* what it points to, or itself */
    bool pointer;
    uint32_t column; /* of its first character, from 1 */
};

struct signature {
    uint32_t count;
    struct parameter parameters[LIMIT_ARGUMENTS];
};

/* Strings go to the arena. On failure *column says where in `text`, from 1. */
NODISCARD int signature_parse(struct arena *arena, const char *text, struct signature *signature,
                              uint32_t *column, struct err *err);
