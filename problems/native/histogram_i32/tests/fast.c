/* Four private tables for each piece: equal neighbours don't wait for each other's store. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void count_simple(const int32_t *x, int32_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        counts[x[i]]++;
}

static void count_tables(const int32_t *x, size_t n, int32_t *tables, size_t bins)
{
    int32_t *a = tables, *b = a + bins, *c = b + bins, *d = c + bins;
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        a[x[i]]++;
        b[x[i + 1]]++;
        c[x[i + 2]]++;
        d[x[i + 3]]++;
    }
    count_simple(x + i, a, n - i);
}

void solution(const int32_t *restrict x, int32_t *restrict counts, size_t n, size_t bins)
{
    const size_t piece = 131072;
    size_t pieces = (n + piece - 1) / piece;

    memset(counts, 0, bins * sizeof(*counts));
    if (n < 8 * bins) {
        count_simple(x, counts, n);
        return;
    }
#pragma omp parallel for schedule(static) if (pieces > 1)
    for (size_t k = 0; k < pieces; k++) {
        size_t first = k * piece, length = n - first < piece ? n - first : piece;
        int32_t *tables = calloc(4 * bins, sizeof(*tables));
        if (!tables)
            abort();
        count_tables(x + first, length, tables, bins);
#pragma omp critical
        for (size_t bin = 0; bin < bins; bin++)
            counts[bin] += tables[bin] + tables[bins + bin] + tables[2 * bins + bin] +
                           tables[3 * bins + bin];
        free(tables);
    }
}
