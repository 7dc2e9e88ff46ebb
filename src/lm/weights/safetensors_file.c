#include "lm/weights/safetensors_file.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_ELEMENTS 16384 /* converted at once; fits the cache */

struct kind {
    const char *name;
    uint64_t bytes; /* of an element */
    bool readable;
    enum lm_dtype dtype;
};

/* Types of whole bytes. */
static const struct kind kinds[] = {
    {"F32", 4, true, LM_F32},        {"BF16", 2, true, LM_BF16},
    {"F16", 2, true, LM_F16},        {.name = "F64", .bytes = 8},
    {.name = "C64", .bytes = 8},     {.name = "I64", .bytes = 8},
    {.name = "U64", .bytes = 8},     {.name = "I32", .bytes = 4},
    {.name = "U32", .bytes = 4},     {.name = "I16", .bytes = 2},
    {.name = "U16", .bytes = 2},     {.name = "I8", .bytes = 1},
    {.name = "U8", .bytes = 1},      {.name = "BOOL", .bytes = 1},
    {.name = "F8_E4M3", .bytes = 1}, {.name = "F8_E5M2", .bytes = 1},
    {.name = "F8_E8M0", .bytes = 1},
};

/* All `count` bytes at `offset`, or an error. */
static int read_at(int fd, const char *path, void *out, size_t count, uint64_t offset,
                   struct err *err)
{
    char *at = out;
    while (count > 0) {
        ssize_t got = pread(fd, at, count, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "%s: cannot read", path);
        if (got == 0)
            return err_set(err, ERR_IO, "%s: ends at byte %llu; it was longer when it was opened",
                           path, (unsigned long long)offset);
        at += got;
        count -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

/* Terminals and logs see names. */
static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F ||
            ((unsigned char)text[0] == 0xC2 && (unsigned char)text[1] < 0xA0))
            return true;
    return false;
}

static int read_kind(struct lm_tensor *tensor, const json_t *object, uint64_t *bytes,
                     struct err *err)
{
    const char *name;
    int result = json_get_string(object, "dtype", &name, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0) {
            tensor->dtype_name = kinds[i].name;
            tensor->readable = kinds[i].readable;
            tensor->dtype = kinds[i].dtype;
            *bytes = kinds[i].bytes;
            return 0;
        }
    return err_set(err, ERR_INPUT, "its type '%.32s' is not known", name);
}

static int read_shape(struct lm_tensor *tensor, const json_t *object, uint64_t element,
                      struct err *err)
{
    json_t *shape;
    int result = json_get_array(object, "shape", &shape, err);
    if (result < 0)
        return result;
    tensor->dimensions = json_array_size(shape);
    if (tensor->dimensions > LM_TENSOR_DIMENSIONS)
        return err_set(err, ERR_LIMIT, "it has %zu dimensions, more than %d", tensor->dimensions,
                       LM_TENSOR_DIMENSIONS);
    tensor->count = 1;
    for (size_t i = 0; i < tensor->dimensions; i++) {
        const json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return err_set(err, ERR_INPUT, "dimension %zu of its shape is no size", i);
        tensor->shape[i] = (uint64_t)json_integer_value(size);
        if (__builtin_mul_overflow(tensor->count, tensor->shape[i], &tensor->count))
            return err_set(err, ERR_INPUT, "its shape has more than 2^64 elements");
    }
    if (__builtin_mul_overflow(tensor->count, element, &tensor->bytes))
        return err_set(err, ERR_INPUT, "its shape has more than 2^64 bytes");
    return 0;
}

