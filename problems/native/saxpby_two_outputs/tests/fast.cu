/* Both outputs in one pass over the inputs, four elements to a thread. */
#include <stddef.h>

__device__ static void combine(float x, float y, float alpha, float beta, float *sum,
                               float *difference)
{
    float a = alpha * x, b = beta * y;
    *sum = a + b;
    *difference = a - b;
}

__global__ static void saxpby(const float *__restrict__ x, const float *__restrict__ y,
                              float *__restrict__ sum, float *__restrict__ difference, float alpha,
                              float beta, size_t n)
{
    size_t i = 4 * (blockIdx.x * (size_t)blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        float4 u = *(const float4 *)(x + i), v = *(const float4 *)(y + i), plus, minus;
        combine(u.x, v.x, alpha, beta, &plus.x, &minus.x);
        combine(u.y, v.y, alpha, beta, &plus.y, &minus.y);
        combine(u.z, v.z, alpha, beta, &plus.z, &minus.z);
        combine(u.w, v.w, alpha, beta, &plus.w, &minus.w);
        *(float4 *)(sum + i) = plus;
        *(float4 *)(difference + i) = minus;
        return;
    }
    for (; i < n; i++)
        combine(x[i], y[i], alpha, beta, sum + i, difference + i);
}

extern "C" void solution(const float *x, const float *y, float *sum, float *difference, float alpha,
                         float beta, size_t n)
{
    saxpby<<<(n + 1023) / 1024, 256>>>(x, y, sum, difference, alpha, beta, n);
}
