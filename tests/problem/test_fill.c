/* Fills: against a slow reference that says in plain words what each value is, for every type and
 * instruction set; and what the values look like together. */
#include "../support/test.h"
#include "problem/fill.h"
#include "problem/fill_plan.h"
#include "problem/fill_variant.h"

#include <math.h>
#include <stdlib.h>

#define GUARD 64 /* bytes before and behind an array that no fill may touch */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    x ^= x >> 31;
    return x;
}

static uint64_t bits_of(uint64_t seed, uint32_t index, uint64_t element)
{
    uint64_t key = mix(mix(seed) ^ mix((index + 1) * 0xD1342543DE82EF95u));
    return mix(key + element * 0x9E3779B97F4A7C15u);
}

/* The smallest value of the type that is not below `bound`, or the largest one below it: walked to
 * from a value that is known to lie on the other side. */
static double edge(uint32_t type, double bound, bool below)
{
    uint64_t bits = 0;
    dtype_store(type, &bits, 0, bound);
    for (int steps = -2; steps <= 2; steps++) {
        /* Neighbours of a float are neighbours as integers, with the sign apart. */
        uint64_t near = bits;
        size_t bytes = dtype_facts(type)->bytes;
        uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
        bool negative = near & sign;
        int64_t rank = (int64_t)(near & (sign - 1));
        rank = (negative ? -rank : rank) + (below ? -steps : steps);
        near = rank < 0 ? (uint64_t)-rank | sign : (uint64_t)rank;
        double value = dtype_load(type, &near, 0);
        if (below ? value < bound : value >= bound)
            return value;
    }
    fail_msg("no edge at %g", bound);
    return 0;
}

/* Element `element` of a fill by numbers, as a double that the type then rounds. */
static double expected(const struct layout_argument *argument, uint64_t seed, uint32_t index,
                       uint64_t element)
{
    uint64_t bits = bits_of(seed, index, element);
    bool f64 = argument->dtype == DTYPE_F64;
    double value = NAN;
    if (argument->fill == FILL_NORMAL) {
        int64_t sum = 0;
        for (int i = 0; i < 4; i++)
            sum += (int64_t)(bits >> 16 * i & 0xFFFF);
        int64_t k = 64 * (sum - 131070) + (int64_t)(bits & 63) - 32;
        k = bits >> 32 & 255 ? k : k * 7 / 4;
        value = argument->a + (double)(float)(argument->b / 2431317.8841) * (double)k;
    } else if (argument->fill == FILL_UNIFORM) {
        int width = f64 ? 29 : 24;
        double step = (argument->b - argument->a) / (double)((uint64_t)1 << width);
        value = argument->a + (double)(float)step * (double)(bits >> (64 - width));
        double bottom = edge(argument->dtype, argument->a, false);
        double top = edge(argument->dtype, argument->b, true);
        value = value < bottom ? bottom : value > top ? top : value;
    } else if (argument->fill == FILL_INTEGER) {
        uint64_t range = (uint64_t)(argument->b - argument->a);
        bool wide = argument->a < INT32_MIN || argument->b > 0x1p31 || range >= 0x80000000u;
        uint64_t k = wide ? (uint64_t)((unsigned __int128)bits * range >> 64)
                          : (bits >> 32) * range >> 32;
        value = (double)((int64_t)argument->a + (int64_t)k);
    } else if (argument->fill == FILL_CONSTANT) {
        value = argument->a;
    }
    /* The two narrow floats are rounded from f32. */
    return argument->dtype <= DTYPE_BF16 ? (double)(float)value : value;
}

static unsigned char *guarded(const struct layout_argument *argument)
{
    size_t bytes = GUARD + layout_argument_bytes(argument) + 8 + GUARD;
    unsigned char *slot = malloc(bytes);
    assert_non_null(slot);
    memset(slot, 0xA5, bytes);
    return slot;
}

static void check_guards(const struct layout_argument *argument, const unsigned char *slot)
{
    size_t bytes = layout_argument_bytes(argument);
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(slot[i], 0xA5);
        assert_int_equal(slot[GUARD + bytes + 8 + i], 0xA5);
    }
}

