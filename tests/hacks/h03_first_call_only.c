// problem: softmax
// catalogue: H03
// expect: wrong
// says: Works on the first call of each shape and then leaves the buffer as it found it.
#include <math.h>
#include <stddef.h>

static size_t seen[64][2];
static int count;

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (int i = 0; i < count; i++)
        if (seen[i][0] == rows && seen[i][1] == cols)
            return;
    if (count < 64) {
        seen[count][0] = rows;
        seen[count++][1] = cols;
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
}
