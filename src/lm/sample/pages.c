#include "lm/sample/pages.h"

#include "base/mem.h"
#include "base/random.h"

#include <string.h>

/* Links are numbers of pages; PAGES_NONE ends a list. */
struct page {
    size_t references;
    uint64_t before, mark; /* mark 0: not kept */
    int32_t next_kept;     /* in the bucket */
    int32_t newer, older;  /* remembered ones; `older` links the free ones, too */
};

struct pages {
    size_t count, size;
    struct page *all;
    int32_t *tokens; /* [count, size], of the kept ones */
    int32_t *buckets;
    size_t bucket_mask;
    int32_t free, newest, oldest;
    size_t available;
    uint64_t last_mark;
};

struct pages *pages_new(size_t count, size_t size)
{
    struct pages *pages = mem_alloc(sizeof *pages);
    size_t buckets = 16;
    while (buckets < 2 * count)
        buckets *= 2;
    *pages = (struct pages){
        .count = count,
        .size = size,
        .all = mem_alloc(count * sizeof *pages->all),
        .tokens = mem_alloc(count * size * sizeof *pages->tokens),
        .buckets = mem_alloc(buckets * sizeof *pages->buckets),
        .bucket_mask = buckets - 1,
        .free = PAGES_NONE,
        .newest = PAGES_NONE,
        .oldest = PAGES_NONE,
        .available = count,
        .last_mark = PAGES_START,
    };
    for (size_t i = 0; i < buckets; i++)
        pages->buckets[i] = PAGES_NONE;
    for (size_t i = count; i > 0; i--) {
        pages->all[i - 1].older = pages->free;
        pages->free = (int32_t)i - 1;
    }
    return pages;
}

void pages_free(struct pages *pages)
{
    if (!pages)
        return;
    mem_free(pages->all);
    mem_free(pages->tokens);
    mem_free(pages->buckets);
    mem_free(pages);
}

static const int32_t *tokens_of(const struct pages *pages, int32_t page)
{
    return pages->tokens + (size_t)page * pages->size;
}

static int32_t *bucket_of(const struct pages *pages, uint64_t before, const int32_t *tokens)
{
    uint64_t hash = before;
    for (size_t i = 0; i < pages->size; i++) {
        hash = (hash ^ (uint32_t)tokens[i]) * RANDOM_GOLDEN;
        hash ^= hash >> 29;
    }
    return &pages->buckets[hash & pages->bucket_mask];
}

static int32_t find(const struct pages *pages, uint64_t before, const int32_t *tokens)
{
    int32_t page = *bucket_of(pages, before, tokens);
    while (page != PAGES_NONE &&
           (pages->all[page].before != before ||
            memcmp(tokens_of(pages, page), tokens, pages->size * sizeof *tokens) != 0))
        page = pages->all[page].next_kept;
    return page;
}

static void unkeep(struct pages *pages, int32_t page)
{
    struct page *it = &pages->all[page];
    int32_t *link = bucket_of(pages, it->before, tokens_of(pages, page));
    while (*link != page)
        link = &pages->all[*link].next_kept;
    *link = it->next_kept;
    it->mark = 0;
}

static void remember(struct pages *pages, int32_t page)
{
    struct page *it = &pages->all[page];
    it->newer = PAGES_NONE;
    it->older = pages->newest;
    if (pages->newest == PAGES_NONE)
        pages->oldest = page;
    else
        pages->all[pages->newest].newer = page;
    pages->newest = page;
}

static void unremember(struct pages *pages, int32_t page)
{
    const struct page *it = &pages->all[page];
    *(it->newer == PAGES_NONE ? &pages->newest : &pages->all[it->newer].older) = it->older;
    *(it->older == PAGES_NONE ? &pages->oldest : &pages->all[it->older].newer) = it->newer;
}

static void put_free(struct pages *pages, int32_t page)
{
    pages->all[page].older = pages->free;
    pages->free = page;
}

int32_t pages_find(struct pages *pages, uint64_t before, const int32_t *tokens, uint64_t *mark)
{
    int32_t page = find(pages, before, tokens);
    if (page == PAGES_NONE)
        return PAGES_NONE;
    *mark = pages->all[page].mark;
    if (pages->all[page].references++ == 0) {
        unremember(pages, page);
        pages->available--;
    }
    return page;
}

