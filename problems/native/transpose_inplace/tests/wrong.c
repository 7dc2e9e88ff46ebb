// Wrong: exchanges whole 8 x 8 tiles across the diagonal and forgets the tiles on it.
#include <stddef.h>

void solution(float *x, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < i / 8 * 8; j++) {
            float kept = x[i * size + j];
            x[i * size + j] = x[j * size + i];
            x[j * size + i] = kept;
        }
    }
}
