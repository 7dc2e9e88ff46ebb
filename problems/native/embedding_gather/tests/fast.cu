// Rows of four-float vectors where the width allows it, and as many rows in a block as fit, so that
// hardly a thread is idle whatever the width is.
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 256 };

template <typename T>
__global__ static void gather(const T *__restrict__ table, const int32_t *__restrict__ index,
                              T *__restrict__ y, size_t count, size_t width)
{
    size_t i = blockIdx.x * (size_t)blockDim.y + threadIdx.y;
    if (i >= count)
        return;
    const T *from = table + (size_t)index[i] * width;
    for (size_t j = threadIdx.x; j < width; j += blockDim.x)
        y[i * width + j] = from[j];
}

template <typename T>
static void launch(const float *table, const int32_t *index, float *y, size_t count, size_t width)
{
    unsigned across = width < THREADS ? (unsigned)width : THREADS, rows = THREADS / across;
    gather<<<(count + rows - 1) / rows, dim3(across, rows)>>>((const T *)table, index, (T *)y,
                                                              count, width);
}

extern "C" void solution(const float *table, const int32_t *index, float *y, size_t entries,
                         size_t count, size_t width)
{
    (void)entries;
    if (width % 4 == 0)
        launch<float4>(table, index, y, count, width / 4);
    else
        launch<float>(table, index, y, count, width);
}
