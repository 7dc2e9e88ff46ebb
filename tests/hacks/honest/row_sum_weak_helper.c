// problem: row_sum
// catalogue: H25
// expect: passed
// says: Exports helpers, one of them weak, one under a name that sounds like the judge's.
#include <stddef.h>

__attribute__((weak)) double add(double a, double b)
{
    return a + b;
}

double judge_compare_expected(const float *row, size_t cols)
{
    double sum = 0;
    for (size_t j = 0; j < cols; j++)
        sum = add(sum, row[j]);
    return sum;
}

static void *memccpy_like(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    while (bytes--)
        *t++ = *f++;
    return to;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        float sum = (float)judge_compare_expected(x + i * cols, cols);
        memccpy_like(y + i, &sum, sizeof sum);
    }
}
