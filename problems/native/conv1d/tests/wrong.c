// Wrong: runs through the filter backwards, a convolution in the mathematician's sense.
#include <stddef.h>

void solution(const float *x, const float *weight, float *y, size_t batch, size_t inputs,
              size_t outputs, size_t length, size_t taps)
{
    size_t steps = length - taps + 1;
    for (size_t i = 0; i < batch * outputs; i++) {
        for (size_t t = 0; t < steps; t++) {
            float sum = 0;
            for (size_t c = 0; c < inputs; c++)
                for (size_t k = 0; k < taps; k++)
                    sum += x[(i / outputs * inputs + c) * length + t + k] *
                           weight[(i % outputs * inputs + c) * taps + taps - 1 - k];
            y[i * steps + t] = sum;
        }
    }
}
