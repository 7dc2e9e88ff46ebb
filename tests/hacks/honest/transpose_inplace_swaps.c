// problem: transpose_inplace
// catalogue: H08
// expect: passed
// says: Swaps pairs in a buffer that is input and output at once.
#include <stddef.h>

void solution(float *x, size_t size)
{
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < size; i++)
        for (size_t j = i + 1; j < size; j++) {
            float kept = x[i * size + j];
            x[i * size + j] = x[j * size + i];
            x[j * size + i] = kept;
        }
}
