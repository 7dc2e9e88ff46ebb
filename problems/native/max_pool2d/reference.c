/* y[p][i][j] = the largest x[p][i * stride + u][j * stride + v] with u, v < kernel. */
#include <stddef.h>

static float largest(const float *window, size_t width, size_t kernel)
{
    float best = window[0];
    for (size_t u = 0; u < kernel; u++)
        for (size_t v = 0; v < kernel; v++)
            if (window[u * width + v] > best)
                best = window[u * width + v];
    return best;
}

void solution(const float *x, float *y, size_t planes, size_t height, size_t width, size_t kernel,
              size_t stride)
{
    size_t rows = (height - kernel) / stride + 1, cols = (width - kernel) / stride + 1;
    for (size_t p = 0; p < planes; p++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                y[(p * rows + i) * cols + j] = largest(x + (p * height + i * stride) * width +
                                                           j * stride,
                                                       width, kernel);
}
