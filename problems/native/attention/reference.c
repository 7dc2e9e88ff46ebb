/* For every query: scores against all keys, their softmax, the mean of the values with those
 * weights. Sums in double. */
#include <stddef.h>
#include <stdlib.h>
#include <tgmath.h>

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* Turns scores into weights that sum to one. */
static void softmax(double *scores, size_t count)
{
    double top = scores[0], sum = 0;
    for (size_t j = 1; j < count; j++)
        top = scores[j] > top ? scores[j] : top;
    for (size_t j = 0; j < count; j++) {
        scores[j] = exp(scores[j] - top);
        sum += scores[j];
    }
    for (size_t j = 0; j < count; j++)
        scores[j] /= sum;
}

void solution(const float *q, const float *k, const float *v, float *y, size_t heads, size_t length,
              size_t width)
{
    double *scores = malloc(length * sizeof *scores), *mean = malloc(width * sizeof *mean);
    for (size_t i = 0; scores && mean && i < heads * length; i++) {
        size_t first = i / length * length; /* of the head, in rows */
        for (size_t j = 0; j < length; j++)
            scores[j] = dot(q + i * width, k + (first + j) * width, width) / sqrt((double)width);
        softmax(scores, length);
        for (size_t d = 0; d < width; d++)
            mean[d] = 0;
        for (size_t j = 0; j < length; j++)
            for (size_t d = 0; d < width; d++)
                mean[d] += scores[j] * v[(first + j) * width + d];
        for (size_t d = 0; d < width; d++)
            y[i * width + d] = (float)mean[d];
    }
    free(scores);
    free(mean);
}
