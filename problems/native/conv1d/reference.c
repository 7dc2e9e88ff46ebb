/* y[n][o][t] = sum over c and k of x[n][c][t + k] * weight[o][c][k], summed in double. */
#include <stddef.h>

void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
              size_t outputs, size_t length, size_t taps)
{
    size_t steps = length - taps + 1;
    for (size_t n = 0; n < batch; n++) {
        for (size_t o = 0; o < outputs; o++) {
            for (size_t t = 0; t < steps; t++) {
                double sum = 0;
                for (size_t c = 0; c < inputs; c++)
                    for (size_t k = 0; k < taps; k++)
                        sum += (double)x[(n * inputs + c) * length + t + k] *
                               weight[(o * inputs + c) * taps + k];
                y[(n * outputs + o) * steps + t] = (float)sum;
            }
        }
    }
}
