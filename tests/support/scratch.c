#include "scratch.h"

#include "base/file.h"
#include "base/mem.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_BYTES ((size_t)1 << 28)

static char directory[64];
static struct arena arena;

int scratch_begin(void **state)
{
    snprintf(directory, sizeof directory, "/tmp/warpgym-test-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

int scratch_end(void **state)
{
    file_remove_tree(directory);
    arena_deinit(&arena);
    return 0;
}

const char *scratch_path(const char *name)
{
    return name[0] ? arena_printf(&arena, "%s/%s", directory, name) : directory;
}

void scratch_write(const char *name, const void *bytes, size_t count)
{
    struct err err;
    const char *path = scratch_path(name);
    char *parent = file_parent(path);
    assert_ok(file_make_directories(parent, 0755, &err), &err);
    assert_ok(file_write_atomic(path, bytes, count, 0644, &err), &err);
    mem_free(parent);
}

const char *scratch_read(const char *name, size_t *count)
{
    char *bytes;
    size_t found;
    struct err err;
    assert_ok(file_read(scratch_path(name), FILE_BYTES, &bytes, &found, &err), &err);
    char *kept = arena_alloc(&arena, found + 1);
    memcpy(kept, bytes, found + 1);
    mem_free(bytes);
    if (count)
        *count = found;
    return kept;
}
