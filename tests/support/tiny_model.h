/* tiny_model: a small model (small_model.h) for samplers; and what a request brings, kept for a
 * look at the end. */
#pragma once

#include "lm/sample/sampler.h"

#define TINY_VOCAB 47
#define TINY_POSITIONS 96

struct tiny {
    struct lm_backend *backend;
    struct lm_model *model;
};
/* Fails the test where it can't. */
void tiny_open(struct tiny *tiny, const char *backend);
void tiny_close(struct tiny *tiny);
/* Other weights, in place; the same for a seed. */
void tiny_change(struct tiny *tiny, uint64_t seed);

#define TINY_SAMPLES 8
struct tiny_answer {
    size_t events[TINY_SAMPLES], scored, ended;
    struct lm_sample samples[TINY_SAMPLES];
    float prompt_logprobs[TINY_POSITIONS];
    struct lm_top prompt_top[TINY_POSITIONS * 2];
    size_t prompt_count, top_count; /* set before, for prompt log-probabilities */
};
void tiny_sampled(void *context, size_t index, const struct lm_sample *sample);
void tiny_scored(void *context, const float *logprobs, const struct lm_top *top);
void tiny_answer_deinit(struct tiny_answer *answer);
/* To the last bit. */
void tiny_assert_same(const struct lm_sample *a, const struct lm_sample *b, const char *what);
