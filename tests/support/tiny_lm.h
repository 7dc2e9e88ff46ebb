/* tiny_lm: a small model (small_model.h) with its trainer, and datums made of numbers. A failure of
 * theirs fails the test. */
#pragma once

#include "lm/train/trainer.h"

#define TINY_VOCAB 48

struct tiny_lm {
    struct lm_backend *backend;
    struct lm_model *model;
    struct lm_trainer *trainer;
};

/* The model's shape, with a vocabulary of the caller's. */
struct lm_config tiny_lm_config(size_t vocab);

/* Writes such a model into a directory. */
void tiny_lm_write(const char *directory, size_t vocab, size_t positions);

/* Rank 0: all of it is trained; else an adapter of that rank. */
void tiny_lm_open(struct tiny_lm *tiny, uint64_t seed, size_t rank, size_t batch_tokens);
void tiny_lm_close(struct tiny_lm *tiny);

/* All values of the trained parameters, one behind the other (mem_free). */
float *tiny_lm_values(const struct tiny_lm *tiny, bool gradients, size_t *count);
/* To the last bit. */
void tiny_lm_assert_same(const struct tiny_lm *a, const struct tiny_lm *b, bool gradients);

/* A datum of `count` rows, its content from the seed; tiny_datum_free releases the arrays of any
 * that owns them. */
struct lm_datum tiny_datum(uint64_t seed, size_t count, size_t targets_per_row);
void tiny_datum_free(struct lm_datum *datum);

/* One step of ppo on three datums from the seed; *sums and *norm are what came of it. */
void tiny_lm_step(struct tiny_lm *tiny, uint64_t seed, struct loss_sums *sums, double *norm);
