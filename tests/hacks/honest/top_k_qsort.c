// problem: top_k
// catalogue: H44
// expect: passed
// says: Sorts with the C library's qsort: the language's own library may be used.
#include <stdint.h>
#include <stdlib.h>

struct entry { int32_t value, column; };

static int descending(const void *a, const void *b)
{
    int32_t left = ((const struct entry *)a)->value, right = ((const struct entry *)b)->value;
    return (left < right) - (left > right);
}

void solution(const int32_t *x, int32_t *values, int32_t *columns, size_t rows, size_t cols,
              size_t k)
{
    struct entry *entries = malloc(cols * sizeof *entries);
    if (!entries)
        abort();
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            entries[j] = (struct entry){x[i * cols + j], (int32_t)j};
        qsort(entries, cols, sizeof *entries, descending);
        for (size_t r = 0; r < k; r++) {
            values[i * k + r] = entries[r].value;
            columns[i * k + r] = entries[r].column;
        }
    }
    free(entries);
}
