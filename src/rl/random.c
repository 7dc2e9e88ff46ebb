#include "rl/random.h"

/* Stafford's mixer 13 (the finaliser of SplitMix64). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

static uint64_t absorb(uint64_t state, uint64_t word)
{
    return mix((state ^ mix(word + 0x9e3779b97f4a7c15U)) + 0x9e3779b97f4a7c15U);
}

uint64_t rl_number(uint64_t seed, uint64_t step, enum rl_stream stream, uint64_t index)
{
    return absorb(absorb(absorb(absorb(0, seed), step), stream), index);
}

double rl_uniform(uint64_t seed, uint64_t step, enum rl_stream stream, uint64_t index)
{
    return (double)(rl_number(seed, step, stream, index) >> 11) * 0x1p-53;
}

/* Fisher and Yates; number i of the stream decides place i. */
void rl_shuffle(uint64_t seed, uint64_t step, enum rl_stream stream, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i-- > 1;) {
        size_t other = (size_t)(rl_uniform(seed, step, stream, i) * (double)(i + 1));
        size_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}
