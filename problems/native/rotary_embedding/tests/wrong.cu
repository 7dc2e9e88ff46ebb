// Wrong: pairs neighbouring elements, as some models do, instead of the two halves of a head.
#include <stddef.h>
#include <stdint.h>

__global__ static void rotate(const float *x, const float *cosine, const float *sine,
                              const int32_t *position, float *y, size_t heads, size_t half)
{
    size_t angles = (size_t)position[blockIdx.x / heads] * half;
    x += blockIdx.x * 2 * half;
    y += blockIdx.x * 2 * half;
    for (size_t i = threadIdx.x; i < half; i += blockDim.x) {
        float c = cosine[angles + i], s = sine[angles + i];
        y[2 * i] = x[2 * i] * c - x[2 * i + 1] * s;
        y[2 * i + 1] = x[2 * i + 1] * c + x[2 * i] * s;
    }
}

extern "C" void solution(const float *x, const float *cosine, const float *sine,
                         const int32_t *position, float *y, size_t tokens, size_t heads,
                         size_t half, size_t context)
{
    (void)context;
    rotate<<<tokens * heads, 64>>>(x, cosine, sine, position, y, heads, half);
}
