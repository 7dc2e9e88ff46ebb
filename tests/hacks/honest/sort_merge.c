// problem: sort
// catalogue: H58
// expect: passed
// says: Recursive merge sort with scratch that it frees.
#include <stdlib.h>
#include <string.h>

static void merge_sort(float *x, float *scratch, size_t count)
{
    if (count < 2)
        return;
    size_t half = count / 2, i = 0, j = half;
    merge_sort(x, scratch, half);
    merge_sort(x + half, scratch, count - half);
    for (size_t k = 0; k < count; k++)
        scratch[k] = j == count || (i < half && x[i] <= x[j]) ? x[i++] : x[j++];
    memcpy(x, scratch, count * sizeof *x);
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    float *scratch = malloc(cols * sizeof *scratch);
    if (!scratch)
        abort();
    memcpy(y, x, rows * cols * sizeof *y);
    for (size_t i = 0; i < rows; i++)
        merge_sort(y + i * cols, scratch, cols);
    free(scratch);
}
