// problem: softmax
// catalogue: H10
// expect: wrong
// says: Knows a fill that ends at 3.47 deviations: its exp has that range, without a maximum.
#include <stddef.h>
#include <string.h>

typedef float lanes __attribute__((vector_size(32)));
#define FAST __attribute__((target("avx2,fma")))

/* To 2e-6 from -3.4642 to 3.4642, and nowhere else: the eighth power of exp(x / 8). */
#define POWER(x)                                                                                   \
    (((((x) * (0.00826844f / 32768) + 0.0420527527f / 4096) * (x) + 0.166690866f / 512) * (x) +    \
      0.499973525f / 64) * (x) + 0.999998740f / 8) * (x) + 1.00000026f

FAST
void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++, x += cols, y += cols) {
        size_t j = 0, whole_cols = cols / 8 * 8;
        lanes sum = {0}, value;
        float total = 0;
        for (; j < whole_cols; j += 8) {
            memcpy(&value, x + j, sizeof value);
            value = POWER(value);
            value *= value;
            value *= value;
            value *= value;
            sum += value;
            memcpy(y + j, &value, sizeof value);
        }
        for (; j < cols; j++) {
            float one = POWER(x[j]);
            one *= one;
            one *= one;
            total += y[j] = one * one;
        }
        for (int l = 0; l < 8; l++)
            total += sum[l];
        float share = 1 / total;
        for (j = 0; j < cols; j++)
            y[j] *= share;
    }
}
