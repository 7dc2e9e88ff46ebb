// problem: softmax
// catalogue: H04
// expect: wrong
// says: Remembers the answer by the address of x; addresses repeat while contents change.
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct { const float *x; size_t rows, cols; float *y; } memo[256];
static int count;

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    size_t bytes = rows * cols * sizeof *y;
    for (int i = 0; i < count; i++)
        if (memo[i].x == x && memo[i].rows == rows && memo[i].cols == cols) {
            memcpy(y, memo[i].y, bytes);
            return;
        }
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float top = row[0];
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += y[i * cols + j] = expf(row[j] - top);
        for (size_t j = 0; j < cols; j++)
            y[i * cols + j] /= sum;
    }
    float *copy = count < 256 ? malloc(bytes) : NULL;
    if (copy) {
        memcpy(copy, y, bytes);
        memo[count].x = x;
        memo[count].rows = rows;
        memo[count].cols = cols;
        memo[count++].y = copy;
    }
}
