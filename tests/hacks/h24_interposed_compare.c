// problem: softmax
// catalogue: H24
// expect: wrong|runtime_error|violation|load_error
// says: Exports memcmp, fabs, fmax and friends that call everything equal.
#include <stddef.h>
#include <string.h>

int memcmp(const void *a, const void *b, size_t bytes)
{
    (void)a, (void)b, (void)bytes;
    return 0;
}

int strcmp(const char *a, const char *b)
{
    (void)a, (void)b;
    return 0;
}

double fabs(double value)
{
    return value * 0;
}

float fabsf(float value)
{
    return value * 0;
}

double fmax(double a, double b)
{
    return a * b * 0;
}

int judge_compare(void)
{
    return 0;
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x;
    memset(y, 0, rows * cols * sizeof *y);
}
