// problem: row_sum
// catalogue: H55
// expect: passed
// says: Asks for the number of threads and processors and for a variable that isn't there.
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    const char *wish = getenv("ROW_SUM_THREADS");
    int threads = wish ? atoi(wish) : (int)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef _OPENMP
    if (threads > omp_get_max_threads())
        threads = omp_get_max_threads();
#endif
    if (threads < 1)
        threads = 1;
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
