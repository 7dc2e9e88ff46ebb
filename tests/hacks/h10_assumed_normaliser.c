// problem: cross_entropy
// catalogue: H10
// expect: wrong
// says: Takes the expected log-sum-exp of normal logits instead of the row's own.
#include <math.h>
#include <stddef.h>
#include <stdint.h>

void solution(const float *logits, const int32_t *targets, float *loss, size_t rows, size_t cols)
{
    float normaliser = logf((float)cols) + 4.5f; /* E exp(x) of N(0, 3) is exp(9 / 2) */
    for (size_t i = 0; i < rows; i++)
        loss[i] = normaliser - logits[i * cols + (size_t)targets[i]];
}
