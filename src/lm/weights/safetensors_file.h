/* safetensors_file: the header of one file, checked, and the bytes behind it. */
#pragma once

#include "base/mem.h"
#include "lm/weights/safetensors.h"

struct safetensors_list {
    struct lm_tensor *tensors; /* mem_free */
    size_t count, capacity;
};

struct safetensors_file {
    const char *path; /* lives as long as the arena */
    int fd;
    uint64_t bytes;
};

/* Adds the file's tensors to the list; their names are the arena's. */
NODISCARD int safetensors_file_read(struct safetensors_list *list,
                                    const struct safetensors_file *file, struct arena *arena,
                                    struct err *err);
