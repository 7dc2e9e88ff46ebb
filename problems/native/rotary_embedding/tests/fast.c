// Says that nothing overlaps, so that the inner loop is SIMD without checks; tokens over threads.
#include <stddef.h>
#include <stdint.h>

static void rotate(const float *from, const float *c, const float *s, float *to, size_t half)
{
#pragma omp simd
    for (size_t i = 0; i < half; i++) {
        float first = from[i], second = from[half + i];
        to[i] = first * c[i] - second * s[i];
        to[half + i] = second * c[i] + first * s[i];
    }
}

void solution(const float *x, const float *cosine, const float *sine, const int32_t *position,
              float *y, size_t tokens, size_t heads, size_t half, size_t context)
{
    (void)context;
#pragma omp parallel for if (tokens * heads * half > 10000)
    for (size_t t = 0; t < tokens; t++) {
        const float *c = cosine + (size_t)position[t] * half;
        const float *s = sine + (size_t)position[t] * half;
        for (size_t h = 0; h < heads; h++)
            rotate(x + (t * heads + h) * 2 * half, c, s, y + (t * heads + h) * 2 * half, half);
    }
}
