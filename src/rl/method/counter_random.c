#include "rl/method/counter_random.h"

#include "base/random.h"

static uint64_t mix_bits(uint64_t state, uint64_t word)
{
    return random_mix((state ^ random_mix(word + RANDOM_GOLDEN)) + RANDOM_GOLDEN);
}

uint64_t rl_random_bits(uint64_t seed, uint64_t step, enum rl_stream stream, uint64_t index)
{
    return mix_bits(mix_bits(mix_bits(mix_bits(0, seed), step), stream), index);
}

double rl_uniform(uint64_t seed, uint64_t step, enum rl_stream stream, uint64_t index)
{
    return random_uniform(rl_random_bits(seed, step, stream, index));
}

/* Fisher and Yates; number i of the stream chooses position i. */
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
