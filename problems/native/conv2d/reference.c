/* y[n][o][i][j] = sum over c, u and v of x[n][c][i + u - padding][j + v - padding] *
 * weight[o][c][u][v], where x is zero outside of the image. Summed in double. */
#include <stddef.h>

/* One element. Row i + u of the padded image is row i + u - padding of x; where that is negative it
 * wraps round to a large number, so one comparison tests both ends. */
static double element(const float *x, const float *weight, size_t inputs, size_t height,
                      size_t width, size_t kernel, size_t padding, size_t i, size_t j)
{
    double sum = 0;
    for (size_t c = 0; c < inputs; c++) {
        for (size_t u = 0; u < kernel; u++) {
            size_t row = i + u - padding;
            if (row >= height)
                continue;
            for (size_t v = 0; v < kernel; v++) {
                size_t col = j + v - padding;
                if (col < width)
                    sum += (double)x[(c * height + row) * width + col] *
                           weight[(c * kernel + u) * kernel + v];
            }
        }
    }
    return sum;
}

void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
              size_t outputs, size_t height, size_t width, size_t kernel, size_t padding)
{
    size_t rows = height + 2 * padding - kernel + 1, cols = width + 2 * padding - kernel + 1;
    for (size_t n = 0; n < batch; n++) {
        for (size_t o = 0; o < outputs; o++) {
            const float *image = x + n * inputs * height * width;
            const float *filter = weight + o * inputs * kernel * kernel;
            float *out = y + (n * outputs + o) * rows * cols;
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++)
                    out[i * cols + j] = (float)element(image, filter, inputs, height, width, kernel,
                                                       padding, i, j);
        }
    }
}
