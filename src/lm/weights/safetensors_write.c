#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/weights/safetensors.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)256 << 10)

struct safetensors_writer {
    char *path, *temporary;
    int fd;
    enum lm_dtype *dtypes;
    uint64_t *counts; /* elements that are still to come, by tensor */
    size_t tensors, current;
    char *piece; /* what is not written yet */
    size_t held;
};

static const struct {
    const char *name;
    uint64_t bytes;
} kinds[] = {[LM_F32] = {"F32", 4}, [LM_BF16] = {"BF16", 2}, [LM_F16] = {"F16", 2}};

/* *end moves behind the tensor's bytes. */
static int declare(json_t *header, const struct safetensors_declaration *tensor, uint64_t *elements,
                   uint64_t *end, struct err *err)
{
    uint64_t count = 1, bytes, begin = *end;
    json_t *shape = json_array();
    bool whole = tensor->dimensions <= LM_TENSOR_DIMENSIONS;
    for (size_t i = 0; i < tensor->dimensions && whole; i++) {
        whole = tensor->shape[i] <= INT64_MAX &&
                !__builtin_mul_overflow(count, tensor->shape[i], &count);
        json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i]));
    }
    whole = whole && !__builtin_mul_overflow(count, kinds[tensor->dtype].bytes, &bytes) &&
            !__builtin_add_overflow(begin, bytes, end) && *end <= INT64_MAX;
    if (!whole || json_object_get(header, tensor->name)) {
        json_decref(shape);
        return err_set(err, ERR_INTERNAL,
                       "tensor '%.128s' cannot be declared: its shape is too "
                       "large, or it was there before",
                       tensor->name);
    }
    json_t *offsets = json_array();
    json_array_append_new(offsets, json_integer((json_int_t)begin));
    json_array_append_new(offsets, json_integer((json_int_t)*end));
    json_t *entry = json_object();
    json_put(entry, "dtype", json_text(kinds[tensor->dtype].name));
    json_put(entry, "shape", shape);
    json_put(entry, "data_offsets", offsets);
    json_put(header, tensor->name, entry);
    *elements = count;
    return 0;
}

static json_t *metadata_json(const char *const *pairs)
{
    json_t *object = json_object();
    for (; pairs[0] && pairs[1]; pairs += 2)
        json_put(object, pairs[0], json_text(pairs[1]));
    return object;
}

/* The header with its length, padded with blanks so that the data starts at a multiple of 8. */
static int write_header(struct safetensors_writer *writer, const json_t *header, struct err *err)
{
    struct buf text;
    buf_init(&text, LIMIT_SAFETENSORS_HEADER_BYTES);
    int result = json_line_write(header, &text, err);
    if (result == 0) {
        text.len--; /* the newline */
        buf_puts(&text, &"       "[(text.len + 7) % 8]);
        uint64_t length = htole64(text.len);
        result = file_write_fd(writer->fd, writer->path, &length, sizeof length, err);
    }
    if (result == 0)
        result = file_write_fd(writer->fd, writer->path, text.data, text.len, err);
    buf_deinit(&text);
    return result;
}

static void writer_free(struct safetensors_writer *writer)
{
    if (writer->fd >= 0) {
        close(writer->fd);
        if (writer->temporary[0])
            unlink(writer->temporary);
    }
    mem_free(writer->path);
    mem_free(writer->temporary);
    mem_free(writer->dtypes);
    mem_free(writer->counts);
    mem_free(writer->piece);
    mem_free(writer);
}

int safetensors_writer_open(struct safetensors_writer **out, const char *path,
                            const struct safetensors_declaration *tensors, size_t count,
                            const char *const *metadata, struct err *err)
{
    struct safetensors_writer *writer = mem_alloc(sizeof *writer);
    writer->path = mem_strdup(path);
    writer->temporary = mem_printf("%s.XXXXXX", path);
    writer->dtypes = mem_alloc(count * sizeof *writer->dtypes);
    writer->counts = mem_alloc(count * sizeof *writer->counts);
    writer->piece = mem_alloc(PIECE_BYTES);
    writer->tensors = count;
    writer->fd = -1;
    *out = NULL;
    json_t *header = json_object();
    if (metadata)
        json_put(header, "__metadata__", metadata_json(metadata));
    uint64_t end = 0;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        writer->dtypes[i] = tensors[i].dtype;
        result = declare(header, &tensors[i], &writer->counts[i], &end, err);
    }
    if (result == 0) {
        writer->fd = mkostemp(writer->temporary, O_CLOEXEC);
        result = writer->fd < 0 ? err_sys(err, errno, "%s: cannot create", path)
                                : write_header(writer, header, err);
    }
    json_decref(header);
    if (result < 0)
        writer_free(writer);
    else
        *out = writer;
    return result;
}

static int flush(struct safetensors_writer *writer, struct err *err)
{
    int result = file_write_fd(writer->fd, writer->path, writer->piece, writer->held, err);
    writer->held = 0;
    return result;
}

static void narrow(enum lm_dtype dtype, const float *values, size_t count, char *out)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        uint16_t half;
        memcpy(&word, &values[i], sizeof word);
        word = htole32(word);
        half = htole16(dtype == LM_BF16 ? lm_bf16_from(values[i]) : lm_f16_from(values[i]));
        if (dtype == LM_F32)
            memcpy(out + 4 * i, &word, sizeof word);
        else
            memcpy(out + 2 * i, &half, sizeof half);
    }
}

static void skip_full(struct safetensors_writer *writer)
{
    while (writer->current < writer->tensors && writer->counts[writer->current] == 0)
        writer->current++;
}

int safetensors_writer_put(struct safetensors_writer *writer, const float *values, uint64_t count,
                           struct err *err)
{
    while (count > 0) {
        skip_full(writer);
        if (writer->current == writer->tensors)
            return err_set(err, ERR_INTERNAL, "%s: more data than was declared", writer->path);
        enum lm_dtype dtype = writer->dtypes[writer->current];
        size_t element = (size_t)kinds[dtype].bytes;
        uint64_t now = (PIECE_BYTES - writer->held) / element;
        now = now < count ? now : count;
        now = now < writer->counts[writer->current] ? now : writer->counts[writer->current];
        narrow(dtype, values, (size_t)now, writer->piece + writer->held);
        writer->held += (size_t)now * element;
        writer->counts[writer->current] -= now;
        values += now;
        count -= now;
        if (PIECE_BYTES - writer->held < sizeof(float)) {
            int result = flush(writer, err);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

int safetensors_writer_end(struct safetensors_writer *writer, int result, struct err *err)
{
    if (!writer)
        return result;
    skip_full(writer);
    if (result == 0 && writer->current < writer->tensors)
        result = err_set(err, ERR_INTERNAL, "%s: data of tensor %zu is missing", writer->path,
                         writer->current);
    if (result == 0)
        result = flush(writer, err);
    if (result == 0 && (fchmod(writer->fd, 0644) < 0 || fsync(writer->fd) < 0))
        result = err_sys(err, errno, "%s: cannot write", writer->path);
    if (result == 0 && rename(writer->temporary, writer->path) < 0)
        result = err_sys(err, errno, "%s: cannot replace", writer->path);
    if (result == 0) {
        writer->temporary[0] = '\0';
        result = file_sync_parent(writer->path, err);
    }
    writer_free(writer);
    return result;
}
