/* rows: JSON lines of rows, or of trajectories, as the arrays of warpgym_rl.h.
 *
 *   {"prompt": "softmax", "rollout": 3, "turn": 0, "reward": 1.2, "correct": true, "trained": […]}
 *   one line of trajectories.jsonl: each of its turns is a row, without tokens
 *
 * A column stands in every row or in none; `reward` may be null (could not be judged), or absent
 * where `verdict` or `facts` has what a preset pays for.
 *
 * Ownership: everything until rows_close. Errors: ERR_INPUT with FILE:LINE; ERR_LIMIT.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "warpgym_rl.h"

#include <jansson.h>

#define ROWS_COLUMNS 15

struct rows_reader {
    const char *reward, *coverage; /* preset and measure, for rows without a reward */
    struct warpgym_rl_rows rows;   /* after rows_finish */
    json_t *named;                 /* [{"prompt", "rollout", "turn"} of each row as it was given] */
    struct rows_names {
        json_t *texts; /* {TEXT: its number} */
        bool numbers;  /* they are numbers already */
    } names[2];        /* prompts, rollouts */
    struct buf columns[ROWS_COLUMNS], offset;
    bool given[ROWS_COLUMNS];
    size_t trajectories;
};

/* Strings are borrowed. */
void rows_open(struct rows_reader *reader, const char *reward, const char *coverage);
void rows_close(struct rows_reader *reader);
/* Adds a file; "-": standard input. */
NODISCARD int rows_read(struct rows_reader *reader, const char *path, struct err *err);
/* Fills reader->rows. ERR_INPUT: there is no row. */
NODISCARD int rows_finish(struct rows_reader *reader, struct err *err);
