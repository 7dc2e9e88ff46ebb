// problem: top_k
// catalogue: H11
// expect: wrong
// says: Right for the k that is timed (8) and below, a constant order above it.
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *x, int32_t *values, int32_t *columns, size_t rows, size_t cols,
              size_t k)
{
    for (size_t i = 0; i < rows; i++) {
        const int32_t *row = x + i * cols;
        int32_t bound = INT32_MAX;
        for (size_t r = 0; r < k; r++) {
            size_t best = r;
            if (r < 8) {
                int32_t top = INT32_MIN;
                for (size_t j = 0; j < cols; j++)
                    if (row[j] >= top && (r == 0 || row[j] < bound)) {
                        top = row[j];
                        best = j;
                    }
                bound = top;
            }
            values[i * k + r] = row[best];
            columns[i * k + r] = (int32_t)best;
        }
    }
}
