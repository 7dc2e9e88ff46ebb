/* random: numbers from a counter instead of a state: seed and position determine the number, in any
 * order, on any thread and after any restart. For experiments, not for secrets (clock_secret).
 */
#pragma once

#include <stdint.h>

#define RANDOM_GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio: the counter's step */

/* The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection that looks random. */
static inline uint64_t random_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The next number of a stream; *state begins as the seed. */
static inline uint64_t random_next(uint64_t *state)
{
    return random_mix(*state += RANDOM_GOLDEN);
}

/* In [0, 1): the upper 53 bits. */
static inline double random_uniform(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}
