#include "retrieval/sketch.h"

#include "base/mem.h"
#include "retrieval/code_tokens.h"

#include <stdlib.h>
#include <string.h>

/* The smallest hashes so far: a heap whose root is the largest. */
struct sketcher {
    struct sketch *sketch;
    uint32_t *names;
    size_t name_count, name_capacity;
    uint32_t run[SKETCH_SHINGLE];
    uint64_t tokens;
};

static int compare_hash(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void sift_down(uint32_t *heap, uint32_t count)
{
    for (uint32_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1] > heap[child];
        if (heap[at] >= heap[child])
            return;
        uint32_t swapped = heap[at];
        heap[at] = heap[child];
        heap[child] = swapped;
    }
}

static void keep_hash(struct sketch *sketch, uint32_t hash)
{
    uint32_t *heap = sketch->hashes;
    if (sketch->count == SKETCH_HASHES && hash > heap[0]) {
        sketch->all = false;
        return;
    }
    for (uint32_t i = 0; i < sketch->count; i++)
        if (heap[i] == hash)
            return;
    if (sketch->count < SKETCH_HASHES) {
        uint32_t at = sketch->count++;
        for (; at > 0 && heap[(at - 1) / 2] < hash; at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
        heap[at] = hash;
    } else {
        heap[0] = hash;
        sift_down(heap, SKETCH_HASHES);
        sketch->all = false;
    }
}

static uint32_t hash_run(const uint32_t *run, uint64_t first, uint32_t count)
{
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ run[(first + i) % SKETCH_SHINGLE]) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static void add_name(struct sketcher *sketcher, uint32_t name)
{
    if (sketcher->name_count == sketcher->name_capacity) {
        sketcher->name_capacity = sketcher->name_capacity ? 2 * sketcher->name_capacity : 256;
        sketcher->names = mem_resize(sketcher->names,
                                     sketcher->name_capacity * sizeof *sketcher->names);
    }
    sketcher->names[sketcher->name_count++] = name;
}

/* One number for the set of names. */
static uint32_t hash_names(struct sketcher *sketcher)
{
    uint32_t hash = 0;
    if (sketcher->name_count > 0)
        qsort(sketcher->names, sketcher->name_count, sizeof *sketcher->names, compare_hash);
    for (size_t i = 0; i < sketcher->name_count; i++)
        if (i == 0 || sketcher->names[i] != sketcher->names[i - 1])
            hash = (hash ^ sketcher->names[i]) * 0x9E3779B1u;
    return hash;
}

static void add_token(void *context, uint32_t token, bool outside)
{
    struct sketcher *sketcher = context;
    if (outside)
        add_name(sketcher, token);
    sketcher->run[sketcher->tokens++ % SKETCH_SHINGLE] = token;
    if (sketcher->tokens >= SKETCH_SHINGLE)
        keep_hash(sketcher->sketch, hash_run(sketcher->run, sketcher->tokens, SKETCH_SHINGLE));
}

void sketch_of(const char *text, size_t count, struct sketch *sketch)
{
    struct sketcher sketcher = {.sketch = sketch};
    memset(sketch, 0, sizeof *sketch);
    sketch->all = true;
    code_tokens_each(text, count, add_token, &sketcher);
    if (sketcher.tokens > 0 && sketcher.tokens < SKETCH_SHINGLE)
        keep_hash(sketch, hash_run(sketcher.run, 0, (uint32_t)sketcher.tokens));
    sketch->names = hash_names(&sketcher);
    mem_free(sketcher.names);
    qsort(sketch->hashes, sketch->count, sizeof *sketch->hashes, compare_hash);
}

double sketch_similarity(const struct sketch *a, const struct sketch *b)
{
    uint32_t i = 0, j = 0, both = 0, either = 0;
    if (a->count == 0 || b->count == 0)
        return 0;
    /* The smallest hashes of the union are known as far as both sketches reach. */
    uint32_t end = a->all && b->all ? 2 * SKETCH_HASHES : SKETCH_HASHES;
    while (either < end && (i < a->count || j < b->count)) {
        bool take_a = j == b->count || (i < a->count && a->hashes[i] <= b->hashes[j]);
        bool take_b = i == a->count || (j < b->count && b->hashes[j] <= a->hashes[i]);
        both += take_a && take_b;
        i += take_a;
        j += take_b;
        either++;
    }
    return (double)both / either;
}

bool sketch_is_near(const struct sketch *a, const struct sketch *b)
{
    double likeness = sketch_similarity(a, b);
    return likeness >= SKETCH_NEAR ||
           (likeness >= SKETCH_NEAR_SAME_NAMES && a->names != 0 && a->names == b->names);
}

static void put_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get_u32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

size_t sketch_write(const struct sketch *sketch, unsigned char bytes[SKETCH_BYTES])
{
    put_u32(bytes, sketch->all);
    put_u32(bytes + 4, sketch->names);
    for (uint32_t i = 0; i < sketch->count; i++)
        put_u32(bytes + 8 + (size_t)4 * i, sketch->hashes[i]);
    return 8 + (size_t)4 * sketch->count;
}

int sketch_read(struct sketch *sketch, const void *bytes, size_t count, struct err *err)
{
    const unsigned char *at = bytes;
    memset(sketch, 0, sizeof *sketch);
    if (count < 8 || count > SKETCH_BYTES || count % 4 != 0)
        return err_set(err, ERR_PROTOCOL, "retrieval: the index is damaged (a sketch of %zu bytes)",
                       count);
    sketch->all = get_u32(at) != 0;
    sketch->names = get_u32(at + 4);
    sketch->count = (uint32_t)(count / 4 - 2);
    for (uint32_t i = 0; i < sketch->count; i++)
        sketch->hashes[i] = get_u32(at + 8 + (size_t)4 * i);
    return 0;
}
