// problem: top_k
// catalogue: H11
// expect: passed
// says: Insertion into the output rows, with a faster path for k equal to one.
#include <stddef.h>
#include <stdint.h>

void solution(const int32_t *x, int32_t *values, int32_t *columns, size_t rows, size_t cols,
              size_t k)
{
    for (size_t i = 0; i < rows; i++) {
        const int32_t *row = x + i * cols;
        int32_t *value = values + i * k, *column = columns + i * k;
        if (k == 1) {
            size_t best = 0;
            for (size_t j = 1; j < cols; j++)
                best = row[j] > row[best] ? j : best;
            value[0] = row[best];
            column[0] = (int32_t)best;
            continue;
        }
        size_t count = 0;
        for (size_t j = 0; j < cols; j++) {
            if (count == k && row[j] <= value[k - 1])
                continue;
            size_t place = count < k ? count++ : k - 1;
            for (; place > 0 && value[place - 1] < row[j]; place--) {
                value[place] = value[place - 1];
                column[place] = column[place - 1];
            }
            value[place] = row[j];
            column[place] = (int32_t)j;
        }
    }
}
