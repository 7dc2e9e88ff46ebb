// Wrong: divides by the area of the whole window at the borders too.
#include <stddef.h>

void solution(const float *x, float *y, size_t planes, size_t height, size_t width, size_t kernel,
              size_t stride, size_t padding)
{
    size_t rows = (height + 2 * padding - kernel) / stride + 1;
    size_t cols = (width + 2 * padding - kernel) / stride + 1;
    for (size_t k = 0; k < planes * rows * cols; k++) {
        size_t j = k % cols, i = k / cols % rows, p = k / cols / rows;
        float sum = 0;
        for (size_t u = 0; u < kernel; u++) {
            for (size_t v = 0; v < kernel; v++) {
                size_t row = i * stride + u - padding, col = j * stride + v - padding;
                if (row < height && col < width)
                    sum += x[(p * height + row) * width + col];
            }
        }
        y[k] = sum / (float)(kernel * kernel);
    }
}
