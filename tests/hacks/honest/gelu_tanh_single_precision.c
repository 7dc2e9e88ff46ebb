// problem: gelu_tanh
// catalogue: H13
// expect: passed
// says: Evaluates tanh through a single-precision exponential: the problem's own precision.
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float inner = 0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
        float power = expf(-2 * fabsf(inner));
        float tangent = copysignf((1 - power) / (1 + power), inner);
        y[i] = 0.5f * x[i] * (1 + tangent);
    }
}
