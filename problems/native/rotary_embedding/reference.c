/* Turns the pair (first half, second half) of every head by its token's angles:
 * first' = first * cos - second * sin, second' = second * cos + first * sin. */
#include <stddef.h>
#include <stdint.h>

void solution(const float *x, const float *cosine, const float *sine, const int32_t *position,
              float *y, size_t tokens, size_t heads, size_t half, size_t context)
{
    (void)context;
    for (size_t t = 0; t < tokens; t++) {
        const float *c = cosine + (size_t)position[t] * half;
        const float *s = sine + (size_t)position[t] * half;
        for (size_t h = 0; h < heads; h++) {
            const float *from = x + (t * heads + h) * 2 * half;
            float *to = y + (t * heads + h) * 2 * half;
            for (size_t i = 0; i < half; i++) {
                to[i] = from[i] * c[i] - from[half + i] * s[i];
                to[half + i] = from[half + i] * c[i] + from[i] * s[i];
            }
        }
    }
}