static struct layout_argument make(uint32_t dtype, uint32_t fill, uint64_t count, double a,
                                   double b)
{
    return (struct layout_argument){.role = ROLE_IN,
                                    .dtype = dtype,
                                    .offset = GUARD,
                                    .count = count,
                                    .fill = fill,
                                    .a = a,
                                    .b = b};
}

static const struct {
    enum fill_kind fill;
    double a, b;
    uint32_t types; /* a bit for each type that can hold it */
} number_fills[] = {
#define FLOATING (1u << DTYPE_F16 | 1u << DTYPE_BF16 | 1u << DTYPE_F32 | 1u << DTYPE_F64)
#define ALL ((1u << DTYPE_COUNT) - 1)
#define WIDE (1u << DTYPE_I32 | 1u << DTYPE_I64 | 1u << DTYPE_F64)
#define SIGNED (FLOATING | 1u << DTYPE_I8 | 1u << DTYPE_I16 | 1u << DTYPE_I32 | 1u << DTYPE_I64)
    {FILL_NORMAL, 0, 1, FLOATING},
    {FILL_NORMAL, 3.3, 0.1, FLOATING},
    {FILL_NORMAL, 0, 1e-6, FLOATING},  /* subnormal halves */
    {FILL_NORMAL, 0, 18000, FLOATING}, /* close to the largest half */
    {FILL_NORMAL, -1e30, 1e37, 1u << DTYPE_F32 | 1u << DTYPE_BF16 | 1u << DTYPE_F64},
    {FILL_UNIFORM, 0, 1, FLOATING},
    {FILL_UNIFORM, -1, 1, FLOATING},
    {FILL_UNIFORM, 0.1, 0.3, FLOATING},
    {FILL_UNIFORM, 100, 100.25, FLOATING}, /* fewer values than draws */
    {FILL_UNIFORM, -3, -1e-7, FLOATING},
    {FILL_INTEGER, 0, 2, ALL},
    {FILL_INTEGER, -100, 100, SIGNED},
    {FILL_INTEGER, 7, 8, ALL & ~(1u << DTYPE_BOOL)},
    {FILL_INTEGER, -2147483648.0, 0, WIDE},
    {FILL_INTEGER, -2147483648.0, 2147483648.0, WIDE},
    {FILL_INTEGER, 0, 4294967296.0,
     1u << DTYPE_U32 | 1u << DTYPE_U64 | 1u << DTYPE_I64 | 1u << DTYPE_F64},
    {FILL_INTEGER, -9007199254740992.0, 9007199254740992.0, 1u << DTYPE_I64 | 1u << DTYPE_F64},
    {FILL_CONSTANT, 1, 0, ALL},
    {FILL_CONSTANT, -0.1, 0, FLOATING},
};

/* Every variant against the reference, byte for byte, for one argument. */
static void compare_variants(const struct layout_argument *argument, uint32_t index, uint64_t seed)
{
    uint64_t bytes = layout_argument_bytes(argument);
    assert_true(bytes > 0);
    unsigned char *wanted = malloc(bytes + 1);
    assert_non_null(wanted);
    for (uint64_t i = 0; i < argument->count; i++)
        dtype_store(argument->dtype, wanted, i, expected(argument, seed, index, i));
    for (enum fill_variant variant = 0; variant < FILL_VARIANTS; variant++) {
        if (!fill_variant_usable(variant))
            continue;
        unsigned char *slot = guarded(argument);
        fill_argument_variant(variant, argument, index, seed, slot);
        if (memcmp(slot + GUARD, wanted, bytes) != 0)
            fail_msg("fill %u(%g, %g), type %u, %llu elements, variant %d", argument->fill,
                     argument->a, argument->b, argument->dtype, (unsigned long long)argument->count,
                     variant);
        check_guards(argument, slot);
        free(slot);
    }
    free(wanted);
}

