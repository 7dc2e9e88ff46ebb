// problem: relu
// catalogue: H15
// expect: violation|wrong
// code: H15
// says: Right answer, but rounds the loop up to whole vectors and writes behind its output.
#include <stddef.h>

void solution(const float *x, float *y, size_t n)
{
    size_t whole = (n + 15) / 16 * 16 + 16;
    for (size_t i = 0; i < whole; i++) {
        float value = i < n ? x[i] : 1.0f;
        y[i] = value > 0 ? value : 0;
    }
}
