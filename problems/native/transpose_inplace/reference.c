/* Exchanges x[i][j] and x[j][i]. */
#include <stddef.h>

void solution(float *x, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < i; j++) {
            float kept = x[i * size + j];
            x[i * size + j] = x[j * size + i];
            x[j * size + i] = kept;
        }
    }
}
