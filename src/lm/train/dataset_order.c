#include "lm/train/dataset_order.h"

#include "base/random.h"

#define ROUNDS 8

static uint64_t mix(uint64_t x)
{
    return random_mix(x + RANDOM_GOLDEN);
}

static uint64_t permute(uint64_t key, unsigned half_bits, uint64_t value)
{
    const uint64_t mask = ((uint64_t)1 << half_bits) - 1;
    uint64_t left = value >> half_bits, right = value & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t next = left ^ (mix(key ^ mix(right << 8 | round)) & mask);
        left = right;
        right = next;
    }
    return left << half_bits | right;
}

size_t dataset_order(uint64_t seed, uint64_t epoch, size_t count, size_t index)
{
    const uint64_t key = mix(mix(seed) ^ epoch);
    unsigned half_bits = 1;
    while ((uint64_t)1 << 2 * half_bits < count)
        half_bits++;
    uint64_t at = index;
    do
        at = permute(key, half_bits, at);
    while (at >= count);
    return (size_t)at;
}
