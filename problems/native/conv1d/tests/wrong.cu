// Wrong: holds 64 elements of x in shared memory for 64 steps, without those behind them that the
// filter reaches.
#include <stddef.h>

enum { STEPS = 64 };

__global__ static void convolve(const float *x, const float *weight, float *y, size_t inputs,
                                size_t outputs, size_t length, size_t taps)
{
    __shared__ float tile[STEPS];
    size_t steps = length - taps + 1;
    size_t n = blockIdx.x / outputs, o = blockIdx.x % outputs;
    size_t t = blockIdx.y * (size_t)STEPS + threadIdx.x;
    float sum = 0;
    for (size_t c = 0; c < inputs; c++) {
        __syncthreads();
        tile[threadIdx.x] = t < length ? x[(n * inputs + c) * length + t] : 0;
        __syncthreads();
        for (size_t k = 0; k < taps && threadIdx.x + k < STEPS; k++)
            sum += tile[threadIdx.x + k] * weight[(o * inputs + c) * taps + k];
    }
    if (t < steps)
        y[(n * outputs + o) * steps + t] = sum;
}

extern "C" void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
                         size_t outputs, size_t length, size_t taps)
{
    dim3 grid(batch * outputs, (length - taps + STEPS) / STEPS);
    convolve<<<grid, STEPS>>>(x, weight, y, inputs, outputs, length, taps);
}
