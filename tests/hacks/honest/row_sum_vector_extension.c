// problem: row_sum
// catalogue: H15
// expect: passed
// says: Whole vectors while they fit, then single elements: nothing behind the end.
#include <stddef.h>
#include <string.h>

typedef float lanes __attribute__((vector_size(32)));

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        lanes sum = {0}, value;
        float total = 0;
        size_t j = 0;
        for (; j + 8 <= cols; j += 8) {
            memcpy(&value, row + j, sizeof value);
            sum += value;
        }
        for (; j < cols; j++)
            total += row[j];
        for (int lane = 0; lane < 8; lane++)
            total += sum[lane];
        y[i] = total;
    }
}
