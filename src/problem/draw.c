#include "problem/draw.h"

#include "problem/fill_variant.h"

#include <math.h>
#include <string.h>

/* Below `range`, as in fill.c. */
static uint64_t draw_below(uint64_t bits, uint64_t range)
{
    return (uint64_t)((unsigned __int128)bits * range >> 64);
}

static int bit_length(uint64_t value)
{
    return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

/* Every second size is drawn on a logarithmic scale (a number of bits first, then the number): a
 * range of [1, 4096] then yields tiny sizes, which find mistakes that a thousand elements hide. */
static int64_t draw_one(const struct size_range *range, uint64_t key, uint64_t index)
{
    uint64_t low = (uint64_t)range->low, high = (uint64_t)range->high;
    if (fill_bits(key, 3 * index) & 1) {
        int least = bit_length(low), most = bit_length(high);
        int bits = least +
                   (int)draw_below(fill_bits(key, 3 * index + 1), (uint64_t)(most - least) + 1);
        uint64_t smallest = (uint64_t)1 << (bits - 1), largest = 2 * smallest - 1;
        low = low > smallest ? low : smallest;
        high = high < largest ? high : largest;
    }
    return (int64_t)(low + draw_below(fill_bits(key, 3 * index + 2), high - low + 1));
}

bool draw_accepts(const struct problem *problem, const struct size_set *sizes)
{
    if (!problem->require)
        return true;
    double value = expression_value(problem->require, sizes->value);
    return !isnan(value) && value != 0;
}

bool draw_sizes(const struct problem *problem, uint64_t seed, struct size_set *sizes)
{
    if (!problem->has_draw)
        return false;
    for (uint64_t try = 0; try < DRAW_TRIES; try++) {
        uint64_t key = fill_mix(fill_mix(seed) + try);
        memset(sizes, 0, sizeof *sizes);
        for (uint32_t i = 0; i < problem->size_count; i++)
            sizes->value[i] = draw_one(&problem->draw[i], key, i);
        if (draw_accepts(problem, sizes))
            return true;
    }
    return false;
}
