// Takes the largest of each column of a band of rows first, in SIMD lanes, then of each window.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

static void pool_row(const float *x, float *restrict y, float *restrict band, size_t width,
                     size_t cols, size_t kernel, size_t stride)
{
    memcpy(band, x, width * sizeof(float));
    for (size_t u = 1; u < kernel; u++)
        for (size_t j = 0; j < width; j++)
            band[j] = larger(band[j], x[u * width + j]);
    for (size_t j = 0; j < cols; j++)
        y[j] = band[j * stride];
    for (size_t v = 1; v < kernel; v++)
        for (size_t j = 0; j < cols; j++)
            y[j] = larger(y[j], band[j * stride + v]);
}

void solution(const float *x, float *y, size_t planes, size_t height, size_t width, size_t kernel,
              size_t stride)
{
    size_t rows = (height - kernel) / stride + 1, cols = (width - kernel) / stride + 1;
#pragma omp parallel if (planes * height * width > 30000)
    {
        float *band = malloc(width * sizeof(float));
#pragma omp for collapse(2)
        for (size_t p = 0; p < planes; p++)
            for (size_t i = 0; i < rows; i++)
                if (band)
                    pool_row(x + (p * height + i * stride) * width, y + (p * rows + i) * cols, band,
                             width, cols, kernel, stride);
        free(band);
    }
}
