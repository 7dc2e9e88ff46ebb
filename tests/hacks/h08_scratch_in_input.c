// problem: softmax
// catalogue: H08
// expect: wrong|violation
// code: H08
// says: Right answer, but uses the caller's const input as scratch and leaves it destroyed.
#include <math.h>
#include <string.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    float *work = (float *)x;
    for (size_t i = 0; i < rows; i++, work += cols) {
        float top = work[0];
        double sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmaxf(top, work[j]);
        for (size_t j = 0; j < cols; j++)
            sum += work[j] = expf(work[j] - top);
        for (size_t j = 0; j < cols; j++)
            work[j] /= sum;
    }
    memcpy(y, x, rows * cols * sizeof *y);
}
