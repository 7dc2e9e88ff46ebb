// Sums 64 steps of four output channels at once, so that x is loaded once for all four.
#include <stddef.h>
#include <string.h>

enum { CHANNELS = 4, STEPS = 64 };

/* Channels past the last one have the last one's weights. `width` is STEPS but at the end; known
 * to the compiler it keeps the sums in registers. */
static inline void add_channel(const float *x, const float *const *weight, size_t taps,
                               size_t width, float sum[CHANNELS][STEPS])
{
    for (size_t k = 0; k < taps; k++) {
        float w0 = weight[0][k], w1 = weight[1][k], w2 = weight[2][k], w3 = weight[3][k];
        for (size_t t = 0; t < width; t++) {
            sum[0][t] += w0 * x[t + k];
            sum[1][t] += w1 * x[t + k];
            sum[2][t] += w2 * x[t + k];
            sum[3][t] += w3 * x[t + k];
        }
    }
}

static void convolve(const float *x, const float *weight, float *y, size_t inputs, size_t outputs,
                     size_t length, size_t taps, size_t first)
{
    size_t steps = length - taps + 1;
    for (size_t t = 0; t < steps; t += STEPS) {
        size_t width = steps - t < STEPS ? steps - t : STEPS;
        float sum[CHANNELS][STEPS] = {0};
        for (size_t c = 0; c < inputs; c++) {
            const float *own[CHANNELS];
            for (size_t i = 0; i < CHANNELS; i++) {
                size_t o = first + i < outputs ? first + i : outputs - 1;
                own[i] = weight + (o * inputs + c) * taps;
            }
            if (width == STEPS)
                add_channel(x + c * length + t, own, taps, STEPS, sum);
            else
                add_channel(x + c * length + t, own, taps, width, sum);
        }
        for (size_t i = 0; i < CHANNELS && first + i < outputs; i++)
            memcpy(y + (first + i) * steps + t, sum[i], width * sizeof(float));
    }
}

void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
              size_t outputs, size_t length, size_t taps)
{
    size_t steps = length - taps + 1;
#pragma omp parallel for collapse(2) if (batch * outputs * steps * inputs * taps > 100000)
    for (size_t n = 0; n < batch; n++)
        for (size_t first = 0; first < outputs; first += CHANNELS)
            convolve(x + n * inputs * length, weight, y + n * outputs * steps, inputs, outputs,
                     length, taps, first);
}
