#include "judge/numeric/input_shift.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE 4096 /* elements among which the smallest and the largest are looked for */
#define TAIL 16     /* one in so many is among the smallest, another among the largest */

struct sampled {
    double value;
    uint64_t bits; /* as the array has it */
};

static int by_value(const void *left, const void *right)
{
    double a = ((const struct sampled *)left)->value;
    double b = ((const struct sampled *)right)->value;
    return (a > b) - (a < b);
}

/* The first elements, in order of size; their number. */
static uint64_t sample_elements(const struct layout_argument *argument, const char *data,
                                struct sampled sampled[SAMPLE])
{
    uint64_t count = argument->count < SAMPLE ? argument->count : SAMPLE;
    size_t bytes = dtype_facts(argument->dtype)->bytes;
    for (uint64_t i = 0; i < count; i++) {
        sampled[i] = (struct sampled){.value = dtype_load(argument->dtype, data, i)};
        memcpy(&sampled[i].bits, data + i * bytes, bytes);
    }
    qsort(sampled, count, sizeof *sampled, by_value);
    return count;
}

static void input_shift_argument(const struct layout_argument *argument, char *data, uint64_t seed)
{
    struct sampled sampled[SAMPLE];
    uint64_t count = sample_elements(argument, data, sampled);
    uint64_t tail = count < TAIL ? 1 : count / TAIL;
    size_t bytes = dtype_facts(argument->dtype)->bytes;
    uint64_t threshold = (seed >> 8) % 160 + 48; /* of 256: bias between 0.19 and 0.81 */
    uint64_t state = seed;
    for (uint64_t i = 0; i < argument->count; i++) {
        uint64_t random = random_next(&state);
        bool large = random >> 56 >= threshold;
        uint64_t rank = (random >> 32 & 0xffffff) * tail >> 24;
        memcpy(data + i * bytes, &sampled[large ? count - 1 - rank : rank].bits, bytes);
    }
}

void input_shift_apply(const struct layout *layout, char *slot, uint64_t seed)
{
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        bool drawn = argument->fill == FILL_NORMAL || argument->fill == FILL_UNIFORM ||
                     argument->fill == FILL_NONE;
        if ((argument->role == ROLE_IN || argument->role == ROLE_INOUT) && drawn &&
            dtype_facts(argument->dtype)->floating && argument->count > 1)
            input_shift_argument(argument, slot + argument->offset, seed + i * RANDOM_GOLDEN);
    }
}
