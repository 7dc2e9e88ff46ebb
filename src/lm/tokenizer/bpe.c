#include "lm/tokenizer/bpe.h"

#include "base/mem.h"
#include "lm/tokenizer/mix.h"

#define SHORT 48 /* from here on the heap is faster */
#define NO_PAIR UINT64_MAX
#define NOWHERE UINT32_MAX

void bpe_init(struct bpe *bpe, size_t most, uint64_t seed)
{
    size_t slots = 16;
    while (slots < 2 * most)
        slots *= 2;
    *bpe = (struct bpe){mem_alloc(slots * sizeof *bpe->slots), slots - 1, seed};
    for (size_t i = 0; i < slots; i++)
        bpe->slots[i].pair = NO_PAIR;
}

void bpe_deinit(struct bpe *bpe)
{
    mem_free(bpe->slots);
    *bpe = (struct bpe){0};
}

void bpe_work_deinit(struct bpe_work *work)
{
    mem_free(work->heap);
    mem_free(work->links);
    *work = (struct bpe_work){0};
}

/* The pair's slot, or the free one where it belongs. */
static struct bpe_slot *slot_of(const struct bpe *bpe, uint64_t pair)
{
    size_t at = mix(pair, bpe->seed) & bpe->mask;
    while (bpe->slots[at].pair != pair && bpe->slots[at].pair != NO_PAIR)
        at = (at + 1) & bpe->mask;
    return &bpe->slots[at];
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

void bpe_put(struct bpe *bpe, int32_t left, int32_t right, struct bpe_merge_to to)
{
    uint64_t pair = pair_of(left, right);
    *slot_of(bpe, pair) = (struct bpe_slot){pair, to};
}

static struct bpe_merge_to find(const struct bpe *bpe, int32_t left, int32_t right)
{
    const struct bpe_slot *slot = slot_of(bpe, pair_of(left, right));
    return slot->pair == NO_PAIR ? (struct bpe_merge_to){BPE_NO_RANK, -1} : slot->to;
}

size_t bpe_merge_plain(const struct bpe *bpe, int32_t *ids, size_t count)
{
    for (;;) {
        struct bpe_merge_to best = {BPE_NO_RANK, -1};
        size_t place = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            struct bpe_merge_to to = find(bpe, ids[i], ids[i + 1]);
            if (to.rank < best.rank) {
                best = to;
                place = i;
            }
        }
        if (best.rank == BPE_NO_RANK)
            return count;
        ids[place] = best.id;
        count--;
        memmove(ids + place + 1, ids + place + 2, (count - place - 1) * sizeof *ids);
    }
}

static size_t merge_short(const struct bpe *bpe, int32_t *ids, size_t count)
{
    struct bpe_merge_to with_next[SHORT];
    for (size_t i = 0; i + 1 < count; i++)
        with_next[i] = find(bpe, ids[i], ids[i + 1]);
    while (count > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < count; i++)
            if (with_next[i].rank < with_next[best].rank)
                best = i;
        if (with_next[best].rank == BPE_NO_RANK)
            break;
        ids[best] = with_next[best].id;
        count--;
        size_t behind = count - best - 1;
        memmove(ids + best + 1, ids + best + 2, behind * sizeof *ids);
        memmove(with_next + best, with_next + best + 1, behind * sizeof *with_next);
        if (behind > 0)
            with_next[best] = find(bpe, ids[best], ids[best + 1]);
        if (best > 0)
            with_next[best - 1] = find(bpe, ids[best - 1], ids[best]);
    }
    return count;
}

static void heap_push(struct bpe_work *work, uint64_t key)
{
    if (work->heap_count == work->heap_capacity) {
        work->heap_capacity = work->heap_capacity ? 2 * work->heap_capacity : 256;
        work->heap = mem_resize(work->heap, work->heap_capacity * sizeof *work->heap);
    }
    size_t at = work->heap_count++;
    for (; at > 0 && work->heap[(at - 1) / 2] > key; at = (at - 1) / 2)
        work->heap[at] = work->heap[(at - 1) / 2];
    work->heap[at] = key;
}

static uint64_t heap_pop(struct bpe_work *work)
{
    uint64_t *heap = work->heap;
    uint64_t least = heap[0];
    uint64_t moved = heap[--work->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < work->heap_count; at = child) {
        if (child + 1 < work->heap_count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= moved)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
    return least;
}

static void consider(const struct bpe *bpe, struct bpe_work *work, const int32_t *ids,
                     uint32_t left, uint32_t right)
{
    struct bpe_merge_to to = find(bpe, ids[left], ids[right]);
    if (to.rank != BPE_NO_RANK)
        heap_push(work, (uint64_t)to.rank << 32 | left);
}

/* Merged tokens leave holes (-1) behind; a place in the heap may be out of date, and is then passed
 * over. */
static size_t merge_long(const struct bpe *bpe, struct bpe_work *work, int32_t *ids, size_t count)
{
    if (work->capacity < count) {
        work->capacity = count;
        work->links = mem_resize(work->links, 2 * count * sizeof *work->links);
    }
    uint32_t *previous = work->links, *next = work->links + count;
    work->heap_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        previous[i] = i == 0 ? NOWHERE : i - 1;
        next[i] = i + 1 == count ? NOWHERE : i + 1;
        if (i + 1 < count)
            consider(bpe, work, ids, i, i + 1);
    }
    while (work->heap_count > 0) {
        uint64_t key = heap_pop(work);
        uint32_t left = (uint32_t)key, right = next[left];
        if (ids[left] < 0 || right == NOWHERE)
            continue;
        struct bpe_merge_to to = find(bpe, ids[left], ids[right]);
        if (to.rank != key >> 32)
            continue;
        ids[left] = to.id;
        ids[right] = -1;
        next[left] = next[right];
        if (next[left] != NOWHERE) {
            previous[next[left]] = left;
            consider(bpe, work, ids, left, next[left]);
        }
        if (previous[left] != NOWHERE)
            consider(bpe, work, ids, previous[left], left);
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= 0)
            ids[left++] = ids[i];
    return left;
}

size_t bpe_merge(const struct bpe *bpe, struct bpe_work *work, int32_t *ids, size_t count)
{
    return count <= SHORT ? merge_short(bpe, ids, count) : merge_long(bpe, work, ids, count);
}
