/* cases: what a simple problem (problem/simple.h) has instead of a reference.
 *
 *   sandboxed process: runs the module ─► description, values ─► judge ─► reference child: answers
 *   (ends then)                                                       with values, runs nothing
 *
 * The module may be the candidate's own text, so it never runs in the reference child, whose clock
 * the judge trusts. What comes of it is checked here before it is used.
 */
#pragma once

#include "base/err.h"
#include "judge/process/wire.h"
#include "problem/problem.h"

#include <stddef.h>
#include <stdint.h>

#define CASES_MOST 64
#define CASE_NAME_BYTES 64

struct cases {
    uint32_t count; /* 0: the problem has a reference */
    uint32_t compared;
    uint32_t first_tensors; /* among the inputs: of the first case, which is timed */
    struct {
        char name[CASE_NAME_BYTES];
        uint32_t outputs; /* that it is compared by; 0: it is not */
        struct tolerance tolerance;
    } items[CASES_MOST];
};

/* Of the description that the process wrote. ERR_INPUT, ERR_LIMIT. */
NODISCARD int cases_parse(struct cases *cases, const char *text, size_t bytes, struct err *err);

/* The case that an output, counted from 0, belongs to; *within: its number there. Past the last
 * output: the last case. */
uint32_t cases_find(const struct cases *cases, uint32_t output, uint32_t *within);
