// A block makes 64 steps of eight output channels out of shared memory, a thread four channels of a
// step: one element of x and one vector of weights for four multiplications.
#include <stddef.h>

enum { STEPS = 64, GROUPS = 2, OUTPUTS = 4 * GROUPS, THREADS = STEPS * GROUPS };
enum { CHANNELS = 16, TAPS = 8, WIDTH = STEPS + TAPS }; /* at a time */

struct part {
    size_t channel, tap;
    unsigned channels, taps;
};

/* x points to the batch's first channel at the block's first step, `rest` elements before its end;
 * what lies behind the end counts as zero. */
__device__ static void load_x(float *tile, const float *__restrict__ x, part part, size_t length,
                              size_t rest)
{
#pragma unroll
    for (unsigned i = 0; i < CHANNELS * WIDTH; i += THREADS) {
        unsigned at = i + threadIdx.y * STEPS + threadIdx.x, c = at / WIDTH;
        size_t step = part.tap + at % WIDTH;
        bool inside = c < part.channels && step < rest;
        tile[at] = inside ? x[(part.channel + c) * length + step] : 0;
    }
}

/* weight points to the block's first output channel; there are `rest` up to the last one. The
 * tile's order is channel, tap, output. */
__device__ static void load_weight(float *tile, const float *__restrict__ weight, part part,
                                   size_t inputs, size_t taps, size_t rest)
{
#pragma unroll
    for (unsigned i = 0; i < CHANNELS * TAPS * OUTPUTS; i += THREADS) {
        unsigned at = i + threadIdx.y * STEPS + threadIdx.x;
        unsigned k = at % TAPS, o = at / TAPS % OUTPUTS, c = at / TAPS / OUTPUTS;
        bool inside = c < part.channels && k < part.taps && o < rest;
        tile[(c * TAPS + k) * OUTPUTS + o] =
            inside ? weight[(o * inputs + part.channel + c) * taps + part.tap + k] : 0;
    }
}

__global__ static void convolve(const float *__restrict__ x, const float *__restrict__ weight,
                                float *__restrict__ y, size_t inputs, size_t outputs, size_t length,
                                size_t taps)
{
    __shared__ float x_tile[CHANNELS][WIDTH];
    __shared__ float4 weight_tile[CHANNELS][TAPS][GROUPS];
    size_t step = blockIdx.y * (size_t)STEPS, output = blockIdx.z * (size_t)OUTPUTS;
    x += blockIdx.x * inputs * length + step;
    float4 sum = make_float4(0, 0, 0, 0);
    for (size_t channel = 0; channel < inputs; channel += CHANNELS) {
        for (size_t tap = 0; tap < taps; tap += TAPS) {
            part part = {channel, tap, (unsigned)min(inputs - channel, (size_t)CHANNELS),
                         (unsigned)min(taps - tap, (size_t)TAPS)};
            __syncthreads();
            load_x(x_tile[0], x, part, length, length - step);
            load_weight((float *)weight_tile, weight + output * inputs * taps, part, inputs, taps,
                        outputs - output);
            __syncthreads();
            for (unsigned k = 0; k < part.taps; k++) {
#pragma unroll
                for (unsigned c = 0; c < CHANNELS; c++) { /* those past the last are zero */
                    float element = x_tile[c][threadIdx.x + k];
                    float4 w = weight_tile[c][k][threadIdx.y];
                    sum.x += element * w.x;
                    sum.y += element * w.y;
                    sum.z += element * w.z;
                    sum.w += element * w.w;
                }
            }
        }
    }
    size_t steps = length - taps + 1, t = step + threadIdx.x, o = output + threadIdx.y * 4;
    const float own[4] = {sum.x, sum.y, sum.z, sum.w};
    for (size_t i = 0; i < 4; i++)
        if (t < steps && o + i < outputs)
            y[(blockIdx.x * outputs + o + i) * steps + t] = own[i];
}

extern "C" void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
                         size_t outputs, size_t length, size_t taps)
{
    dim3 grid(batch, (length - taps + STEPS) / STEPS, (outputs + OUTPUTS - 1) / OUTPUTS);
    convolve<<<grid, dim3(STEPS, GROUPS)>>>(x, weight, y, inputs, outputs, length, taps);
}
