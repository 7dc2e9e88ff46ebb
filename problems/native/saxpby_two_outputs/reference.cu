#include <stddef.h>

__global__ static void weighted_sum(const float *x, const float *y, float *sum, float alpha,
                                    float beta, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = alpha * x[i] + beta * y[i];
}

__global__ static void weighted_difference(const float *x, const float *y, float *difference,
                                           float alpha, float beta, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        difference[i] = alpha * x[i] - beta * y[i];
}

extern "C" void solution(const float *x, const float *y, float *sum, float *difference, float alpha,
                         float beta, size_t n)
{
    weighted_sum<<<(n + 255) / 256, 256>>>(x, y, sum, alpha, beta, n);
    weighted_difference<<<(n + 255) / 256, 256>>>(x, y, difference, alpha, beta, n);
}
