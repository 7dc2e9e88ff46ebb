// Wrong: rounds to TF32 on the way, as a tensor core does with its inputs.
#include <stddef.h>

__global__ static void relu(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float rounded = __uint_as_float((__float_as_uint(x[i]) + 0x1000) & 0xffffe000u);
    y[i] = rounded > 0 ? rounded : 0;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    relu<<<(n + 255) / 256, 256>>>(x, y, n);
}
