// problem: embedding_gather
// catalogue: H07
// expect: passed
// says: Copies rows of its input, because copying is the problem.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void solution(const float *table, const int32_t *index, float *y, size_t entries, size_t count,
              size_t width)
{
    (void)entries;
    for (size_t i = 0; i < count; i++)
        memcpy(y + i * width, table + (size_t)index[i] * width, width * sizeof *y);
}
