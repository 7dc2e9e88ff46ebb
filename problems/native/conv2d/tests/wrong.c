// Wrong: repeats the border of the image where it should be padded with zeros.
#include <stddef.h>

static size_t clamp(size_t at, size_t padding, size_t size)
{
    if (at < padding)
        return 0;
    return at - padding < size ? at - padding : size - 1;
}

void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
              size_t outputs, size_t height, size_t width, size_t kernel, size_t padding)
{
    size_t rows = height + 2 * padding - kernel + 1, cols = width + 2 * padding - kernel + 1;
    for (size_t p = 0; p < batch * outputs * rows * cols; p++) {
        size_t j = p % cols, i = p / cols % rows, o = p / cols / rows % outputs;
        size_t n = p / cols / rows / outputs;
        float sum = 0;
        for (size_t c = 0; c < inputs; c++)
            for (size_t u = 0; u < kernel; u++)
                for (size_t v = 0; v < kernel; v++)
                    sum += x[((n * inputs + c) * height + clamp(i + u, padding, height)) * width +
                             clamp(j + v, padding, width)] *
                           weight[((o * inputs + c) * kernel + u) * kernel + v];
        y[p] = sum;
    }
}
