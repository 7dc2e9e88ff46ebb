/* y[p][i][j] = the mean of those x[p][row][col] with i * stride - padding <= row < that + kernel,
 * and the same for columns, that lie in the image. */
#include <stddef.h>

/* The part [first, end) of window `at` that lies in the image. */
static size_t begin(size_t at, size_t stride, size_t padding)
{
    return at * stride < padding ? 0 : at * stride - padding;
}

static size_t end(size_t at, size_t stride, size_t padding, size_t kernel, size_t size)
{
    size_t past = at * stride + kernel - padding;
    return past < size ? past : size;
}

void solution(const float *x, float *y, size_t planes, size_t height, size_t width, size_t kernel,
              size_t stride, size_t padding)
{
    size_t rows = (height + 2 * padding - kernel) / stride + 1;
    size_t cols = (width + 2 * padding - kernel) / stride + 1;
    for (size_t p = 0; p < planes; p++) {
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < cols; j++) {
                size_t top = begin(i, stride, padding);
                size_t bottom = end(i, stride, padding, kernel, height);
                size_t left = begin(j, stride, padding);
                size_t right = end(j, stride, padding, kernel, width);
                double sum = 0;
                for (size_t row = top; row < bottom; row++)
                    for (size_t col = left; col < right; col++)
                        sum += x[(p * height + row) * width + col];
                y[(p * rows + i) * cols + j] = (float)(sum /
                                                       (double)((bottom - top) * (right - left)));
            }
        }
    }
}
