/* Wrong: the last n % 4 elements of the difference have the opposite sign. */
#include <stddef.h>

__global__ static void saxpby(const float *x, const float *y, float *sum, float *difference,
                              float alpha, float beta, size_t n)
{
    size_t first = 4 * (blockIdx.x * (size_t)blockDim.x + threadIdx.x);
    bool whole = first + 4 <= n;
    for (size_t i = first; i < first + 4 && i < n; i++) {
        float a = alpha * x[i], b = beta * y[i];
        sum[i] = a + b;
        difference[i] = whole ? a - b : b - a;
    }
}

extern "C" void solution(const float *x, const float *y, float *sum, float *difference, float alpha,
                         float beta, size_t n)
{
    saxpby<<<(n + 1023) / 1024, 256>>>(x, y, sum, difference, alpha, beta, n);
}
