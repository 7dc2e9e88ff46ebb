/* A file that is taken has tensors within it, one behind the other; each of them reads. */
#include "lm/weights/safetensors.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const struct safetensors *set, size_t size)
{
    float values[4];
    uint64_t bytes = 0;
    for (size_t i = 0; i < safetensors_count(set); i++) {
        const struct lm_tensor *tensor = safetensors_at(set, i);
        struct err err;
        bytes += tensor->bytes;
        if (tensor->offset > size || tensor->bytes > size - tensor->offset ||
            safetensors_find(set, tensor->name) != tensor)
            abort();
        uint64_t count = tensor->count < 4 ? tensor->count : 4;
        if (tensor->readable &&
            (lm_tensor_read(tensor, 0, count, values, &err) < 0 ||
             lm_tensor_read(tensor, tensor->count - count, count, values, &err) < 0))
            abort();
    }
    if (bytes > size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors *set = NULL;
    struct err err = {0};
    char path[64];
    int fd = file_memory_from("fuzz", data, size, &err);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int result = safetensors_open(&set, path, &err);
    if (result < 0 ? set != NULL || err.text[0] == '\0' || strchr(err.text, '\n') : set == NULL)
        abort();
    if (set)
        read_all(set, size);
    safetensors_close(set);
    close(fd);
    return 0;
}
