/* dataset: what a model is fine-tuned on: lines of JSONL files as token ids, with a weight for
 * each.
 *
 *   {"messages": [{"role": "user", "content": "…"}, …]}   loss on the assistant's answers
 *   {"prompt": "…", "completion": "…"}                    loss on the completion and its end
 *   {"text": "…"}                                         loss on all of it
 *
 * Other keys of a line are left alone, so trajectories.jsonl (docs/reference/trajectories.md) is a
 * data set as it is. Everything is read and encoded by dataset_open; an error names
 * FILE:LINE:COLUMN.
 *
 * The order of an epoch is a permutation computed from (seed, epoch, index) alone: there is no
 * state to keep, and a place is two numbers.
 *
 * Ownership: datums point into the data set. Threads: read-only once it is open.
 */
#pragma once

#include "lm/tokenizer/chat.h"
#include "lm/train/trainer.h"

struct dataset;

/* What becomes of an example with more than max_tokens rows. */
enum dataset_long {
    DATASET_CUT,   /* its end goes */
    DATASET_DROP,  /* it goes */
    DATASET_SPLIT, /* its rest becomes further examples; of {"text"} alone, others are cut */
};

struct dataset_options {
    enum chat_style style; /* of {"messages"} */
    bool thinking;         /* CHAT_QWEN3 */
    size_t max_tokens;     /* rows of one datum; at least 1 */
    enum dataset_long too_long;
    bool special; /* special tokens that stand in texts, prompts and completions are such */
    bool shuffle; /* else each epoch is in the order of the files */
    uint64_t seed;
    /* Ends completions and texts; -1: the tokenizer's <|endoftext|>, <|end_of_text|>, </s> or
     * <|im_end|>, whichever it has first. */
    int32_t end_token;
};
extern const struct dataset_options dataset_defaults; /* plain, 2048 rows, cut, shuffled, seed 0 */

struct dataset_stats {
    size_t lines;     /* that hold an example */
    size_t count;     /* examples */
    size_t cut;       /* lines that were too long: shortened, or split */
    size_t dropped;   /* likewise, or without anything to learn from (no row of weight 1) */
    uint64_t rows;    /* of all examples */
    uint64_t targets; /* of them those with weight 1 */
    size_t longest;   /* rows of the longest example */
};

/* Empty lines are skipped. ERR_INPUT where no example is left. */
NODISCARD int dataset_open(struct dataset **out, const char *const *paths, size_t count,
                           struct tokenizer *tokenizer, const struct dataset_options *options,
                           struct err *err);
void dataset_close(struct dataset *dataset);

struct dataset_stats dataset_stats(const struct dataset *dataset);
/* Examples of one epoch; at least 1. */
size_t dataset_count(const struct dataset *dataset);

/* Example `index` (below dataset_count) of an epoch: tokens, targets (the next token) and weights
 * (1 on answers, else 0), [count] each; everything else of *out is zero. */
void dataset_at(const struct dataset *dataset, uint64_t epoch, size_t index, struct lm_datum *out);

/* A place between two examples; zero is the beginning. Save both numbers to go on exactly there. */
struct dataset_place {
    uint64_t epoch;
    size_t index;
};
/* The example at the place, which moves on: behind an epoch's last one to the next epoch. */
void dataset_next(const struct dataset *dataset, struct dataset_place *place, struct lm_datum *out);

/* The examples of one step of training, with weights that are parts of 1: a step's loss is then the
 * mean over its rows with a weight, and a rate means the same whatever a step's size is. Zeroed at
 * first; used again for each step. */
struct dataset_step {
    struct lm_datum *datums;
    size_t count, capacity;
    float *weights; /* of all rows */
    size_t weights_capacity;
    uint64_t rows, targets; /* targets: rows with a weight */
};
void dataset_step_deinit(struct dataset_step *step);
/* The step of up to `most` rows that begins at the place, which moves behind it. A longer example
 * makes a step of its own; an epoch's end ends the step. */
void dataset_take_step(const struct dataset *dataset, size_t most, struct dataset_place *place,
                       struct dataset_step *step);
/* The steps of so many epochs, LIMIT_LM_STEPS at most. */
uint64_t dataset_count_steps(const struct dataset *dataset, size_t most, uint64_t epochs);

/* SHA-256 of all ids, weights and the order's seed: a run that resumes compares it. */
const char *dataset_hash(const struct dataset *dataset);