/* `room` bytes of data are in the file. tensor->offset counts from their start as yet. */
static int read_offsets(struct lm_tensor *tensor, const json_t *object, uint64_t capacity,
                        struct err *err)
{
    json_t *offsets;
    int result = json_get_array(object, "data_offsets", &offsets, err);
    if (result < 0)
        return result;
    const json_t *from = json_array_get(offsets, 0), *to = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(from) || !json_is_integer(to) ||
        json_integer_value(from) < 0 || json_integer_value(to) < json_integer_value(from))
        return err_set(err, ERR_INPUT,
                       "'data_offsets' must be two places, the second not before the first");
    uint64_t begin = (uint64_t)json_integer_value(from), end = (uint64_t)json_integer_value(to);
    if (tensor->bytes != end - begin)
        return err_set(err, ERR_INPUT, "its shape and type make %llu bytes, its offsets %llu",
                       (unsigned long long)tensor->bytes, (unsigned long long)(end - begin));
    if (end > capacity)
        return err_set(err, ERR_INPUT,
                       "it ends at byte %llu of the data; the file holds %llu (is it cut?)",
                       (unsigned long long)end, (unsigned long long)capacity);
    tensor->offset = begin;
    return 0;
}

static int read_tensor(struct lm_tensor *tensor, const char *name, const json_t *object,
                       uint64_t capacity, struct err *err)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    uint64_t element = 0;
    if (strlen(name) > LIMIT_SAFETENSORS_NAME_BYTES)
        return err_set(err, ERR_LIMIT, "the name of a tensor is longer than %d bytes: '%.64s…'",
                       LIMIT_SAFETENSORS_NAME_BYTES, name);
    if (*name == '\0' || has_control(name))
        return err_set(err, ERR_INPUT, "a tensor's name is empty or holds a control character");
    int result = 0;
    if (!json_is_object(object))
        result = err_set(err, ERR_INPUT, "it must be an object");
    if (result == 0)
        result = json_check_keys(object, keys, 3, err);
    if (result == 0)
        result = read_kind(tensor, object, &element, err);
    if (result == 0)
        result = read_shape(tensor, object, element, err);
    if (result == 0)
        result = read_offsets(tensor, object, capacity, err);
    if (result < 0)
        err_prefix(err, "tensor '%.128s'", name);
    return result;
}

