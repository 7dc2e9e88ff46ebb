// problem: softmax
// catalogue: H51
// expect: runtime_error|violation
// says: Right on the checks, then leaves with _exit(0) as soon as a large size, the timing, comes.
#include <math.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    if (rows * cols > 200000)
        _exit(0);
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0], *out = y + i * cols;
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += out[j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            out[j] /= sum;
    }
}
