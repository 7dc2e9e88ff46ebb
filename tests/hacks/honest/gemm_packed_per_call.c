// problem: gemm
// catalogue: H31
// expect: passed
// says: Packs b transposed in every call; memory is kept, contents are not.
#include <stdlib.h>

static float *packed;
static size_t packed_count;

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    if (cols * depth > packed_count) {
        free(packed);
        packed = malloc(cols * depth * sizeof *packed);
        if (!packed)
            abort();
        packed_count = cols * depth;
    }
    for (size_t p = 0; p < depth; p++)
        for (size_t j = 0; j < cols; j++)
            packed[j * depth + p] = b[p * cols + j];
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t p = 0; p < depth; p++)
                sum += a[i * depth + p] * packed[j * depth + p];
            c[i * cols + j] = sum;
        }
}
