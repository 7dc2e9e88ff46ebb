// Wrong: takes two rows at once and leaves the last one out when their number is odd.
#include <stddef.h>

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i + 2 <= rows; i += 2) {
        float s0 = 0, s1 = 0;
        for (size_t j = 0; j < cols; j++) {
            s0 += a[i * cols + j] * x[j];
            s1 += a[(i + 1) * cols + j] * x[j];
        }
        y[i] = s0;
        y[i + 1] = s1;
    }
}
