// Pads a copy of x, then sums stretches of a row for four output channels at once.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 4, STRETCH = 32 };

struct shape {
    size_t inputs, outputs, height, width, kernel; /* height and width with the padding */
};

/* Always a whole stretch, so that the trip counts are constant and the sums stay in registers; what
 * lies past the end of an output row is thrown away. */
static void add_row(const float *x, const float *const *weight, size_t kernel,
                    float sum[CHANNELS][STRETCH])
{
    for (size_t v = 0; v < kernel; v++) {
        float w0 = weight[0][v], w1 = weight[1][v], w2 = weight[2][v], w3 = weight[3][v];
        for (size_t j = 0; j < STRETCH; j++) {
            sum[0][j] += w0 * x[j + v];
            sum[1][j] += w1 * x[j + v];
            sum[2][j] += w2 * x[j + v];
            sum[3][j] += w3 * x[j + v];
        }
    }
}

/* Four channels, from `first` on, of output row i. Channels past the end repeat the last one. */
static void convolve_row(const struct shape *s, const float *x, const float *weight, float *y,
                         size_t first, size_t i)
{
    size_t rows = s->height - s->kernel + 1, cols = s->width - s->kernel + 1;
    for (size_t left = 0; left < cols; left += STRETCH) {
        float sum[CHANNELS][STRETCH] = {0};
        for (size_t c = 0; c < s->inputs; c++) {
            for (size_t u = 0; u < s->kernel; u++) {
                const float *own[CHANNELS];
                for (size_t k = 0; k < CHANNELS; k++) {
                    size_t o = first + k < s->outputs ? first + k : s->outputs - 1;
                    own[k] = weight + ((o * s->inputs + c) * s->kernel + u) * s->kernel;
                }
                add_row(x + (c * s->height + i + u) * s->width + left, own, s->kernel, sum);
            }
        }
        size_t width = cols - left < STRETCH ? cols - left : STRETCH;
        for (size_t k = 0; k < CHANNELS && first + k < s->outputs; k++)
            memcpy(y + ((first + k) * rows + i) * cols + left, sum[k], width * sizeof(float));
    }
}

static void copy_padded(const float *x, float *padded, size_t height, size_t width, size_t padding)
{
    size_t stride = width + 2 * padding;
    for (size_t i = 0; i < height; i++)
        memcpy(padded + (i + padding) * stride + padding, x + i * width, width * sizeof(float));
}

void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
              size_t outputs, size_t height, size_t width, size_t kernel, size_t padding)
{
    struct shape s = {inputs, outputs, height + 2 * padding, width + 2 * padding, kernel};
    size_t rows = s.height - kernel + 1, cols = s.width - kernel + 1;
    /* Zeros, also for what the last stretch of the last row reads past the end. */
    float *padded = calloc(batch * inputs * s.height * s.width + STRETCH, sizeof(float));
    if (!padded)
        return;
#pragma omp parallel if (batch * outputs * rows * cols * inputs * kernel * kernel > 100000)
    {
#pragma omp for
        for (size_t k = 0; k < batch * inputs; k++)
            copy_padded(x + k * height * width, padded + k * s.height * s.width, height, width,
                        padding);
#pragma omp for collapse(3)
        for (size_t n = 0; n < batch; n++)
            for (size_t first = 0; first < outputs; first += CHANNELS)
                for (size_t i = 0; i < rows; i++)
                    convolve_row(&s, padded + n * inputs * s.height * s.width, weight,
                                 y + n * outputs * rows * cols, first, i);
    }
    free(padded);
}
