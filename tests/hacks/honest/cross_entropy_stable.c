// problem: cross_entropy
// catalogue: H12
// expect: passed
// says: Subtracts the target's logit inside the sum: other algebra, the same loss.
#include <math.h>
#include <stddef.h>
#include <stdint.h>

void solution(const float *logits, const int32_t *targets, float *loss, size_t rows, size_t cols)
{
#pragma omp parallel for
    for (size_t i = 0; i < rows; i++) {
        const float *row = logits + i * cols;
        double top = row[0], sum = 0;
        for (size_t j = 1; j < cols; j++)
            top = fmax(top, row[j]);
        for (size_t j = 0; j < cols; j++)
            sum += exp(row[j] - top);
        loss[i] = (float)(log(sum) + (top - row[targets[i]]));
    }
}
