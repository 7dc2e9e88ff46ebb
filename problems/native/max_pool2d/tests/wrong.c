// Wrong: starts from zero, so that a window of negative numbers yields zero.
#include <stddef.h>

void solution(const float *x, float *y, size_t planes, size_t height, size_t width, size_t kernel,
              size_t stride)
{
    size_t rows = (height - kernel) / stride + 1, cols = (width - kernel) / stride + 1;
    for (size_t k = 0; k < planes * rows * cols; k++) {
        size_t j = k % cols, i = k / cols % rows, p = k / cols / rows;
        const float *window = x + (p * height + i * stride) * width + j * stride;
        float best = 0;
        for (size_t u = 0; u < kernel; u++)
            for (size_t v = 0; v < kernel; v++)
                if (window[u * width + v] > best)
                    best = window[u * width + v];
        y[k] = best;
    }
}
