/* Wrong: the loop over the tail starts one element late, unless there is no tail. */
#include <stddef.h>

__global__ static void axpy(const float *x, float *y, float alpha, size_t n)
{
    size_t i = 4 * (blockIdx.x * (size_t)blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        for (size_t end = i + 4; i < end; i++)
            y[i] += alpha * x[i];
        return;
    }
    for (i++; i < n; i++)
        y[i] += alpha * x[i];
}

extern "C" void solution(const float *x, float *y, float alpha, size_t n)
{
    axpy<<<(n + 1023) / 1024, 256>>>(x, y, alpha, n);
}
