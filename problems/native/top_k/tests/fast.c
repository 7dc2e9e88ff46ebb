// Keeps the k best in order and skips 32 elements at a time when none of them is better.
#include <stddef.h>
#include <stdint.h>

enum { GROUP = 32 };

static int any_above(const int32_t *x, int32_t bound)
{
    int found = 0;
    for (size_t j = 0; j < GROUP; j++)
        found |= x[j] > bound;
    return found;
}

/* Puts `value` in its place among the k best, which are in descending order. */
static void insert(int32_t *values, int32_t *columns, size_t k, int32_t value, size_t column)
{
    if (!(value > values[k - 1]))
        return;
    size_t n = k - 1;
    for (; n > 0 && values[n - 1] < value; n--) {
        values[n] = values[n - 1];
        columns[n] = columns[n - 1];
    }
    values[n] = value;
    columns[n] = (int32_t)column;
}

static void select_row(const int32_t *x, int32_t *values, int32_t *columns, size_t cols, size_t k)
{
    for (size_t n = 0; n < k; n++)
        values[n] = INT32_MIN;
    size_t j = 0;
    for (; j + GROUP <= cols; j += GROUP)
        if (any_above(x + j, values[k - 1]))
            for (size_t i = 0; i < GROUP; i++)
                insert(values, columns, k, x[j + i], j + i);
    for (; j < cols; j++)
        insert(values, columns, k, x[j], j);
}

void solution(const int32_t *x, int32_t *values, int32_t *columns, size_t rows, size_t cols,
              size_t k)
{
#pragma omp parallel for if (rows * cols > 30000)
    for (size_t i = 0; i < rows; i++)
        select_row(x + i * cols, values + i * k, columns + i * k, cols, k);
}
