// Sums each column of a band of rows first, in SIMD lanes, then each window of that band.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct span {
    size_t begin, end;
};

/* The part of window `at` that lies in the image. */
static struct span window(size_t at, size_t stride, size_t padding, size_t kernel, size_t size)
{
    size_t past = at * stride + kernel - padding;
    return (struct span){at * stride < padding ? 0 : at * stride - padding,
                         past < size ? past : size};
}

static void pool_row(const float *x, float *y, float *restrict band, struct span rows,
                     const struct span *columns, size_t width, size_t cols)
{
    memcpy(band, x + rows.begin * width, width * sizeof(float));
    for (size_t row = rows.begin + 1; row < rows.end; row++)
        for (size_t j = 0; j < width; j++)
            band[j] += x[row * width + j];
    float height = (float)(rows.end - rows.begin);
    for (size_t j = 0; j < cols; j++) {
        float sum = 0;
        for (size_t col = columns[j].begin; col < columns[j].end; col++)
            sum += band[col];
        y[j] = sum / (height * (float)(columns[j].end - columns[j].begin));
    }
}

void solution(const float *x, float *y, size_t planes, size_t height, size_t width, size_t kernel,
              size_t stride, size_t padding)
{
    size_t rows = (height + 2 * padding - kernel) / stride + 1;
    size_t cols = (width + 2 * padding - kernel) / stride + 1;
    struct span *columns = malloc(cols * sizeof *columns);
    if (!columns)
        return;
    for (size_t j = 0; j < cols; j++)
        columns[j] = window(j, stride, padding, kernel, width);
#pragma omp parallel if (planes * height * width > 30000)
    {
        float *band = malloc(width * sizeof(float));
#pragma omp for collapse(2)
        for (size_t p = 0; p < planes; p++)
            for (size_t i = 0; i < rows; i++)
                if (band)
                    pool_row(x + p * height * width, y + (p * rows + i) * cols, band,
                             window(i, stride, padding, kernel, height), columns, width, cols);
        free(band);
    }
    free(columns);
}
