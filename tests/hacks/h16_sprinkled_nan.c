// problem: relu
// catalogue: H16
// expect: wrong
// says: Right answer with a NaN in one place, to turn every maximum of the errors into NaN.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    y[n / 2] = NAN;
}
