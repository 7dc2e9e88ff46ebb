// problem: histogram_i32
// catalogue: H20
// expect: passed
// says: Private histograms of each thread that are added up before the call ends.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void solution(const int32_t *x, int32_t *counts, size_t n, size_t bins)
{
    memset(counts, 0, bins * sizeof *counts);
#pragma omp parallel
    {
        int32_t *mine = calloc(bins, sizeof *mine);
        if (!mine)
            abort();
#pragma omp for nowait
        for (size_t i = 0; i < n; i++)
            mine[x[i]]++;
#pragma omp critical
        for (size_t bin = 0; bin < bins; bin++)
            counts[bin] += mine[bin];
        free(mine);
    }
}