uint64_t pages_keep(struct pages *pages, uint64_t before, int32_t page, const int32_t *tokens)
{
    int32_t same = find(pages, before, tokens);
    if (same != PAGES_NONE)
        return pages->all[same].mark;
    struct page *it = &pages->all[page];
    int32_t *bucket = bucket_of(pages, before, tokens);
    memcpy(pages->tokens + (size_t)page * pages->size, tokens, pages->size * sizeof *tokens);
    it->before = before;
    it->mark = ++pages->last_mark;
    it->next_kept = *bucket;
    *bucket = page;
    return it->mark;
}

void pages_forget(struct pages *pages)
{
    for (size_t i = 0; i < pages->count; i++) {
        struct page *it = &pages->all[i];
        if (it->mark == 0)
            continue;
        unkeep(pages, (int32_t)i);
        if (it->references == 0) {
            unremember(pages, (int32_t)i);
            put_free(pages, (int32_t)i);
        }
    }
}

int32_t pages_take(struct pages *pages)
{
    int32_t page = pages->free;
    if (page != PAGES_NONE) {
        pages->free = pages->all[page].older;
    } else if (pages->oldest != PAGES_NONE) {
        page = pages->oldest;
        unremember(pages, page);
        unkeep(pages, page);
    } else {
        return PAGES_NONE;
    }
    pages->all[page].references = 1;
    pages->available--;
    return page;
}

void pages_share(struct pages *pages, int32_t page)
{
    pages->all[page].references++;
}

void pages_release(struct pages *pages, int32_t page)
{
    if (--pages->all[page].references > 0)
        return;
    pages->available++;
    if (pages->all[page].mark != 0)
        remember(pages, page);
    else
        put_free(pages, page);
}

bool pages_is_shared(const struct pages *pages, int32_t page)
{
    return pages->all[page].references > 1;
}

size_t pages_count(const struct pages *pages)
{
    return pages->count;
}

size_t pages_available(const struct pages *pages)
{
    return pages->available;
}

static int check_page(const struct pages *pages, int32_t page, size_t *referenced, size_t *kept,
                      struct err *err)
{
    const struct page *it = &pages->all[page];
    *referenced += it->references > 0;
    *kept += it->mark != 0;
    if (it->mark != 0 && find(pages, it->before, tokens_of(pages, page)) != page)
        return err_set(err, ERR_INTERNAL, "page %d is kept, and not found", page);
    if (it->mark > pages->last_mark)
        return err_set(err, ERR_INTERNAL, "page %d has a mark of the future", page);
    return 0;
}

int pages_check(const struct pages *pages, struct err *err)
{
    size_t unheld = 0, referenced = 0, kept = 0, listed = 0;
    for (int32_t at = pages->free; at != PAGES_NONE && unheld <= pages->count; unheld++) {
        if (pages->all[at].references > 0 || pages->all[at].mark != 0)
            return err_set(err, ERR_INTERNAL, "free page %d is in use", at);
        at = pages->all[at].older;
    }
    for (int32_t at = pages->newest; at != PAGES_NONE && unheld <= pages->count; unheld++) {
        if (pages->all[at].references > 0 || pages->all[at].mark == 0)
            return err_set(err, ERR_INTERNAL, "remembered page %d is not one", at);
        at = pages->all[at].older;
    }
    for (size_t i = 0; i < pages->count; i++)
        if (check_page(pages, (int32_t)i, &referenced, &kept, err) < 0)
            return ERR_INTERNAL;
    for (size_t i = 0; i <= pages->bucket_mask; i++)
        for (int32_t at = pages->buckets[i]; at != PAGES_NONE && listed <= pages->count; listed++)
            at = pages->all[at].next_kept;
    if (listed != kept)
        return err_set(err, ERR_INTERNAL, "%zu pages kept, %zu found", kept, listed);
    if (unheld != pages->available || unheld + referenced != pages->count)
        return err_set(err, ERR_INTERNAL, "%zu free or remembered, %zu referenced, of %zu (%zu)",
                       unheld, referenced, pages->count, pages->available);
    return 0;
}
