/* run_answers: a few of the answers that a run trained on, first and last ones, for its page. */
#ifndef WARPGYM_RL_RUN_ANSWERS_H
#define WARPGYM_RL_RUN_ANSWERS_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

#define RUN_ANSWERS_MOST 6 /* of a step */

/* Lines of traces.jsonl (docs/schemas/trace.schema.json) of the first step, then of the last one,
 * the first turn of each problem; a new reference to an array. A file that is not there, or has no
 * whole line, has none. ERR_INPUT: FILE: a line that is none. */
NODISCARD int run_answers_read(const char *directory, json_t **out, struct err *err);
/* As cards of the page. */
void run_answers_put(const json_t *traces, struct buf *out);

#endif
