/* bpe: merging a word's tokens by rank, pair by pair (Sennrich et al. 2016): of all neighbours that
 * a merge is known for, the one of least rank, among equals the leftmost, becomes one token; until
 * none is left.
 *
 * bpe_merge_plain says it in so many words, in time of the square of the length and more. bpe_merge
 * gives the same: short words remember the ranks of their neighbours, long ones keep them in a
 * heap, n log n.
 *
 * Threads: a table is read-only once filled; a struct bpe_work belongs to one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BPE_NO_RANK UINT32_MAX

struct bpe_merge_to {
    uint32_t rank; /* BPE_NO_RANK: these two don't merge */
    int32_t id;    /* what they become */
};

struct bpe_slot {
    uint64_t pair; /* left id, right id */
    struct bpe_merge_to to;
};

struct bpe {
    struct bpe_slot *slots;
    size_t mask;
    uint64_t seed;
};

/* What long words need; zero to begin with. */
struct bpe_work {
    uint64_t *heap; /* rank, place: the least first */
    size_t heap_count, heap_capacity;
    uint32_t *links; /* previous, next of each token */
    size_t capacity;
};

/* For at most `most` merges. */
void bpe_init(struct bpe *bpe, size_t most, uint64_t seed);
void bpe_deinit(struct bpe *bpe);
void bpe_work_deinit(struct bpe_work *work);

/* The last one counts where a pair comes twice. */
void bpe_put(struct bpe *bpe, int32_t left, int32_t right, struct bpe_merge_to to);

/* Merges in place; how many are left. `count` is below 2^32. */
size_t bpe_merge(const struct bpe *bpe, struct bpe_work *work, int32_t *ids, size_t count);
size_t bpe_merge_plain(const struct bpe *bpe, int32_t *ids, size_t count);
