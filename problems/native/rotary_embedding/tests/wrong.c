// Wrong: pairs neighbouring elements, as some models do, instead of the two halves of a head.
#include <stddef.h>
#include <stdint.h>

void solution(const float *x, const float *cosine, const float *sine, const int32_t *position,
              float *y, size_t tokens, size_t heads, size_t half, size_t context)
{
    (void)context;
    for (size_t t = 0; t < tokens; t++) {
        for (size_t k = 0; k < heads * half; k++) {
            size_t angle = (size_t)position[t] * half + k % half;
            const float *from = x + (t * heads * half + k) * 2;
            float *to = y + (t * heads * half + k) * 2;
            to[0] = from[0] * cosine[angle] - from[1] * sine[angle];
            to[1] = from[1] * cosine[angle] + from[0] * sine[angle];
        }
    }
}
