// Copies whole rows, rows over threads, and fetches the row that comes eight later in the meantime.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { AHEAD = 8, LINE = 16 };

void solution(const float *table, const int32_t *index, float *y, size_t entries, size_t count,
              size_t width)
{
    (void)entries;
#pragma omp parallel for if (count * width > 30000)
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            for (size_t j = 0; j < width; j += LINE)
                __builtin_prefetch(table + (size_t)index[i + AHEAD] * width + j);
        memcpy(y + i * width, table + (size_t)index[i] * width, width * sizeof(float));
    }
}
