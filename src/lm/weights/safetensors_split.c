#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/weights/safetensors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((uint64_t)1 << 18) /* elements that are copied at once */

struct split {
    const char *directory;
    const struct safetensors *set;
    size_t *file; /* of each tensor, from 0 */
    size_t files;
    uint64_t bytes; /* in all */
};

/* Which tensor goes where: a file is full when the next one does not fit. */
static int plan(struct split *split, uint64_t most, struct err *err)
{
    uint64_t held = 0;
    for (size_t i = 0; i < safetensors_count(split->set); i++) {
        const struct lm_tensor *tensor = safetensors_at(split->set, i);
        if (!tensor->readable)
            return err_set(err, ERR_INPUT, "tensor '%.128s' is %s, which cannot be copied",
                           tensor->name, tensor->dtype_name);
        if (held > 0 && tensor->bytes > 0 && (held > most || tensor->bytes > most - held)) {
            split->files++;
            held = 0;
        }
        split->file[i] = split->files;
        held += tensor->bytes;
        split->bytes += tensor->bytes;
    }
    split->files++;
    if (split->files > LIMIT_SAFETENSORS_FILES)
        return err_set(err, ERR_LIMIT, "%llu bytes a file make %zu files, more than %d",
                       (unsigned long long)most, split->files, LIMIT_SAFETENSORS_FILES);
    return 0;
}

static void file_name(const struct split *split, size_t file, char name[64])
{
    snprintf(name, 64, "model-%05zu-of-%05zu.safetensors", file + 1, split->files);
}

static int copy(struct safetensors_writer *writer, const struct lm_tensor *tensor, float *piece,
                struct err *err)
{
    int result = 0;
    for (uint64_t at = 0; at < tensor->count && result == 0; at += PIECE) {
        uint64_t count = tensor->count - at < PIECE ? tensor->count - at : PIECE;
        result = lm_tensor_read(tensor, at, count, piece, err);
        if (result == 0)
            result = safetensors_writer_put(writer, piece, count, err);
    }
    return result;
}

/* Tensors first..last-1 of the set. */
static int write_file(const struct split *split, size_t first, size_t last, struct err *err)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    struct safetensors_declaration *rows = mem_alloc((last - first + 1) * sizeof *rows);
    struct safetensors_writer *writer = NULL;
    float *piece = mem_alloc(PIECE * sizeof *piece);
    char name[64];
    file_name(split, split->file[first], name);
    char *path = mem_printf("%s/%s", split->directory, name);
    for (size_t i = first; i < last; i++) {
        const struct lm_tensor *tensor = safetensors_at(split->set, i);
        struct safetensors_declaration *row = &rows[i - first];
        *row =
            (struct safetensors_declaration){tensor->name, tensor->dtype, tensor->dimensions, {0}};
        memcpy(row->shape, tensor->shape, sizeof row->shape);
    }
    int result = safetensors_writer_open(&writer, path, rows, last - first, metadata, err);
    for (size_t i = first; i < last && result == 0; i++)
        result = copy(writer, safetensors_at(split->set, i), piece, err);
    result = safetensors_writer_end(writer, result, err);
    mem_free(path);
    mem_free(piece);
    mem_free(rows);
    return result;
}

static int write_files(const struct split *split, struct err *err)
{
    size_t first = 0, count = safetensors_count(split->set);
    int result = 0;
    for (size_t i = 1; i <= count && result == 0; i++)
        if (i == count || split->file[i] != split->file[first]) {
            result = write_file(split, first, i, err);
            first = i;
        }
    return result;
}

static int write_index(const struct split *split, struct err *err)
{
    json_t *map = json_object(), *metadata = json_object(), *index = json_object();
    char name[64];
    for (size_t i = 0; i < safetensors_count(split->set); i++) {
        file_name(split, split->file[i], name);
        json_put(map, safetensors_at(split->set, i)->name, json_text(name));
    }
    json_put(metadata, "total_size", json_integer((json_int_t)split->bytes));
    json_put(index, "metadata", metadata);
    json_put(index, "weight_map", map);
    char *path = mem_printf("%s/model.safetensors.index.json", split->directory);
    int result = json_file_write(path, index, true, err);
    mem_free(path);
    json_decref(index);
    return result;
}

int safetensors_split(const char *directory, uint64_t bytes, struct err *err)
{
    struct split split = {.directory = directory};
    struct safetensors *set = NULL;
    char *path = mem_printf("%s/model.safetensors", directory);
    int result = safetensors_open(&set, path, err);
    if (result == 0) {
        split.set = set;
        split.file = mem_alloc((safetensors_count(set) + 1) * sizeof *split.file);
        result = plan(&split, bytes, err);
    }
    if (result == 0)
        result = write_files(&split, err);
    if (result == 0)
        result = write_index(&split, err);
    if (result == 0 && unlink(path) < 0)
        result = err_sys(err, errno, "%s: cannot remove", path);
    safetensors_close(set);
    mem_free(split.file);
    mem_free(path);
    return result;
}
