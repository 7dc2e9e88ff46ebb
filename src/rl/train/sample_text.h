/* sample_text: a few answers with their verdicts as Markdown, for TensorBoard.
 *
 * The first episode of each problem, of at most SAMPLE_TEXT_PROBLEMS problems; long texts are cut,
 * so that the length is bounded. Model output stands in indented blocks, which no content can end.
 *
 * Ownership: the caller's storage. Threads: one at a time. Errors: ERR_INPUT.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

#define SAMPLE_TEXT_PROBLEMS 4
#define SAMPLE_TEXT_TURNS 4
#define SAMPLE_TEXT_PROMPT_BYTES 1000
#define SAMPLE_TEXT_ANSWER_BYTES 3000
#define SAMPLE_TEXT_MESSAGE_BYTES 500

struct sample_text {
    struct buf text;
    char *problem; /* of the last one */
    size_t count;
};

void sample_text_init(struct sample_text *samples);
void sample_text_deinit(struct sample_text *samples);

/* `trajectory` as in docs/reference/trajectories.md; unwanted ones are ignored. NULL is fine. */
void sample_text_add(struct sample_text *samples, const json_t *trajectory);
/* Adds a file of trajectories. A missing file adds nothing. ERR_INPUT: FILE:LINE. */
NODISCARD int sample_text_add_file(struct sample_text *samples, const char *path, struct err *err);
