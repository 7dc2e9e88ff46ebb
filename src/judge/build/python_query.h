/* python_query: what the judge's Python says of itself, asked once for each judge: 40 ms.
 *
 * Threads: any; one at a time asks.
 */
#pragma once

#include "judge/build/scratch.h"

struct python_query {
    const char *text;   /* prints the lines */
    const char *wanted; /* in an error: "PyTorch" */
    char **kept;        /* the answer, a member of the tools, under their lock */
};

/* The answer's lines, `count` of them, the caller's. ERR_MISSING: it fails. */
NODISCARD int python_query_lines(struct build_tools *tools, const struct python_query *query,
                                 char **const lines[], size_t count, struct err *err);
