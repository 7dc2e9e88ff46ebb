/* counter_random: random numbers from a counter. The same (seed, step, stream, index) gives the
 * same number on every machine and in every order, so that a resumed run draws the same as an
 * uninterrupted one. Threads: pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The purpose of a number: no two purposes share numbers. */
enum rl_stream {
    RL_STREAM_COVERAGE = 1,
    RL_STREAM_PROMPTS,
    RL_STREAM_DATA = 4,
    RL_STREAM_ANSWERS,
    RL_STREAM_HELD_OUT,
    RL_STREAM_SUBSTEPS,
    RL_STREAM_ROLLOUTS,
    RL_STREAM_ORDER,
};

/* 64 bits. */
uint64_t rl_random_bits(uint64_t seed, uint64_t step, enum rl_stream stream, uint64_t index);

/* Uniform in [0, 1), 53 bits. */
double rl_uniform(uint64_t seed, uint64_t step, enum rl_stream stream, uint64_t index);
/* A permutation of 0 … count - 1. */
void rl_shuffle(uint64_t seed, uint64_t step, enum rl_stream stream, size_t *order, size_t count);
