#include "gpu_checks.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "judge/measure/tensor_work.h"
#include "problem/dtype.h"
#include "problem/fill_variant.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORD 8 /* bytes that a digest takes at once */

/* The same tensor in both memories. */
struct twins {
    struct tensor_work works[2]; /* the host's first */
    struct tensor_memory memories[2], copies[2];
    struct tensor_elements elements[2];
    uint64_t bytes;
    char *text, *read; /* what is wrong; what lies on the GPU */
    struct err err;
};

static int complain(struct twins *twins, const char *what)
{
    snprintf(twins->text, GPU_CHECKS_TEXT, "%llu of %s: %.400s",
             (unsigned long long)twins->elements[0].count,
             dtype_facts(twins->elements[0].dtype)->name, what);
    return -1;
}

static int fail(struct twins *twins)
{
    return complain(twins, twins->err.text);
}

/* Numbers that a sum keeps in any order, or every kind that there is, by a seed: a secret for each
 * of millions of elements takes minutes. */
static double draw(bool wild, uint64_t seed, uint64_t i)
{
    static const double values[] = {0,      -0.0,     1.0009,    -1,      3.39e38, 1e-45, 65504,
                                    6.1e-5, INFINITY, -INFINITY, DBL_MAX, 1e-310,  NAN,   250.6};
    uint64_t bits = fill_bits(seed, i);
    if (wild && bits % 4 == 0)
        return values[(bits >> 32) % COUNT(values)];
    return ((double)(i * 7919 % 1000) - 300) * (wild ? 0.0371 : 0.125);
}

static int refill(struct twins *twins, bool wild)
{
    struct tensor_elements *of = &twins->elements[0];
    uint64_t seed = clock_secret();
    for (uint64_t i = 0; i < of->count; i++)
        dtype_store(of->dtype, of->place.data, i, draw(wild, seed, i));
    return gpu_memory_write(&twins->memories[1].gpu, 0, of->place.data, twins->bytes, &twins->err);
}

/* The bytes, but for those of NaNs. */
static bool same(struct twins *twins)
{
    const struct tensor_elements *of = &twins->elements[0];
    size_t each = dtype_facts(of->dtype)->bytes;
    bool good = gpu_memory_read(&twins->memories[1].gpu, 0, twins->read, twins->bytes,
                                &twins->err) == 0;
    for (uint64_t i = 0; good && i < of->count; i++)
        good = memcmp(of->place.data + i * each, twins->read + i * each, each) == 0 ||
               (isnan(dtype_load(of->dtype, of->place.data, i)) &&
                isnan(dtype_load(of->dtype, twins->read, i)));
    return good;
}

#define ON_BOTH(operation, ...)                                                                    \
    for (int i = 0; i < 2; i++)                                                                    \
        if (twins->works[i].operations->operation(&twins->works[i], __VA_ARGS__, &twins->err) < 0) \
            return fail(twins);

static int check_set(struct twins *twins)
{
    static const double values[] = {0, 1, -2.5, NAN, 1e9};
    for (size_t k = 0; k < COUNT(values); k++) {
        if (refill(twins, true) < 0)
            return fail(twins);
        ON_BOTH(set, &twins->elements[i], values[k])
        if (!same(twins))
            return complain(twins, "set");
    }
    return 0;
}

static int check_numbers(struct twins *twins)
{
    double sums[2];
    uint64_t count = twins->elements[0].count;
    uint64_t every = count / TENSOR_SAMPLE + 1 + clock_secret() % 3;
    double *values[2] = {mem_alloc(TENSOR_SAMPLE * sizeof(double)),
                         mem_alloc(TENSOR_SAMPLE * sizeof(double))};
    int result = refill(twins, false);
    for (int i = 0; result == 0 && i < 2; i++) {
        const struct tensor_work *work = &twins->works[i];
        result = work->operations->sum(work, &twins->elements[i], &sums[i], &twins->err);
        if (result == 0)
            result = work->operations->pick(work, &twins->elements[i], every, values[i],
                                            &twins->err);
    }
    bool good = result == 0 && fabs(sums[0] - sums[1]) <= 1e-9 * fabs(sums[0]) &&
                memcmp(values[0], values[1], tensor_picked(count, every) * sizeof(double)) == 0;
    mem_free(values[0]);
    mem_free(values[1]);
    return result < 0 ? fail(twins) : good ? 0 : complain(twins, "sum, or what is picked");
}