TEST(reference)
{
    static const uint64_t counts[] = {1, 2, 255, 256, 257, 1000};
    for (size_t f = 0; f < COUNT(number_fills); f++)
        for (uint32_t type = 0; type < DTYPE_COUNT; type++)
            for (uint32_t c = 0; c < COUNT(counts); c++) {
                if (!(number_fills[f].types >> type & 1))
                    continue;
                struct layout_argument argument = make(type, number_fills[f].fill, counts[c],
                                                       number_fills[f].a, number_fills[f].b);
                compare_variants(&argument, c, 1000 * f + type);
            }
}

/* Moments of 200000 elements, with bounds of about six deviations of the estimate. */
TEST(statistics)
{
    static const struct {
        struct layout_argument argument;
        double mean, deviation, low, high; /* [low, high) */
    } rows[] = {
#define N 200000
        {{ROLE_IN, DTYPE_F32, GUARD, N, FILL_NORMAL, 0, 0, 1, 0}, 0, 1, -6.04, 6.04},
        {{ROLE_IN, DTYPE_F64, GUARD, N, FILL_NORMAL, 0, 5, 2, 0}, 5, 2, -7.08, 17.08},
        {{ROLE_IN, DTYPE_F16, GUARD, N, FILL_NORMAL, 0, 0, 1, 0}, 0, 1, -6.045, 6.045},
        {{ROLE_IN, DTYPE_BF16, GUARD, N, FILL_NORMAL, 0, 0, 1, 0}, 0, 1, -6.07, 6.07},
        {{ROLE_IN, DTYPE_F32, GUARD, N, FILL_UNIFORM, 0, 0, 1, 0}, 0.5, 0.288675, 0, 1},
        {{ROLE_IN, DTYPE_F16, GUARD, N, FILL_UNIFORM, 0, 0, 1, 0}, 0.5, 0.288675, 0, 1},
        {{ROLE_IN, DTYPE_F64, GUARD, N, FILL_UNIFORM, 0, -2, 2, 0}, 0, 1.154701, -2, 2},
        {{ROLE_IN, DTYPE_I32, GUARD, N, FILL_INTEGER, 0, 0, 1000, 0}, 499.5, 288.675, 0, 1000},
        {{ROLE_IN, DTYPE_I8, GUARD, N, FILL_INTEGER, 0, -5, 6, 0}, 0, 3.162278, -5, 6},
        {{ROLE_IN, DTYPE_BOOL, GUARD, N, FILL_INTEGER, 0, 0, 2, 0}, 0.5, 0.5, 0, 2},
        {{ROLE_IN, DTYPE_I64, GUARD, N, FILL_INTEGER, 0, 0, 1e12, 0}, 5e11, 2.88675e11, 0, 1e12},
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        const struct layout_argument *argument = &rows[r].argument;
        unsigned char *slot = guarded(argument);
        fill_argument(argument, 3, 12345, slot);
        double sum = 0, squares = 0, product = 0, before = 0;
        for (uint64_t i = 0; i < N; i++) {
            double value = dtype_load(argument->dtype, slot + GUARD, i);
            assert_true(value >= rows[r].low && value < rows[r].high);
            double offset = (value - rows[r].mean) / rows[r].deviation;
            sum += offset;
            squares += offset * offset;
            product += offset * before;
            before = offset;
        }
        /* Halves below 1 have steps of 2^-11 at most; bf16 of 2^-8, and rounding is unbiased. */
        assert_true(fabs(sum / N) < 6 / sqrt(N));
        assert_true(fabs(squares / N - 1) < 6 * sqrt(2.0 / N));
        assert_true(fabs(product / N) < 6 / sqrt(N));
        free(slot);
    }
}

/* A normal fill follows the bell: shares within 1, 2 and 3 deviations, of Irwin-Hall with n = 4 and
 * one in 256 that is 7/4 as large; and beyond 4, where a true normal has 13 of this many. */
