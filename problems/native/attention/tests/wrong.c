// Wrong: streams over 32 keys at a time and doesn't rescale the mean when the maximum rises.
#include <math.h>
#include <stddef.h>

void solution(const float *q, const float *k, const float *v, float *y, size_t heads, size_t length,
              size_t width)
{
    for (size_t i = 0; i < heads * length; i++) {
        const float *query = q + i * width;
        float top = -INFINITY, sum = 0;
        for (size_t d = 0; d < width; d++)
            y[i * width + d] = 0;
        for (size_t first = 0; first < length; first += 32) {
            float score[32], before = top;
            size_t count = length - first < 32 ? length - first : 32;
            for (size_t j = 0; j < count; j++) {
                score[j] = 0;
                for (size_t d = 0; d < width; d++)
                    score[j] += query[d] * k[(i / length * length + first + j) * width + d];
                score[j] /= sqrtf((float)width);
                top = score[j] > top ? score[j] : top;
            }
            sum *= expf(before - top);
            for (size_t j = 0; j < count; j++) {
                float weight = expf(score[j] - top);
                sum += weight;
                for (size_t d = 0; d < width; d++)
                    y[i * width + d] += weight * v[(i / length * length + first + j) * width + d];
            }
        }
        for (size_t d = 0; d < width; d++)
            y[i * width + d] /= sum;
    }
}
