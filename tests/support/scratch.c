#include "scratch.h"

#include "base/file.h"
#include "base/mem.h"
#include "test.h"

#define FILE_BYTES ((size_t)1 << 28)

static const char *directory;

int scratch_begin(void **state)
{
    directory = support_directory();
    return 0;
}

const char *scratch_path(const char *name)
{
    return name[0] ? support_text("%s/%s", directory, name) : directory;
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
    static struct arena contents;
    char *bytes;
    size_t found;
    struct err err;
    assert_ok(file_read(scratch_path(name), FILE_BYTES, &bytes, &found, &err), &err);
    char *kept = arena_alloc(&contents, found + 1);
    memcpy(kept, bytes, found + 1);
    mem_free(bytes);
    if (count)
        *count = found;
    return kept;
}
