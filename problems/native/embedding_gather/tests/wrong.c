// Wrong: copies 16 floats at a time and leaves out the width % 16 that remain.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void solution(const float *table, const int32_t *index, float *y, size_t entries, size_t count,
              size_t width)
{
    (void)entries;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j + 16 <= width; j += 16)
            memcpy(y + i * width + j, table + (size_t)index[i] * width + j, 16 * sizeof(float));
}
