#include "retrieval/sketch.h"

#include "base/mem.h"
#include "retrieval/code_tokens.h"

#include <stdlib.h>
#include <string.h>

struct hash_list {
    uint32_t *items;
    size_t count, capacity;
};

struct sketcher {
    struct hash_list runs, names;
    uint32_t run[SKETCH_SHINGLE];
    uint64_t tokens;
};

static int compare_hash(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void add_hash(struct hash_list *list, uint32_t hash)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 256;
        list->items = mem_resize(list->items, list->capacity * sizeof *list->items);
    }
    list->items[list->count++] = hash;
}

/* Ascending, each once. */
static void sort_hashes(struct hash_list *list)
{
    size_t kept = 0;
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_hash);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || list->items[i] != list->items[i - 1])
            list->items[kept++] = list->items[i];
    list->count = kept;
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

static void add_token(void *context, uint32_t token, bool outside)
{
    struct sketcher *sketcher = context;
    if (outside)
        add_hash(&sketcher->names, token);
    sketcher->run[sketcher->tokens++ % SKETCH_SHINGLE] = token;
    if (sketcher->tokens >= SKETCH_SHINGLE)
        add_hash(&sketcher->runs, hash_run(sketcher->run, sketcher->tokens, SKETCH_SHINGLE));
}

void sketch_of(const char *text, size_t count, struct sketch *sketch)
{
    struct sketcher sketcher = {0};
    struct hash_list *runs = &sketcher.runs, *names = &sketcher.names;
    code_tokens_each(text, count, add_token, &sketcher);
    if (sketcher.tokens > 0 && sketcher.tokens < SKETCH_SHINGLE)
        add_hash(runs, hash_run(sketcher.run, 0, (uint32_t)sketcher.tokens));
    sort_hashes(runs);
    sort_hashes(names);
    *sketch = (struct sketch){.all = runs->count <= SKETCH_HASHES};
    sketch->count = sketch->all ? (uint32_t)runs->count : SKETCH_HASHES;
    if (runs->count > 0)
        memcpy(sketch->hashes, runs->items, sketch->count * sizeof *sketch->hashes);
    for (size_t i = 0; i < names->count; i++) /* one number for the set of names */
        sketch->names = (sketch->names ^ names->items[i]) * 0x9E3779B1u;
    mem_free(runs->items);
    mem_free(names->items);
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
