// Wrong: copies four floats at a time and leaves out the width % 4 that remain.
#include <stddef.h>
#include <stdint.h>

__global__ static void gather(const float *table, const int32_t *index, float *y, size_t width)
{
    const float *from = table + (size_t)index[blockIdx.x] * width;
    float *to = y + blockIdx.x * width;
    for (size_t j = threadIdx.x * 4; j + 4 <= width; j += blockDim.x * 4)
        for (size_t k = j; k < j + 4; k++)
            to[k] = from[k];
}

extern "C" void solution(const float *table, const int32_t *index, float *y, size_t entries,
                         size_t count, size_t width)
{
    (void)entries;
    gather<<<count, 64>>>(table, index, y, width);
}
