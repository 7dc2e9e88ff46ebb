/* mem: memory that never fails, and arenas.
 *
 * mem_* end the process with one line on standard error when the machine is out of memory: no
 * caller can do better for the small sizes used here. limits.h bounds every size that a client or a
 * candidate controls before it reaches mem_*.
 *
 * An arena holds data with one lifetime (a request, a problem, a configuration). Everything in it
 * is freed at once by arena_deinit; nothing is freed alone. A zeroed struct arena is a valid empty
 * one. Threads: an arena belongs to one thread at a time.
 */
#pragma once

#include <stddef.h>

void *mem_alloc(size_t size_bytes);             /* zeroed */
void *mem_resize(void *old, size_t size_bytes); /* as realloc */
/* A NUL is behind the copy. */
void *mem_copy(const void *bytes, size_t size_bytes);
char *mem_strdup(const char *text);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mem_free(void *memory); /* as free */

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used;
};

/* Zeroed memory, aligned to 16 bytes, that lives as long as the arena. */
void *arena_alloc(struct arena *arena, size_t size_bytes);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What is in the other one lives as long as this one now; the other one is empty. */
void arena_take(struct arena *arena, struct arena *other);
void arena_deinit(struct arena *arena);