/* Equal in both memories, and others once one byte is another, wherever that is. */
static int check_digest(struct twins *twins)
{
    uint64_t digests[2], others[2];
    if (refill(twins, true) < 0)
        return fail(twins);
    ON_BOTH(digest, twins->memories[i].place, twins->bytes, &digests[i])
    twins->memories[0].place.data[clock_secret() % twins->bytes] ^= 1;
    if (gpu_memory_write(&twins->memories[1].gpu, 0, twins->memories[0].place.data, twins->bytes,
                         &twins->err) < 0)
        return fail(twins);
    ON_BOTH(digest, twins->memories[i].place, twins->bytes, &others[i])
    bool good = digests[0] == digests[1] && others[0] == others[1] && digests[0] != others[0];
    return good ? 0 : complain(twins, "digest");
}

static int check_trim(struct twins *twins)
{
    static const double sizes[] = {0, 1, 11.5, INFINITY};
    for (size_t k = 0; k < COUNT(sizes); k++) {
        struct tensor_trimmed trimmed[2];
        if (refill(twins, true) < 0)
            return fail(twins);
        ON_BOTH(trim, &twins->elements[i], sizes[k], &trimmed[i])
        if (!same(twins) || memcmp(&trimmed[0], &trimmed[1], sizeof trimmed[0]) != 0)
            return complain(twins, "trim");
    }
    return 0;
}

static int check_coarsen(struct twins *twins)
{
    bool floating = dtype_facts(twins->elements[0].dtype)->floating;
    for (int bits = 5; floating && bits <= 10; bits++) {
        if (refill(twins, true) < 0)
            return fail(twins);
        ON_BOTH(coarsen, &twins->elements[i], bits)
        if (!same(twins))
            return complain(twins, "coarsen");
    }
    return 0;
}

/* A tail of each row, of whole elements, behind a first one that stays. */
static int check_clear(struct twins *twins)
{
    size_t each = dtype_facts(twins->elements[0].dtype)->bytes;
    for (uint64_t row = 2; row <= twins->elements[0].count && row < 70; row = row * 2 + 1) {
        uint64_t bytes = (1 + clock_secret() % (row - 1)) * each;
        uint64_t rows = twins->elements[0].count / row;
        if (refill(twins, true) < 0)
            return fail(twins);
        ON_BOTH(clear, tensor_place_past(twins->memories[i].place, row * each - bytes), rows,
                row * each, bytes)
        if (!same(twins))
            return complain(twins, "clear");
    }
    return 0;
}

static int check_copy(struct twins *twins)
{
    if (refill(twins, true) < 0)
        return fail(twins);
    ON_BOTH(reserve, &twins->copies[i], twins->bytes)
    ON_BOTH(copy, twins->memories[i].place, twins->copies[i].place, twins->bytes)
    ON_BOTH(set, &twins->elements[i], 0)
    ON_BOTH(copy, twins->copies[i].place, twins->memories[i].place, twins->bytes)
    return same(twins) ? 0 : complain(twins, "copy");
}

static int check_tensor(struct twins *twins, uint32_t dtype, uint64_t count)
{
    static int (*const all[])(struct twins *) = {check_set,  check_numbers, check_digest,
                                                 check_trim, check_coarsen, check_clear,
                                                 check_copy};
    int checked = 0;
    twins->bytes = count * dtype_facts(dtype)->bytes;
    ON_BOTH(reserve, &twins->memories[i], twins->bytes + WORD)
    for (int i = 0; i < 2; i++)
        twins->elements[i] = (struct tensor_elements){twins->memories[i].place, count, dtype};
    mem_free(twins->read);
    twins->read = mem_alloc(twins->bytes);
    for (size_t i = 0; i < COUNT(all); i++) {
        if (all[i](twins) < 0)
            return -1;
        checked++;
    }
    return checked;
}

int check_tensors(const struct gpu_checks *checks, char text[GPU_CHECKS_TEXT])
{
    struct twins twins = {.text = text};
    int compared = 0;
    bool open = tensor_work_open(&twins.works[0], NULL, &twins.err) == 0 &&
                tensor_work_open(&twins.works[1], checks->work, &twins.err) == 0;
    if (!open) {
        snprintf(text, GPU_CHECKS_TEXT, "%.500s", twins.err.text);
        compared = -1;
    }
    for (size_t i = 0; compared >= 0 && i < DTYPE_COUNT * checks->count_count; i++) {
        int checked = check_tensor(&twins, (uint32_t)(i % DTYPE_COUNT),
                                   checks->counts[i / DTYPE_COUNT]);
        compared = checked < 0 ? -1 : compared + checked;
    }
    for (int i = 0; i < 2; i++) {
        tensor_memory_free(&twins.memories[i]);
        tensor_memory_free(&twins.copies[i]);
        tensor_work_close(&twins.works[i]);
    }
    mem_free(twins.read);
    return compared;
}
