#include <stddef.h>

/* One thread for an output. */
__global__ static void convolve(const float *x, const float *weight, float *y, size_t inputs,
                                size_t outputs, size_t length, size_t taps)
{
    size_t steps = length - taps + 1;
    size_t n = blockIdx.x / outputs, o = blockIdx.x % outputs;
    size_t t = blockIdx.y * (size_t)blockDim.x + threadIdx.x;
    if (t >= steps)
        return;
    float sum = 0;
    for (size_t c = 0; c < inputs; c++)
        for (size_t k = 0; k < taps; k++)
            sum += x[(n * inputs + c) * length + t + k] * weight[(o * inputs + c) * taps + k];
    y[(n * outputs + o) * steps + t] = sum;
}

extern "C" void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
                         size_t outputs, size_t length, size_t taps)
{
    dim3 grid(batch * outputs, (length - taps + 128) / 128);
    convolve<<<grid, 128>>>(x, weight, y, inputs, outputs, length, taps);
}
