#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BLOCK_BYTES 8192

struct arena_block {
    struct arena_block *next;
    size_t capacity;
    _Alignas(16) char data[];
};

static void out_of_memory(void)
{
    static const char text[] = "warpgym: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    abort();
}

void *mem_alloc(size_t size_bytes)
{
    void *memory = calloc(1, size_bytes ? size_bytes : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *mem_resize(void *old, size_t size_bytes)
{
    void *memory = realloc(old, size_bytes ? size_bytes : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *mem_copy(const void *bytes, size_t size_bytes)
{
    char *copy = mem_alloc(size_bytes + 1);
    if (size_bytes > 0)
        memcpy(copy, bytes, size_bytes);
    return copy;
}

char *mem_strdup(const char *text)
{
    return mem_copy(text, strlen(text));
}

char *mem_printf(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        out_of_memory();
    return text;
}

void mem_free(void *memory)
{
    free(memory);
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    size_t rounded = (size_bytes + 15) & ~(size_t)15;
    if (!arena->blocks || arena->blocks->capacity - arena->used < rounded) {
        size_t capacity = rounded > ARENA_BLOCK_BYTES ? rounded : ARENA_BLOCK_BYTES;
        struct arena_block *block = mem_alloc(sizeof *block + capacity);
        block->capacity = capacity;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used = 0;
    }
    void *memory = arena->blocks->data + arena->used;
    arena->used += rounded;
    return memory;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        out_of_memory();
    char *text = arena_alloc(arena, (size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void arena_take(struct arena *arena, struct arena *other)
{
    struct arena_block **end = &arena->blocks;
    if (!*end)
        arena->used = other->used;
    while (*end)
        end = &(*end)->next;
    *end = other->blocks;
    *other = (struct arena){0};
}

void arena_deinit(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}
