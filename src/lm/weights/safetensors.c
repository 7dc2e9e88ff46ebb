#include "lm/weights/safetensors.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/weights/config_parts.h"
#include "lm/weights/safetensors_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"
#define SUFFIX ".safetensors"

struct safetensors {
    struct safetensors_list list;
    struct arena arena; /* paths and names */
    int *fds;
    const char **names; /* of the files, within their directory */
    size_t files;
};

static int by_name(const void *a, const void *b)
{
    const struct lm_tensor *left = a, *right = b;
    return strcmp(left->name, right->name);
}

const struct lm_tensor *safetensors_find(const struct safetensors *set, const char *name)
{
    const struct lm_tensor key = {.name = name};
    return set->list.count == 0 ? NULL
                                : bsearch(&key, set->list.tensors, set->list.count,
                                          sizeof *set->list.tensors, by_name);
}

size_t safetensors_files(const struct safetensors *set)
{
    return set->files;
}

size_t safetensors_count(const struct safetensors *set)
{
    return set->list.count;
}

const struct lm_tensor *safetensors_at(const struct safetensors *set, size_t index)
{
    return &set->list.tensors[index];
}

static int open_file(struct safetensors *set, const char *path, const char *name, struct err *err)
{
    if (set->files == LIMIT_SAFETENSORS_FILES)
        return err_set(err, ERR_LIMIT, "%s: more than %d files", path, LIMIT_SAFETENSORS_FILES);
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_MISSING, "%s: no such file", path);
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open", path);
    set->fds[set->files] = fd;
    set->names[set->files++] = arena_strdup(&set->arena, name);
    if (fstat(fd, &status) < 0)
        return err_sys(err, errno, "%s: cannot read", path);
    if (!S_ISREG(status.st_mode))
        return err_set(err, ERR_INPUT, "%s: is no regular file", path);
    const struct safetensors_file file = {arena_strdup(&set->arena, path), fd,
                                          (uint64_t)status.st_size};
    return safetensors_file_read(&set->list, &file, &set->arena, err);
}

/* All files are in: sorted, each name once. */
static int finish(struct safetensors *set, struct err *err)
{
    struct lm_tensor *tensors = set->list.tensors;
    if (set->list.count > 0)
        qsort(tensors, set->list.count, sizeof *tensors, by_name);
    for (size_t i = 1; i < set->list.count; i++)
        if (strcmp(tensors[i - 1].name, tensors[i].name) == 0)
            return err_set(err, ERR_INPUT, "tensor '%s' is in %s and in %s", tensors[i].name,
                           tensors[i - 1].path, tensors[i].path);
    return 0;
}

/* A name that leads out of the directory would read whatever the process may read. */
static bool is_file_name(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SUFFIX);
    if (length <= suffix || length > 255 || name[0] == '.' || strchr(name, '/') ||
        strcmp(name + length - suffix, SUFFIX) != 0)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            return false;
    return true;
}

static int open_shards(struct safetensors *set, const char *directory, const json_t *map,
                       struct err *err)
{
    const char *tensor;
    json_t *value;
    json_object_foreach((json_t *)map, tensor, value)
    {
        const char *name = json_string_value(value);
        if (!name || !is_file_name(name))
            return err_set(err, ERR_INPUT,
                           "the file of tensor '%.128s' is '%.128s'; it must be the name of a "
                           "%s file beside the index",
                           tensor, name ? name : "no text", SUFFIX);
        size_t known = 0;
        while (known < set->files && strcmp(set->names[known], name) != 0)
            known++;
        if (known < set->files)
            continue;
        char *path = mem_printf("%s/%s", directory, name);
        int result = open_file(set, path, name, err);
        mem_free(path);
        if (result < 0)
            return result;
    }
    return 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The index and the files say the same, in both directions. */
static int compare(const struct safetensors *set, const json_t *map, struct err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)map, name, value)
    {
        const struct lm_tensor *tensor = safetensors_find(set, name);
        if (!tensor)
            return err_set(err, ERR_INPUT, "tensor '%.128s' should be in %.128s, and is not there",
                           name, json_string_value(value));
        if (strcmp(last_part(tensor->path), json_string_value(value)) != 0)
            return err_set(err, ERR_INPUT, "tensor '%.128s' should be in %.128s, and is in %.128s",
                           name, json_string_value(value), last_part(tensor->path));
    }
    for (size_t i = 0; i < set->list.count; i++)
        if (!json_object_get(map, set->list.tensors[i].name))
            return err_set(err, ERR_INPUT, "says nothing about tensor '%.128s', which is in %.128s",
                           set->list.tensors[i].name, last_part(set->list.tensors[i].path));
    return 0;
}

static int open_index(struct safetensors *set, const char *directory, const char *index,
                      struct err *err)
{
    json_t *document, *map = NULL;
    int result = json_file_read(index, LIMIT_SAFETENSORS_INDEX_BYTES, &document, err);
    if (result == 0) {
        result = json_get_object(document, "weight_map", &map, err);
        if (result == 0)
            result = open_shards(set, directory, map, err);
        if (result == 0)
            result = finish(set, err);
        if (result == 0)
            result = compare(set, map, err);
        if (result < 0)
            err_prefix(err, "%s", index);
    }
    json_decref(document);
    return result;
}

static int open_directory(struct safetensors *set, const char *directory, struct err *err)
{
    char *single = mem_printf("%s/" SINGLE, directory);
    char *index = mem_printf("%s/" INDEX, directory);
    int result;
    if (file_exists(single)) {
        result = open_file(set, single, SINGLE, err);
        if (result == 0)
            result = finish(set, err);
    } else if (file_exists(index)) {
        result = open_index(set, directory, index, err);
    } else {
        result = err_set(err, ERR_MISSING, "%s: holds neither " SINGLE " nor " INDEX, directory);
    }
    mem_free(single);
    mem_free(index);
    return result;
}

int safetensors_open(struct safetensors **out, const char *path, struct err *err)
{
    struct safetensors *set = mem_alloc(sizeof *set);
    set->fds = mem_alloc(LIMIT_SAFETENSORS_FILES * sizeof *set->fds);
    set->names = mem_alloc(LIMIT_SAFETENSORS_FILES * sizeof *set->names);
    int result;
    if (file_is_directory(path)) {
        result = open_directory(set, path, err);
    } else {
        result = open_file(set, path, last_part(path), err);
        if (result == 0)
            result = finish(set, err);
    }
    if (result < 0) {
        safetensors_close(set);
        set = NULL;
    }
    *out = set;
    return lm_weights_result(result, err);
}

void safetensors_close(struct safetensors *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->files; i++)
        close(set->fds[i]);
    mem_free(set->fds);
    mem_free(set->names);
    mem_free(set->list.tensors);
    arena_deinit(&set->arena);
    mem_free(set);
}
