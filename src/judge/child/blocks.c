#include "judge/child/blocks.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <utlist.h>

#define BUCKETS 1024
#define PAGE_BYTES ((size_t)4096)
#define LARGE_PAGE_BYTES ((size_t)2 << 20)
/* A block's distance from the beginning of a large page: so many different ones. */
#define DISTANCES 32
#define DISTANCE_BYTES (PAGE_BYTES + BLOCK_ALIGNMENT)

struct block {
    char *start; /* of a large page */
    size_t distance, bytes;
    bool is_free;
    struct block *behind;      /* in its bucket */
    struct block *prev, *next; /* of those that are free */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *buckets[BUCKETS]; /* all blocks, by where they start */
static struct block *kept;             /* free: the last one first */
static size_t kept_bytes, made;

static struct block **bucket_of(const void *memory)
{
    return &buckets[(uintptr_t)memory / LARGE_PAGE_BYTES % BUCKETS];
}

static size_t mapped_bytes(const struct block *block)
{
    return (block->distance + block->bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* From the beginning of a large page. */
static char *map(size_t bytes)
{
    char *got = mmap(NULL, bytes + LARGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        return NULL;
    size_t before = (LARGE_PAGE_BYTES - (uintptr_t)got % LARGE_PAGE_BYTES) % LARGE_PAGE_BYTES;
    if (before > 0)
        munmap(got, before);
    munmap(got + before + bytes, LARGE_PAGE_BYTES - before);
    madvise(got + before, bytes, MADV_HUGEPAGE);
    return got + before;
}

static void unmap(struct block *block)
{
    struct block **link = bucket_of(block->start);
    while (*link != block)
        link = &(*link)->behind;
    *link = block->behind;
    munmap(block->start, mapped_bytes(block));
    free(block);
}

static void leave_free(struct block *block)
{
    DL_DELETE(kept, block);
    block->is_free = false;
    kept_bytes -= block->bytes;
}

static void join_free(struct block *block)
{
    DL_PREPEND(kept, block);
    block->is_free = true;
    kept_bytes += block->bytes;
}

static void give_back(size_t until)
{
    while (kept && kept_bytes > until) {
        struct block *block = kept->prev;
        leave_free(block); /* NOLINT(clang-analyzer-unix.Malloc): nor has the list one that went */
        unmap(block);
    }
}

static struct block *make(size_t bytes)
{
    struct block *block = calloc(1, sizeof *block); /* without memory this is no process's end */
    if (!block)
        return NULL;
    block->bytes = bytes;
    block->distance = made++ % DISTANCES * DISTANCE_BYTES;
    block->start = map(mapped_bytes(block));
    if (!block->start) {
        give_back(0);
        block->start = map(mapped_bytes(block));
    }
    if (!block->start) {
        free(block);
        errno = ENOMEM;
        return NULL;
    }
    struct block **bucket = bucket_of(block->start);
    block->behind = *bucket;
    *bucket = block;
    return block;
}

void *block_take(size_t bytes)
{
    if (bytes > PTRDIFF_MAX - 2 * LARGE_PAGE_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct block *block;
    DL_SEARCH_SCALAR(kept, block, bytes, bytes);
    if (block)
        leave_free(block);
    else
        block = make(bytes);
    pthread_mutex_unlock(&lock);
    return block ? block->start + block->distance : NULL;
}

/* In use. NULL: none, or one that is free already. */
static struct block *find(const void *memory)
{
    struct block *block = *bucket_of(memory);
    while (block && block->start + block->distance != memory)
        block = block->behind;
    return block && !block->is_free ? block : NULL;
}

bool block_free(void *memory, size_t poisoned)
{
    pthread_mutex_lock(&lock);
    struct block *block = find(memory);
    if (block && block->bytes > BLOCKS_KEPT_BYTES) {
        unmap(block);
    } else if (block) {
        memset(memory, BLOCK_POISON, poisoned < block->bytes ? poisoned : block->bytes);
        join_free(block);
    }
    give_back(BLOCKS_KEPT_BYTES);
    pthread_mutex_unlock(&lock);
    return block;
}

size_t blocks_kept(void)
{
    pthread_mutex_lock(&lock);
    size_t bytes = kept_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

void blocks_give_back(void)
{
    pthread_mutex_lock(&lock);
    give_back(0);
    pthread_mutex_unlock(&lock);
}
