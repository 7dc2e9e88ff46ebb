// problem: gemv
// catalogue: H20
// expect: passed
// says: Threads take rows from an atomic counter; the region's barrier comes before the return.
#include <stdatomic.h>
#include <stddef.h>

void solution(const float *a, const float *x, float *y, size_t rows, size_t cols)
{
    atomic_size_t next = 0;
#pragma omp parallel
    for (size_t i = atomic_fetch_add(&next, 1); i < rows; i = atomic_fetch_add(&next, 1)) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += (double)a[i * cols + j] * x[j];
        y[i] = (float)sum;
    }
}