TEST(shape_of_normal)
{
    struct layout_argument argument = make(DTYPE_F32, FILL_NORMAL, N, 0, 1);
    unsigned char *slot = guarded(&argument);
    fill_argument(&argument, 0, 99, slot);
    const float *values = (const float *)(slot + GUARD);
    static const double wanted[] = {0.67029, 0.95752, 0.99928};
    int within[3] = {0}, ties = 0, far = 0;
    for (uint64_t i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++)
            within[k] += fabsf(values[i]) < (float)(k + 1);
        ties += i > 0 && values[i] == values[i - 1];
        far += fabsf(values[i]) > 4;
    }
    for (int k = 0; k < 3; k++) {
        double share = (double)within[k] / N;
        double deviation = sqrt(wanted[k] * (1 - wanted[k]) / N);
        if (fabs(share - wanted[k]) > 6 * deviation + 1e-4)
            fail_msg("within %d: %.5f, not %.5f", k + 1, share, wanted[k]);
    }
    assert_in_range(ties, 0, 3);
    assert_in_range(far, 3, 40);
    free(slot);
}

TEST(integers_are_even)
{
    enum { RANGE = 11 };
    struct layout_argument argument = make(DTYPE_U8, FILL_INTEGER, 110000, 0, RANGE);
    unsigned char *slot = guarded(&argument);
    fill_argument(&argument, 0, 5, slot);
    int counts[RANGE] = {0};
    for (uint64_t i = 0; i < argument.count; i++)
        counts[slot[GUARD + i]]++;
    for (int i = 0; i < RANGE; i++)
        assert_in_range(counts[i], 10000 - 600, 10000 + 600);
    free(slot);
}

TEST(permutation)
{
    static const uint64_t counts[] = {1, 2, 3, 4, 5, 63, 64, 65, 127, 1000, 65536, 100003};
    static const uint32_t types[] = {DTYPE_I32, DTYPE_U32, DTYPE_I64, DTYPE_U64};
    for (size_t c = 0; c < COUNT(counts); c++) {
        struct layout_argument argument = make(types[c % 4], FILL_PERMUTATION, counts[c], 0, 0);
        unsigned char *slot = guarded(&argument);
        unsigned char *seen = calloc(counts[c], 1);
        uint64_t fixed = 0, rising = 0, before = 0;
        fill_argument(&argument, 1, 77 + c, slot);
        for (uint64_t i = 0; i < counts[c]; i++) {
            uint64_t value = (uint64_t)dtype_load(argument.dtype, slot + GUARD, i);
            assert_true(value < counts[c]);
            assert_int_equal(seen[value]++, 0);
            fixed += value == i;
            rising += value > before;
            before = value;
        }
        check_guards(&argument, slot);
        if (counts[c] >= 1000) { /* one fixed point is expected, and half the steps rise */
            assert_in_range(fixed, 0, 8);
            double share = (double)rising / (double)counts[c];
            assert_true(fabs(share - 0.5) < 0.06);
        }
        free(seen);
        free(slot);
    }
}

/* All six orders of three elements come up, and about equally often. */
TEST(permutations_of_three)
{
    int orders[27] = {0}, kinds = 0;
    struct layout_argument argument = make(DTYPE_U8, FILL_PERMUTATION, 3, 0, 0);
    unsigned char slot[GUARD + 8];
    for (uint64_t seed = 0; seed < 6000; seed++) {
        fill_argument(&argument, 0, seed, slot);
        orders[slot[GUARD] + 3 * slot[GUARD + 1] + 9 * slot[GUARD + 2]]++;
    }
    for (int i = 0; i < 27; i++) {
        kinds += orders[i] > 0;
        if (orders[i] > 0)
            assert_in_range(orders[i], 700, 1300);
    }
    assert_int_equal(kinds, 6);
}

