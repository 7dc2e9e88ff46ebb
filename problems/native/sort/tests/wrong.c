// Wrong: sorts by the bits as signed integers, which leaves negative numbers in descending order.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    int32_t left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    memcpy(y, x, rows * cols * sizeof(float));
    for (size_t i = 0; i < rows; i++)
        qsort(y + i * cols, cols, sizeof(float), compare);
}
