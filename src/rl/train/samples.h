/* samples: a few answers with their verdicts as Markdown, for people who look on in TensorBoard.
 *
 * Of each problem the first episode, of at most SAMPLES_MOST problems; long texts are cut, so that
 * all of it has a bounded length. Texts of models stand as indented blocks, which nothing in them
 * can end.
 *
 * Ownership: the caller's storage. Threads: one at a time.
 */
#ifndef WARPGYM_RL_TRAIN_SAMPLES_H
#define WARPGYM_RL_TRAIN_SAMPLES_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

#define SAMPLES_MOST 4
#define SAMPLES_TURNS 4
#define SAMPLES_PROMPT_BYTES 1000
#define SAMPLES_ANSWER_BYTES 3000
#define SAMPLES_MESSAGE_BYTES 500

struct samples {
    struct buf text;
    char *problem; /* of the last one */
    size_t count;
};

void samples_init(struct samples *samples);
void samples_deinit(struct samples *samples);

/* `trajectory` as in docs/trajectories.md; one that is not wanted is passed over. NULL is fine. */
void samples_add(struct samples *samples, const json_t *trajectory);
/* Of a file of trajectories. One that is not there adds nothing. ERR_INPUT: FILE:LINE. */
NODISCARD int samples_add_file(struct samples *samples, const char *path, struct err *err);

#endif