TEST(offsets)
{
    static const struct {
        uint32_t type;
        uint64_t count;
        double total;
    } rows[] = {
        {DTYPE_I32, 1, 0},        {DTYPE_I32, 2, 10},      {DTYPE_I32, 3, 10},
        {DTYPE_I32, 4, 1},        {DTYPE_U32, 101, 0},     {DTYPE_U32, 101, 7},
        {DTYPE_I64, 1001, 16000}, {DTYPE_U64, 4097, 1e15}, {DTYPE_U8, 9, 255},
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        struct layout_argument argument = make(rows[r].type, FILL_OFFSETS, rows[r].count,
                                               rows[r].total, 0);
        unsigned char *slot = guarded(&argument);
        fill_argument(&argument, 2, r, slot);
        uint64_t last = rows[r].count - 1;
        assert_true(dtype_load(rows[r].type, slot + GUARD, 0) == 0);
        assert_true(dtype_load(rows[r].type, slot + GUARD, last) == rows[r].total);
        uint64_t empty = 0;
        double longest = 0, before = 0;
        for (uint64_t i = 1; i <= last; i++) {
            double value = dtype_load(rows[r].type, slot + GUARD, i);
            assert_true(value >= before);
            empty += value == before;
            longest = fmax(longest, value - before);
            before = value;
        }
        if (rows[r].count == 1001) { /* sixteen elements a row */
            assert_in_range(empty, 5, 150);
            assert_true(longest > 40 && longest < 400);
        }
        check_guards(&argument, slot);
        free(slot);
    }
}

/* The same seed gives the same bytes; another seed, argument or place gives others. */
TEST(seeds)
{
    static const uint32_t kinds[] = {FILL_NORMAL, FILL_UNIFORM, FILL_INTEGER, FILL_PERMUTATION,
                                     FILL_OFFSETS};
    for (size_t k = 0; k < COUNT(kinds); k++) {
        uint32_t type = kinds[k] <= FILL_UNIFORM ? DTYPE_F32 : DTYPE_I32;
        struct layout_argument argument = make(type, kinds[k], 500, 0, 1e6);
        if (kinds[k] == FILL_OFFSETS)
            argument.a = 100000;
        unsigned char *slots[5];
        static const uint64_t seeds[] = {1, 1, 2, 1, (uint64_t)1 << 63};
        static const uint32_t indices[] = {0, 0, 0, 1, 0};
        for (int i = 0; i < 5; i++) {
            slots[i] = guarded(&argument);
            fill_argument(&argument, indices[i], seeds[i], slots[i]);
        }
        assert_memory_equal(slots[0] + GUARD, slots[1] + GUARD, 2000);
        for (int other = 2; other < 5; other++) {
            int equal = 0;
            for (uint64_t i = 0; i < 500; i++)
                equal += memcmp(slots[0] + GUARD + 4 * i, slots[other] + GUARD + 4 * i, 4) == 0;
            assert_in_range(equal, 0, 10);
        }
        for (int i = 0; i < 5; i++)
            free(slots[i]);
    }
}

/* Seeds and arguments that differ in one bit, or follow each other, share no stream. */
TEST(seed_independence)
{
    struct layout_argument argument = make(DTYPE_F64, FILL_NORMAL, 4096, 0, 1);
    unsigned char *first = guarded(&argument), *second = guarded(&argument);
    const double *a = (const double *)(first + GUARD), *b = (const double *)(second + GUARD);
    fill_argument(&argument, 0, 0, first);
    for (uint32_t i = 0; i < 80; i++) {
        uint64_t seed = i < 64 ? (uint64_t)1 << i : 0;
        fill_argument(&argument, i < 64 ? 0 : i - 63, seed, second);
        for (int shift = 0; shift < 8; shift++) {
            double product = 0;
            for (int k = 0; k < 4000; k++)
                product += a[k + shift] * b[k];
            assert_true(fabs(product / 4000) < 6 / sqrt(4000));
        }
    }
    free(first);
    free(second);
}

