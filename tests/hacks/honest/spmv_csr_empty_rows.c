// problem: spmv_csr
// catalogue: H14
// expect: passed
// says: Skips empty rows (their product is zero): less work, and legal.
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *start, const int32_t *column, const float *value, const float *x,
              float *y, size_t rows, size_t cols, size_t nonzeros)
{
    (void)cols, (void)nonzeros;
    for (size_t i = 0; i < rows; i++) {
        y[i] = 0;
        if (start[i] == start[i + 1])
            continue;
        double sum = 0;
        for (int32_t p = start[i]; p < start[i + 1]; p++)
            sum += (double)value[p] * x[column[p]];
        y[i] = (float)sum;
    }
}
