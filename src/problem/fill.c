#include "problem/fill.h"

#include "problem/fill_plan.h"
#include "problem/fill_variant.h"

#include <string.h>

static uint64_t argument_key(uint64_t seed, uint32_t index)
{
    return fill_mix(fill_mix(seed) ^ fill_mix((uint64_t)(index + 1) * 0xD1342543DE82EF95u));
}

static void put_whole(uint32_t dtype, void *array, uint64_t index, int64_t value)
{
    switch (dtype) {
    case DTYPE_I32:
    case DTYPE_U32:
        ((uint32_t *)array)[index] = (uint32_t)value;
        break;
    case DTYPE_I64:
    case DTYPE_U64:
        ((uint64_t *)array)[index] = (uint64_t)value;
        break;
    default:
        dtype_store(dtype, array, index, (double)value);
        break;
    }
}

/* Whole numbers beyond an int32_t: the upper half of a 128-bit product. */
static void fill_wide_integer(const struct layout_argument *argument, uint64_t key, void *array)
{
    int64_t low = (int64_t)argument->a;
    uint64_t range = (uint64_t)((int64_t)argument->b - low);
    for (uint64_t i = 0; i < argument->count; i++) {
        unsigned __int128 product = (unsigned __int128)fill_bits(key, i) * range;
        put_whole(argument->dtype, array, i, low + (int64_t)(uint64_t)(product >> 64));
    }
}

#define SHUFFLE_ROUNDS 4

struct shuffle {
    uint64_t factor[SHUFFLE_ROUNDS], shift[SHUFFLE_ROUNDS];
    int bits;
};

static void shuffle_init(struct shuffle *shuffle, uint64_t key, uint64_t count)
{
    shuffle->bits = 1;
    while (((uint64_t)1 << shuffle->bits) < count)
        shuffle->bits++;
    for (uint64_t i = 0; i < SHUFFLE_ROUNDS; i++) {
        shuffle->factor[i] = fill_bits(key, 2 * i) | 1;
        shuffle->shift[i] = fill_bits(key, 2 * i + 1);
    }
}

/* A keyed one-to-one map of [0, 2^bits): each round multiplies by an odd number, adds, and folds
 * the upper half onto the lower one, and each of these steps can be undone. */
static uint64_t shuffle_step(const struct shuffle *shuffle, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << shuffle->bits) - 1;
    int fold = (shuffle->bits + 1) / 2;
    for (int i = 0; i < SHUFFLE_ROUNDS; i++) {
        x = (x * shuffle->factor[i] + shuffle->shift[i]) & mask;
        x ^= x >> fold;
    }
    return x;
}

/* Follows the map until it leads back below count ("cycle walking", Black and Rogaway 2002): a
 * permutation whose elements need nothing of each other. */
static void fill_permutation(const struct layout_argument *argument, uint64_t key, void *array)
{
    struct shuffle shuffle;
    shuffle_init(&shuffle, key, argument->count);
    for (uint64_t i = 0; i < argument->count; i++) {
        uint64_t x = i;
        do
            x = shuffle_step(&shuffle, x);
        while (x >= argument->count);
        put_whole(argument->dtype, array, i, (int64_t)x);
    }
}

struct offsets {
    uint32_t dtype;
    void *array;
    uint64_t key;
};

/* Splits what lies between two row starts at random, near the middle while many rows are left (3/8
 * to 5/8) and anywhere between the last two. Row lengths then differ by a few times, as in a real
 * sparse matrix, and some rows are empty. */
static void split_offsets(const struct offsets *offsets, uint64_t first, uint64_t last, int64_t low,
                          int64_t high)
{
    if (last - first < 2)
        return;
    uint64_t middle = first + (last - first) / 2;
    uint64_t share = fill_bits(offsets->key, middle);
    if (last - first > 3)
        share = ((uint64_t)3 << 61) + (share >> 2);
    int64_t part = (int64_t)(uint64_t)((unsigned __int128)(uint64_t)(high - low) * share >> 64);
    put_whole(offsets->dtype, offsets->array, middle, low + part);
    split_offsets(offsets, first, middle, low, low + part);
    split_offsets(offsets, middle, last, low + part, high);
}

static void fill_offsets(const struct layout_argument *argument, uint64_t key, void *array)
{
    struct offsets offsets = {argument->dtype, array, key};
    int64_t total = (int64_t)argument->a;
    uint64_t last = argument->count - 1;
    put_whole(argument->dtype, array, 0, 0);
    if (last == 0)
        return;
    put_whole(argument->dtype, array, last, total);
    split_offsets(&offsets, 0, last, 0, total);
}

static void fill_constant(const struct layout_argument *argument, void *array)
{
    uint64_t bytes = dtype_facts(argument->dtype)->bytes;
    uint64_t all = bytes * argument->count;
    dtype_store(argument->dtype, array, 0, argument->a);
    for (uint64_t done = bytes; done < all; done *= 2)
        memcpy((char *)array + done, array, done < all - done ? done : all - done);
}

static bool fits_int32(const struct layout_argument *argument)
{
    return argument->a >= INT32_MIN && argument->b <= 0x1p31 && argument->b - argument->a < 0x1p31;
}

bool fill_plan_of(struct fill_plan *plan, const struct layout_argument *argument, uint32_t index,
                  uint64_t seed)
{
    bool input = argument->role == ROLE_IN || argument->role == ROLE_INOUT;
    bool plain = argument->fill == FILL_NORMAL || argument->fill == FILL_UNIFORM ||
                 (argument->fill == FILL_INTEGER && fits_int32(argument));
    if (!input || !plain || argument->count == 0 || !dtype_facts(argument->dtype))
        return false;
    fill_plan_init(plan, argument, argument_key(seed, index));
    return true;
}

void fill_argument_variant(enum fill_variant variant, const struct layout_argument *argument,
                           uint32_t index, uint64_t seed, void *slot)
{
    void *array = (char *)slot + argument->offset;
    uint64_t key = argument_key(seed, index);
    if (argument->role == ROLE_SIZE) {
        memcpy(array, &argument->value, sizeof argument->value);
        return;
    }
    if (argument->role == ROLE_OUT || argument->count == 0 || !dtype_facts(argument->dtype))
        return;
    if (argument->role == ROLE_SCALAR)
        memset(array, 0, 8);
    switch (argument->fill) {
    case FILL_CONSTANT:
        fill_constant(argument, array);
        break;
    case FILL_PERMUTATION:
        fill_permutation(argument, key, array);
        break;
    case FILL_OFFSETS:
        fill_offsets(argument, key, array);
        break;
    case FILL_INTEGER:
        if (!fits_int32(argument)) {
            fill_wide_integer(argument, key, array);
            break;
        }
        __attribute__((fallthrough));
    case FILL_NORMAL:
    case FILL_UNIFORM:
        fill_numbers(variant, argument, key, array);
        break;
    default:
        break;
    }
}

void fill_argument(const struct layout_argument *argument, uint32_t index, uint64_t seed,
                   void *slot)
{
    enum fill_variant variant = FILL_AVX512;
    while (!fill_variant_usable(variant))
        variant--;
    fill_argument_variant(variant, argument, index, seed, slot);
}

void fill_slot(const struct layout *layout, uint64_t seed, void *slot)
{
    uint32_t count = layout->count < LIMIT_ARGUMENTS ? layout->count : LIMIT_ARGUMENTS;
    for (uint32_t i = 0; i < count; i++)
        fill_argument(&layout->arguments[i], i, seed, slot);
}
