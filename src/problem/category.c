#include "problem/category.h"

#include "base/array.h"
#include "base/suggest.h"

#include <string.h>

#define TEXT_BYTES ((size_t)1024)

const char *const category_names[] = {
    "elementwise",   "reduction",    "matmul",    "convolution", "pooling",
    "normalization", "attention",    "scan",      "sorting",     "indexing",
    "loss",          "stencil",      "layout",    "sparse",      "fft",
    "recurrent",     "quantization", "optimizer", "network",     NULL,
};
const uint32_t category_count = COUNT(category_names) - 1;

const char *category_find(const char *text)
{
    for (uint32_t i = 0; i < category_count; i++)
        if (strcmp(category_names[i], text) == 0)
            return category_names[i];
    return NULL;
}

const char *category_complaint(struct arena *arena, const char *text)
{
    struct err err;
    err_unknown(&err, "category", text, category_names, category_count);
    return arena_strdup(arena, err.text);
}