static int by_offset(const void *a, const void *b)
{
    const struct lm_tensor *left = a, *right = b;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

/* Each byte of the data belongs to one tensor of the file, which are those from `first` on. */
static int check_cover(const struct safetensors_list *list, size_t first, uint64_t capacity,
                       struct err *err)
{
    struct lm_tensor *tensors = list->tensors;
    uint64_t end = 0;
    if (list->count > first)
        qsort(&tensors[first], list->count - first, sizeof *tensors, by_offset);
    for (size_t i = first; i < list->count; i++) {
        if (tensors[i].offset < end)
            return err_set(err, ERR_INPUT, "tensors '%.128s' and '%.128s' overlap",
                           tensors[i - 1].name, tensors[i].name);
        if (tensors[i].offset > end)
            return err_set(err, ERR_INPUT, "%llu bytes before tensor '%.128s' belong to none",
                           (unsigned long long)(tensors[i].offset - end), tensors[i].name);
        end += tensors[i].bytes;
    }
    if (end < capacity)
        return err_set(err, ERR_INPUT, "%llu bytes at the end belong to no tensor",
                       (unsigned long long)(capacity - end));
    return 0;
}

static int check_metadata(const json_t *metadata, struct err *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return err_set(err, ERR_INPUT, "'__metadata__' must be an object");
    json_object_foreach((json_t *)metadata, key, value)
    {
        if (!json_is_string(value))
            return err_set(err, ERR_INPUT, "'%.64s' of '__metadata__' must be a string", key);
    }
    return 0;
}

static int read_tensors(struct safetensors_list *list, const struct safetensors_file *file,
                        uint64_t data, const json_t *header, struct arena *arena, struct err *err)
{
    size_t first = list->count, most = list->count + json_object_size(header);
    const char *name;
    json_t *value;
    if (most > list->capacity) {
        list->tensors = mem_resize(list->tensors, most * sizeof *list->tensors);
        list->capacity = most;
    }
    json_object_foreach((json_t *)header, name, value)
    {
        int result;
        struct lm_tensor *tensor = &list->tensors[list->count];
        *tensor = (struct lm_tensor){.path = file->path, .fd = file->fd};
        if (strcmp(name, "__metadata__") == 0) {
            result = check_metadata(value, err);
        } else {
            result = read_tensor(tensor, name, value, file->bytes - data, err);
            tensor->name = arena_strdup(arena, name);
            list->count++;
        }
        if (result < 0)
            return result;
    }
    int result = check_cover(list, first, file->bytes - data, err);
    for (size_t i = first; i < list->count; i++)
        list->tensors[i].offset += data;
    return result;
}

static int read_header(const struct safetensors_file *file, json_t **out, uint64_t *data,
                       struct err *err)
{
    uint64_t length;
    if (file->bytes < sizeof length)
        return err_set(err, ERR_INPUT, "%s: %llu bytes are no safetensors file", file->path,
                       (unsigned long long)file->bytes);
    int result = read_at(file->fd, file->path, &length, sizeof length, 0, err);
    if (result < 0)
        return result;
    length = le64toh(length);
    if (length > file->bytes - sizeof length)
        return err_set(err, ERR_INPUT,
                       "%s: says that its header has %llu bytes, and has %llu in all: cut, or no "
                       "safetensors file",
                       file->path, (unsigned long long)length, (unsigned long long)file->bytes);
    if (length > LIMIT_SAFETENSORS_HEADER_BYTES)
        return err_set(err, ERR_LIMIT, "%s: a header of %llu bytes is longer than %llu", file->path,
                       (unsigned long long)length,
                       (unsigned long long)LIMIT_SAFETENSORS_HEADER_BYTES);
    char *text = mem_alloc(length + 1);
    char *name = mem_printf("%s: header", file->path);
    result = read_at(file->fd, file->path, text, length, sizeof length, err);
    if (result == 0)
        result = json_parse(name, text, length, out, err);
    if (result == 0 && !json_is_object(*out))
        result = err_set(err, ERR_INPUT, "%s: must be an object", name);
    *data = sizeof length + length;
    mem_free(name);
    mem_free(text);
    return result;
}

int safetensors_file_read(struct safetensors_list *list, const struct safetensors_file *file,
                          struct arena *arena, struct err *err)
{
    json_t *header = NULL;
    uint64_t data = 0;
    int result = read_header(file, &header, &data, err);
    if (result == 0 && (result = read_tensors(list, file, data, header, arena, err)) < 0)
        err_prefix(err, "%s", file->path);
    json_decref(header);
    return result;
}

static void widen(const struct lm_tensor *tensor, const void *from, size_t count, float *out)
{
    const uint16_t *shorts = from;
    const uint32_t *words = from;
    if (tensor->dtype == LM_F32)
        for (size_t i = 0; i < count; i++) {
            uint32_t word = le32toh(words[i]);
            memcpy(&out[i], &word, sizeof word);
        }
    else if (tensor->dtype == LM_BF16)
        for (size_t i = 0; i < count; i++)
            out[i] = lm_bf16_to(le16toh(shorts[i]));
    else
        for (size_t i = 0; i < count; i++)
            out[i] = lm_f16_to(le16toh(shorts[i]));
}

int lm_tensor_read(const struct lm_tensor *tensor, uint64_t first, uint64_t count, float *out,
                   struct err *err)
{
    if (!tensor->readable)
        return err_set(err, ERR_INPUT,
                       "%s: tensor '%.128s' is %s; the engine reads F32, "
                       "BF16 and F16",
                       tensor->path, tensor->name, tensor->dtype_name);
    if (first > tensor->count || count > tensor->count - first)
        return err_set(err, ERR_INTERNAL, "tensor '%.128s' has fewer elements than were asked for",
                       tensor->name);
    uint64_t element = tensor->dtype == LM_F32 ? 4 : 2;
    uint32_t *piece = mem_alloc(READ_ELEMENTS * sizeof *piece);
    int result = 0;
    while (count > 0 && result == 0) {
        size_t now = count < READ_ELEMENTS ? (size_t)count : READ_ELEMENTS;
        result = read_at(tensor->fd, tensor->path, piece, now * element,
                         tensor->offset + first * element, err);
        if (result == 0)
            widen(tensor, piece, now, out);
        out += now;
        first += now;
        count -= now;
    }
    mem_free(piece);
    return result;
}
