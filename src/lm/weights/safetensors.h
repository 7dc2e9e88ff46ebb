/* safetensors: tensors in a file, read and written.
 *
 * A file is 8 bytes of header length, a JSON header {name: {dtype, shape, data_offsets}} and the
 * data. Files are untrusted: the header's length, every shape, every offset and the sums
 * of them are checked before anything is used; overlapping or missing bytes, duplicate names,
 * shapes that do not match their bytes are refused with the tensor's name. Data is copied out with
 * pread, never mapped: a file that is cut while it is open ends as an error of the reader, not as a
 * signal, and the caller's conversion to f32 needs a copy anyway.
 *
 * A checkpoint is one file (model.safetensors) or many with an index
 * (model.safetensors.index.json); the index names files of its own directory only, and each tensor
 * must lie in the file that the index says, and nowhere else.
 *
 * Threads: an open set is read-only and may be shared.
 */
#pragma once

#include "base/err.h"
#include "lm/ops/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LM_TENSOR_DIMENSIONS 8

struct lm_tensor {
    const char *name;
    const char *dtype_name; /* "F32", "BF16", "I64" */
    bool readable;          /* one of enum lm_dtype; others are listed, and refused when read */
    enum lm_dtype dtype;
    size_t dimensions;
    uint64_t shape[LM_TENSOR_DIMENSIONS];
    uint64_t count, bytes; /* elements, bytes */
    const char *path;      /* of the file that holds it */
    int fd;
    uint64_t offset; /* in that file */
};

struct safetensors; /* one file or all files of a checkpoint */

/* A file, or a directory with model.safetensors or model.safetensors.index.json. Tensors come in
 * the order of their names. */
NODISCARD int safetensors_open(struct safetensors **out, const char *path, struct err *err);
void safetensors_close(struct safetensors *set);
size_t safetensors_files(const struct safetensors *set);
size_t safetensors_count(const struct safetensors *set);
const struct lm_tensor *safetensors_at(const struct safetensors *set, size_t index);
/* NULL: there is none. */
const struct lm_tensor *safetensors_find(const struct safetensors *set, const char *name);

/* Elements first..first+count-1 as f32, whatever float type they are kept in. */
NODISCARD int lm_tensor_read(const struct lm_tensor *tensor, uint64_t first, uint64_t count,
                             float *out, struct err *err);

/* Writing: declare all tensors, then hand over the data in the same order, in pieces of any size.
 * The file appears under its name only at the end (temporary file beside it, fsync, rename). */
struct safetensors_writer;
struct safetensors_declaration {
    const char *name;
    enum lm_dtype dtype;
    size_t dimensions;
    uint64_t shape[LM_TENSOR_DIMENSIONS];
};
NODISCARD int safetensors_writer_open(struct safetensors_writer **out, const char *path,
                                      const struct safetensors_declaration *tensors, size_t count,
                                      const char *const *metadata /* pairs, NULL-ended, or NULL */,
                                      struct err *err);
/* f32 in, rounded to the declared type. Values continue the current tensor, then the next. */
NODISCARD int safetensors_writer_put(struct safetensors_writer *writer, const float *values,
                                     uint64_t count, struct err *err);
/* Ends with what the puts gave: after 0 all data is on disk, else nothing stays. Returns `result`,
 * or why it failed now. Frees the writer either way; NULL is fine. */
NODISCARD int safetensors_writer_end(struct safetensors_writer *writer, int result,
                                     struct err *err);

/* DIRECTORY/model.safetensors into files of at most `bytes` of data each (a tensor is never split),
 * in the order of the tensors' names, and an index. The one file goes last: until then it is what
 * counts. */
NODISCARD int safetensors_split(const char *directory, uint64_t bytes, struct err *err);

/* Round to nearest even; NaN stays NaN. */
uint16_t lm_bf16_from(float value);
float lm_bf16_to(uint16_t bits);
uint16_t lm_f16_from(float value);
float lm_f16_to(uint16_t bits);