TEST(slot)
{
    static struct layout layout = {.count = 6,
                                   .bytes = 8192,
                                   .arguments = {
                                       {ROLE_IN, DTYPE_F32, 0, 100, FILL_NORMAL, 0, 0, 1, 0},
                                       {ROLE_OUT, DTYPE_F32, 1024, 100, FILL_NONE, 0, 0, 0, 0},
                                       {ROLE_INOUT, DTYPE_F32, 2048, 100, FILL_NORMAL, 0, 0, 1, 0},
                                       {ROLE_SIZE, DTYPE_U64, 3072, 1, FILL_NONE, 0, 0, 0, 100},
                                       {ROLE_SCALAR, DTYPE_F16, 3136, 1, FILL_CONSTANT, 0, 1, 0, 0},
                                       {DTYPE_COUNT, 99, 4096, 100, FILL_NORMAL, 0, 0, 1,
                                        0}, /* from a broken wire */
                                   }};
    unsigned char *slot = malloc(layout.bytes), *again = malloc(layout.bytes);
    memset(slot, 0xEE, layout.bytes);
    memset(again, 0xEE, layout.bytes);
    fill_slot(&layout, 31, slot);
    for (uint32_t i = 0; i < layout.count; i++)
        fill_argument(&layout.arguments[i], i, 31, again);
    assert_memory_equal(slot, again, layout.bytes);
    assert_memory_not_equal(slot, slot + 2048, 400);
    for (size_t i = 0; i < layout.bytes; i++) {
        bool filled = i < 400 || (i >= 2048 && i < 2448) || (i >= 3072 && i < 3080) ||
                      (i >= 3136 && i < 3144);
        if (!filled)
            assert_int_equal(slot[i], 0xEE);
    }
    uint64_t size, scalar;
    memcpy(&size, slot + 3072, 8);
    memcpy(&scalar, slot + 3136, 8);
    assert_int_equal(size, 100);
    assert_int_equal(scalar, 0x3C00); /* the other six bytes are zero */
    layout.count = UINT32_MAX;        /* never past the array */
    layout.arguments[5].role = ROLE_OUT;
    fill_slot(&layout, 31, slot);
    free(slot);
    free(again);
}

/* What a GPU gets of a fill makes the same numbers. */
TEST(plans)
{
    static const struct {
        struct layout_argument argument;
        bool plain;
    } rows[] = {
        {{ROLE_IN, DTYPE_F64, 0, 500, FILL_NORMAL, 0, 2, 3, 0}, true},
        {{ROLE_INOUT, DTYPE_F64, 0, 500, FILL_UNIFORM, 0, -1, 4, 0}, true},
        {{ROLE_IN, DTYPE_F64, 0, 500, FILL_INTEGER, 0, -5, 50, 0}, true},
        {{ROLE_IN, DTYPE_I64, 0, 500, FILL_INTEGER, 0, 0, 0x1p40, 0}, false},
        {{ROLE_IN, DTYPE_I32, 0, 500, FILL_PERMUTATION, 0, 0, 0, 0}, false},
        {{ROLE_IN, DTYPE_I32, 0, 500, FILL_OFFSETS, 0, 90, 0, 0}, false},
        {{ROLE_IN, DTYPE_F32, 0, 500, FILL_CONSTANT, 0, 1, 0, 0}, false},
        {{ROLE_OUT, DTYPE_F32, 0, 500, FILL_NONE, 0, 0, 0, 0}, false},
        {{ROLE_SCALAR, DTYPE_F32, 0, 1, FILL_NORMAL, 0, 0, 1, 0}, false},
        {{ROLE_IN, 99, 0, 500, FILL_NORMAL, 0, 0, 1, 0}, false},
        {{ROLE_IN, DTYPE_F32, 0, 0, FILL_NORMAL, 0, 0, 1, 0}, false},
    };
    double *filled = malloc(500 * sizeof *filled);
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct fill_plan plan;
        assert_int_equal(fill_plan_of(&plan, &rows[row].argument, 3, 77), rows[row].plain);
        if (!rows[row].plain)
            continue;
        fill_argument(&rows[row].argument, 3, 77, filled);
        for (uint64_t i = 0; i < 500; i++) {
            uint64_t hash = bits_of(77, 3, i);
            int64_t k = (int64_t)((hash >> 32) * plan.range >> 32);
            if (plan.kind == FILL_UNIFORM)
                k = (int64_t)(hash >> plan.draw_shift);
            if (plan.kind == FILL_NORMAL) {
                k = -(131070 * 64 + 32) + (int64_t)(hash & 63);
                for (int field = 0; field < 4; field++)
                    k += (int64_t)(hash >> 16 * field & 0xFFFF) * 64;
                k = hash >> 32 & 255 ? k : k * 7 / 4;
            }
            double value = fmin(fmax(plan.offset + plan.scale * (double)k, plan.bottom), plan.top);
            assert_true(value == filled[i]);
        }
    }
    free(filled);
}
