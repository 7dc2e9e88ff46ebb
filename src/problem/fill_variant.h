/* fill_variant: the inside of fill, for fill.c, fill_numbers.c and their test.
 *
 * Fills of plain numbers exist once for each instruction set. All variants give the same bytes
 * (test_fill.c compares them with each other and with a slow reference); fill.c picks the widest
 * one that this machine runs.
 */
#pragma once

#include "problem/layout.h"

#include <stdbool.h>

/* Element i takes its 64 bits from SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a counter run
 * through Stafford's mixer 13, started at a key of its own for each (seed, argument). */
#define FILL_GOLDEN 0x9E3779B97F4A7C15u

static inline __attribute__((always_inline)) uint64_t fill_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static inline __attribute__((always_inline)) uint64_t fill_bits(uint64_t key, uint64_t index)
{
    return fill_mix(key + index * FILL_GOLDEN);
}

enum fill_variant { FILL_PLAIN, FILL_AVX2, FILL_AVX512, FILL_VARIANTS };

bool fill_variant_usable(enum fill_variant variant);

/* FILL_NORMAL, FILL_UNIFORM, and FILL_INTEGER within an int32_t; the variant must be usable. */
void fill_numbers(enum fill_variant variant, const struct layout_argument *argument, uint64_t key,
                  void *array);

/* As fill_argument, with one variant, which must be usable. */
void fill_argument_variant(enum fill_variant variant, const struct layout_argument *argument,
                           uint32_t index, uint64_t seed, void *slot);
