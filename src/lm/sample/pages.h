/* pages: which page of a cache holds which tokens, for which sequences.
 *
 * A page is free, referenced by one or more sequences, or remembered: unreferenced, but still
 * holding a full page of known tokens that a later prompt may begin with. Remembered pages are
 * reused when no free one is left, the least recently used first.
 *
 *   free ──take──► referenced ──release──► remembered (if kept) ──find──► referenced
 *     ▲                  └─────release, not kept ──┐       │ take, forget
 *     └────────────────────────────────────────────┴───────┘
 *
 * What a full page holds depends on all tokens before it, too. So a kept page gets a mark that is
 * never given twice, and is found by (mark of the page before it, its tokens), compared one by one:
 * no hash collision can make one prompt see another's keys and values.
 *
 * Threads: one at a time. It handles numbers only; the arrays behind them are the forward pass's.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGES_NONE (-1)
#define PAGES_START 0 /* the mark before the first page */

struct pages;

/* `count` pages of `size` positions. */
struct pages *pages_new(size_t count, size_t size);
void pages_free(struct pages *pages);

/* A page with one reference, or PAGES_NONE. */
int32_t pages_take(struct pages *pages);
void pages_share(struct pages *pages, int32_t page); /* one more reference */
void pages_release(struct pages *pages, int32_t page);
bool pages_is_shared(const struct pages *pages, int32_t page); /* by two or more */

/* The page that holds these `size` tokens behind the page marked `before`, with one reference more
 * and its mark; or PAGES_NONE. */
int32_t pages_find(struct pages *pages, uint64_t before, const int32_t *tokens, uint64_t *mark);
/* The caller's page, not kept so far, is full and may be found from now on. Returns its mark, or
 * that of the page that holds the same already. */
uint64_t pages_keep(struct pages *pages, uint64_t before, int32_t page, const int32_t *tokens);
/* Forgets all kept pages. */
void pages_forget(struct pages *pages);

size_t pages_count(const struct pages *pages);
/* Unreferenced pages. */
size_t pages_available(const struct pages *pages);

/* For tests: whether lists, table and counts agree; ERR_INTERNAL says what does not. */
NODISCARD int pages_check(const struct pages *pages, struct err *err);
